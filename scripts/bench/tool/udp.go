package main

import (
	"fmt"
	"net"
	"os"
	"time"
)

// udpPayload makes frames of 1 kB, the middle of what the kernel sends.
const udpPayload = 1000

// udpsend sends datagrams to addr as fast as the kernel takes them.
func udpsend(addr string, d time.Duration) error {
	c, err := net.Dial("udp", addr)
	if err != nil {
		return err
	}
	defer c.Close()
	b := make([]byte, udpPayload)
	for end := time.Now().Add(d); time.Now().Before(end); {
		for range 64 {
			c.Write(b) // ENOBUFS and ECONNREFUSED are the network's answer, not ours
		}
	}
	return nil
}

// udprecv prints how many datagrams a second arrive, between the first one and
// the end of d.
func udprecv(addr string, d time.Duration) error {
	pc, err := net.ListenPacket("udp", addr)
	if err != nil {
		return err
	}
	defer pc.Close()
	pc.(*net.UDPConn).SetReadBuffer(8 << 20)
	fmt.Fprintln(os.Stderr, "ready")
	b := make([]byte, 2048)
	pc.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, _, err := pc.ReadFrom(b); err != nil {
		return err
	}
	start := time.Now()
	end := start.Add(d)
	pc.SetReadDeadline(end)
	n := 0
	for {
		if _, _, err := pc.ReadFrom(b); err != nil {
			break
		}
		n++
	}
	fmt.Printf("%.0f\n", float64(n)/time.Since(start).Seconds())
	return nil
}

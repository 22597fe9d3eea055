package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// udpEnv makes the test binary a UDP program inside a node: "send N" or
// "receive N".
const udpEnv = "CNUAS_E2E_UDP"

// TestUDPProgram is the program; without the variable it does nothing.
func TestUDPProgram(t *testing.T) {
	role, count, ok := strings.Cut(os.Getenv(udpEnv), " ")
	if !ok {
		return
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	if role == "send" {
		udpSend(t, n)
	} else {
		udpReceive(t, n)
	}
}

// udpSend sends n numbered datagrams with DSCP 24, which is priority 3.
func udpSend(t *testing.T, n int) {
	c, err := net.Dial("udp4", "10.0.0.1:9999")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := c.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, 24<<2) })
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1000)
	for i := range n {
		for {
			if _, err = c.Write(b); err == nil {
				break
			}
			t.Fatalf("datagram %d: %v", i, err)
		}
	}
}

func udpReceive(t *testing.T, n int) {
	pc, err := net.ListenPacket("udp4", ":9999")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := pc.(*net.UDPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	// Nothing may be lost behind the fabric either.
	raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20) })
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening")
	b := make([]byte, 2000)
	got := 0
	pc.SetReadDeadline(time.Now().Add(30 * time.Second))
	for got < n {
		if _, _, err := pc.ReadFrom(b); err != nil {
			break
		}
		got++
	}
	fmt.Printf("received %d\n", got)
}

// TestPausedKernelLosesNothing: a storm stops the priority in which a node's
// kernel sends. What it sends meanwhile waits, in the NIC and in the TAP's ring,
// and arrives when the storm ends; other priorities go on.
func TestPausedKernelLosesNothing(t *testing.T) {
	simtest.Need(t, "ping")
	l := up(t, "e2e-paused", star("ci", 2, "10Gbps", ""))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := func(node, role string) *job {
		c := exec.Command(cnuasBin, "exec", node, "--", self, "-test.run=^TestUDPProgram$", "-test.v")
		c.Env = append(os.Environ(), udpEnv+"="+role)
		return l.startCmd(c)
	}
	const n = 60000
	recv := program("ci1", fmt.Sprintf("receive %d", n))
	eventually(t, 10*time.Second, "the receiver listens", func() bool { return strings.Contains(recv.out.String(), "listening") })
	l.cnuas("exec", "ci2", "--", "ping", "-c", "1", "-W", "2", "10.0.0.1")
	l.cnuas("fault", "storm", "ci1:eth0", "--priority", "3", "--duty", "100%")
	send := program("ci2", fmt.Sprintf("send %d", n))
	if err := send.wait(t, 30*time.Second); err != nil {
		t.Fatalf("sender: %v\n%s", err, send.out.String())
	}
	s := l.status()
	if q := port(t, s, "ci2:eth0").QueueBytes; q == 0 || len(port(t, s, "ci2:eth0").Paused) != 1 {
		t.Errorf("the sender's NIC holds %d bytes, paused %v", q, port(t, s, "ci2:eth0").Paused)
	}
	l.cnuas("fault", "clear")
	if err := recv.wait(t, 40*time.Second); err != nil || !strings.Contains(recv.out.String(), fmt.Sprintf("received %d\n", n)) {
		t.Errorf("receiver: %v\n%s", err, recv.out.String())
	}
	for _, node := range l.status().Nodes {
		if r := node.Interfaces[0].Ring; r.TxDropped+r.RxDropped != 0 {
			t.Errorf("%s: kernel ring lost %+v", node.Name, r)
		}
	}
}

// TestForeground: up --foreground stays and takes the fabric down on SIGINT.
func TestForeground(t *testing.T) {
	simtest.Root(t)
	l := &lab{t: t, name: "e2e-foreground"}
	file := t.TempDir() + "/f.toml"
	os.WriteFile(file, []byte("name = \"e2e-foreground\"\n"+star("ci", 2, "10Gbps", "")), 0o644)
	j := l.startCmd(exec.Command(cnuasBin, "up", "--foreground", file))
	eventually(t, 10*time.Second, "the fabric is up", func() bool { return strings.Contains(j.out.String(), "is up") })
	if s := l.status(); len(s.Nodes) != 2 || s.PID != j.cmd.Process.Pid {
		t.Errorf("status %+v", s)
	}
	j.cmd.Process.Signal(syscall.SIGINT)
	if err := j.wait(t, 10*time.Second); err != nil {
		t.Errorf("%v\n%s", err, j.out.String())
	}
	if left := leftovers("ci", l.name); len(left) > 0 {
		t.Errorf("left:\n%s", strings.Join(left, "\n"))
	}
}

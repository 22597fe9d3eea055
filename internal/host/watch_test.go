package host

import (
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// packetSocket opens one in the namespace, bound to a protocol and interface.
func packetSocket(t *testing.T, n *NS, proto uint16, index int) (fd int) {
	t.Helper()
	err := n.In(func() (err error) {
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil || proto == 0 {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: proto>>8 | proto<<8, Ifindex: index})
	})
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

func TestWatch(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "watch")
	x := newTAP(t, n, tapConfig(1, "10.9.1.1/24"))
	w, err := n.Watch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if w.diag < 0 {
		t.Log("no packet_diag in this kernel")
	}
	for _, c := range []struct {
		name  string
		proto uint16
		index int
		want  bool
	}{
		{"not bound", 0, 0, false},
		{"all protocols, all interfaces", unix.ETH_P_ALL, 0, true},
		{"all protocols, this interface", unix.ETH_P_ALL, x.Index(), true},
		{"IPv4, this interface", unix.ETH_P_IP, x.Index(), true},
		{"all protocols, lo", unix.ETH_P_ALL, 1, false},
		{"LLDP", unix.ETH_P_LLDP, x.Index(), false},
	} {
		fd := packetSocket(t, n, c.proto, c.index)
		if got := w.Sniffing(x.Index()); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if got, ok := w.read(x.Index()); got != c.want || !ok {
			t.Errorf("%s: /proc/net/packet says %v, %v", c.name, got, ok)
		}
		if got, ok := w.ask(x.Index()); w.diag >= 0 && (got != c.want || !ok) {
			t.Errorf("%s: packet_diag says %v, %v", c.name, got, ok)
		}
		unix.Close(fd)
		if w.Sniffing(x.Index()) {
			t.Errorf("%s: still seen after close", c.name)
		}
	}
	// More sockets than one datagram of a dump holds.
	var fds []int
	for range 300 {
		fds = append(fds, packetSocket(t, n, unix.ETH_P_LLDP, x.Index()))
	}
	fds = append(fds, packetSocket(t, n, unix.ETH_P_ALL, x.Index()))
	if found, _ := w.read(x.Index()); !found {
		t.Error("one of 301 sockets was not seen in /proc/net/packet")
	}
	if found, _ := w.ask(x.Index()); w.diag >= 0 && !found {
		t.Error("one of 301 sockets was not seen by packet_diag")
	}
	inParallel(len(fds), func(i int) { unix.Close(fds[i]) }) // 13 ms of grace period each
	if a := testing.AllocsPerRun(100, func() { w.Sniffing(x.Index()); w.ask(x.Index()) }); a != 0 {
		t.Errorf("%v allocations, want 0", a)
	}
}

func FuzzParseDiag(f *testing.F) {
	var w Watch
	w.request()
	f.Add(w.req[:], 1)
	f.Add([]byte{16, 0, 0, 0, 3, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 2)
	f.Fuzz(func(t *testing.T, b []byte, i int) { parseDiag(b, i) })
}

func FuzzParseProc(f *testing.F) {
	f.Add([]byte("sk RefCnt Type Proto Iface R Rmem User Inode\n00000000 3 3 0003 2 1 0 0 4242\n"), 2)
	f.Add([]byte("x\n\n   \n1 2 3 zz 99999999999999999999"), 1)
	f.Fuzz(func(t *testing.T, b []byte, i int) { parseProc(b, i) })
}

func BenchmarkSniffing(b *testing.B) {
	simtest.Root(b)
	n := newNS(b, "bw")
	w, err := n.Watch()
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	b.Run("diag", func(b *testing.B) {
		for b.Loop() {
			w.ask(2)
		}
	})
	b.Run("proc", func(b *testing.B) {
		for b.Loop() {
			w.read(2)
		}
	})
}

package rack

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/modbus/rtu"
)

var (
	slow = rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}
	fast = rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}
)

// device has a thousand registers; number n holds n until it is written.
type device struct{ reg [1000]uint16 }

func newDevice() *device {
	d := &device{}
	for i := range d.reg {
		d.reg[i] = uint16(i)
	}
	return d
}

func (d *device) ReadRegisters(_ sim.Time, addr uint16, dst []uint16) rtu.Exception {
	if int(addr)+len(dst) > len(d.reg) {
		return rtu.IllegalDataAddress
	}
	copy(dst, d.reg[addr:])
	return rtu.OK
}

func (d *device) WriteRegisters(_ sim.Time, addr uint16, src []uint16) rtu.Exception {
	if int(addr)+len(src) > len(d.reg) {
		return rtu.IllegalDataAddress
	}
	copy(d.reg[addr:], src)
	return rtu.OK
}

// running is a rack that runs: bus0 with slaves 10 at 19200 and 20 at 115200
// baud, bus1 with 10 at 115200 baud.
func running(t testing.TB) *Rack {
	t.Helper()
	before := resources(t)
	spec := &topology.Rack{Segments: []topology.RackSegment{
		{Name: "bus0", Line: slow},
		{Name: "bus1", Line: fast, Turnaround: 3 * sim.Millisecond},
		{Name: "bus2", Line: slow, TTYParity: new(rtu.Parity)},
	}}
	*spec.Segments[2].TTYParity = rtu.Even
	r, err := newRack(spec, Options{Dir: t.TempDir(), Seed: 1, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		seg  int
		addr uint8
		line rtu.Line
	}{{0, 10, slow}, {0, 20, fast}, {1, 10, fast}, {2, 10, slow}} {
		if _, err := r.segs[x.seg].addSlave(fmt.Sprintf("slave%d", x.addr), x.line, rtu.NewSlave(x.addr, newDevice(), rtu.Options{})); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		before.same(t)
	})
	return r
}

// usage is what a rack must give back.
type usage struct {
	goroutines int
	files      map[string]string
}

func resources(t testing.TB) usage {
	u := usage{goroutines: runtime.NumGoroutine(), files: map[string]string{}}
	es, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			u.files[e.Name()] = to
		}
	}
	return u
}

// same waits until what there was at the beginning is all there is.
func (u usage) same(t testing.TB) {
	t.Helper()
	var more []string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		now := resources(t)
		more = nil
		for fd, to := range now.files {
			// Those of Go's own poller and of open directories are not ours.
			if _, ok := u.files[fd]; !ok && !strings.Contains(to, "/proc/") && !(strings.Contains(to, "anon_inode:[event") && fdsOfRuntime(u, now)) {
				more = append(more, fd+" "+to)
			}
		}
		if len(more) == 0 && now.goroutines <= u.goroutines {
			return
		}
		if now.goroutines > u.goroutines {
			more = append(more, fmt.Sprintf("%d goroutines, %d before", now.goroutines, u.goroutines))
		}
	}
	t.Errorf("left behind: %s", strings.Join(more, "; "))
}

// fdsOfRuntime tells whether Go's network poller, which is made at its first
// use and stays, was not there before: it has one epoll and one eventfd.
func fdsOfRuntime(before, now usage) bool {
	n := func(u usage) (k int) {
		for _, to := range u.files {
			if strings.Contains(to, "anon_inode:[event") {
				k++
			}
		}
		return k
	}
	return n(before) == 0 && n(now) <= 2
}

// request builds a read of registers.
func request(addr uint8, reg, n uint16) []byte {
	return rtu.AppendRead(nil, addr, rtu.ReadHoldingRegisters, reg, n)
}

// eventually waits for what the rack's own thread does.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

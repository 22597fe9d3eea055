package rack

import (
	"context"
	"errors"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cnuas/internal/topology"
	"cnuas/modbus/orv3"
	"cnuas/modbus/port"
	"cnuas/modbus/rtu"
)

// shelves is a rack of a PSU shelf with its PMM that feeds two nodes, one half
// of the second, and a shelf that feeds the other half.
func shelves() *topology.Rack {
	slot := func(n int, name string, addr uint8) topology.RackSlot {
		return topology.RackSlot{Number: n, Name: name, Address: addr}
	}
	pmm := slot(0, "pmm", 32)
	return &topology.Rack{
		Segments: []topology.RackSegment{{Name: "bus0", Line: slow}},
		Shelves: []topology.RackShelf{
			{Name: "shelf1", Kind: "hpr-psu", Line: slow, Backs: -1, Feeds: []int{0, 1}, PMM: &pmm,
				Slots: []topology.RackSlot{slot(1, "psu1", 144), slot(2, "psu2", 145), slot(3, "psu3", 146)}},
			{Name: "shelf2", Kind: "orv3-psu", Line: fast, Backs: -1, Feeds: []int{1}, Slots: []topology.RackSlot{slot(1, "psu1", 200)}},
			{Name: "bbu1", Kind: "hpr-bbu", Line: fast, Backs: 0, Slots: []topology.RackSlot{slot(1, "bbu1", 48)}},
		},
	}
}

func run(t *testing.T, s *topology.Rack, o Options) *Rack {
	t.Helper()
	o.Dir, o.Log = t.TempDir(), t.Logf
	r, err := New(s, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, r.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// output reads the output power of a PSU of kind hpr-psu by the wire.
func output(t *testing.T, c *port.Client, addr uint8) float64 {
	t.Helper()
	k, _ := orv3.KindOf("hpr-psu")
	reg := k.Map.At(82)
	w, err := c.ReadRegisters(addr, reg.Addr, reg.Words)
	if err != nil {
		t.Fatal(err)
	}
	return reg.Decode(w)
}

func TestLoadIsSeenOnTheWire(t *testing.T) {
	var watts atomic.Value
	watts.Store([]float64{400, 200, 9999})
	r := run(t, shelves(), Options{Nodes: func() []float64 { return watts.Load().([]float64) }})
	c := client(t, r.TTY("bus0"), slow)
	sum := func() float64 { return output(t, c, 144) + output(t, c, 145) + output(t, c, 146) }
	near := func(want float64) func() bool { return func() bool { return math.Abs(sum()-want) < want/10 } }
	eventually(t, "400 W and half of 200 W", near(500))
	watts.Store([]float64{4000, 1000, 9999})
	eventually(t, "4000 W and half of 1000 W", near(4500))
	var load []float64
	r.Do(func() {
		for _, s := range r.Plant().Snapshot().Shelves {
			load = append(load, s.Load)
		}
	})
	if load[0] != 4500 || load[1] != 500 {
		t.Errorf("loads %v, want 4500 and 500", load)
	}
}

func TestUnplug(t *testing.T) {
	r := run(t, shelves(), Options{Nodes: func() []float64 { return []float64{300, 0} }})
	c := client(t, r.TTY("bus0"), slow)
	c.Timeout = 200 * time.Millisecond
	do := func(f func(string) error) {
		t.Helper()
		var err error
		r.Do(func() { err = f("shelf1/psu2") })
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a third", func() bool { return math.Abs(output(t, c, 144)-100) < 15 })
	do(r.Unplug)
	if _, err := c.ReadRegisters(145, 82, 1); !errors.Is(err, port.ErrTimeout) {
		t.Errorf("an unplugged slave: %v", err)
	}
	eventually(t, "half", func() bool { return math.Abs(output(t, c, 144)-150) < 20 })

	// The management module has counted the request without an answer: register
	// 97 and following, by pairs of CRC errors and timeouts.
	w, err := c.ReadRegisters(32, 96, 12)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, v := range w {
		n += int(v)
	}
	if n != 1 {
		t.Errorf("the counters of the management module: %v", w)
	}
	do(r.Plug)
	if _, err := c.ReadRegisters(145, 82, 1); err != nil {
		t.Errorf("plugged again: %v", err)
	}
	var err1, err2 error
	r.Do(func() { err1, err2 = r.Plug("shelf1/psu9"), r.Unplug("nothing") })
	if err1 == nil || err2 == nil || r.Station("x/y") != nil || r.Station("shelf1/psu1") == nil {
		t.Error("devices that are not there", err1, err2)
	}
}

// TestSpoiledReply: a boot loader with its quirk answers blocks with a wrong CRC.
func TestSpoiledReply(t *testing.T) {
	r := run(t, shelves(), Options{})
	c := client(t, r.TTY("bus0"), slow)
	c.Timeout = 500 * time.Millisecond
	var err error
	r.Do(func() { err = r.Plant().SetFault("shelf1/psu1", "update_wrong_crc", true) })
	if err != nil {
		t.Fatal(err)
	}
	write := func(reg uint16, v ...uint16) error {
		_, err := c.Do(rtu.AppendWriteRegisters(nil, 144, reg, v))
		return err
	}
	if err := errors.Join(write(0x300, 0x55AA), write(0x301, 0xAA55)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "boot loader", func() bool {
		w, err := c.ReadRegisters(144, 0x302, 1)
		return err == nil && w[0] == 1
	})
	if err := write(0x310, make([]uint16, 32)...); !errors.Is(err, rtu.ErrCRC) {
		t.Errorf("a block: %v", err)
	}
	if _, err := c.ReadRegisters(144, 0x302, 1); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func TestBadRacks(t *testing.T) {
	bad := t.TempDir() + "/map.json"
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		f    func(*topology.Rack)
		want string
	}{
		"segment": {func(s *topology.Rack) { s.Shelves[1].Segment = 3 }, "segment 3 of 1"},
		"kind":    {func(s *topology.Rack) { s.Shelves[1].Kind = "toaster" }, "toaster"},
		"line":    {func(s *topology.Rack) { s.Shelves[1].Line.Baud = 1 }, "shelf2/psu1"},
		"bus":     {func(s *topology.Rack) { s.Segments[0].Line.Stop = 7 }, "bus0"},
		"map":     {func(s *topology.Rack) { s.Shelves[0].Slots[2].Map = bad }, "shelf1/psu3: register map " + bad},
		"no map":  {func(s *topology.Rack) { s.Shelves[0].Slots[2].Map = bad + "x" }, "no such file"},
		"pmm map": {func(s *topology.Rack) { s.Shelves[0].PMM.Map = bad }, "shelf1/pmm"},
	} {
		s := shelves()
		c.f(s)
		before := resources(t)
		dir := t.TempDir()
		r, err := New(s, Options{Dir: dir})
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
		before.same(t)
		if es, _ := os.ReadDir(dir); len(es) > 0 {
			t.Errorf("%s: left %v", what, es)
		}
	}
	s := shelves()
	if _, err := New(s, Options{Dir: "/" + strings.Repeat("a-long-name/", 12)}); err == nil {
		t.Error("a directory that is not there")
	}
	dir := t.TempDir() + strings.Repeat("/a-long-name", 9)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := New(s, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "shorter") {
		t.Errorf("a long path: %v", err)
	}
}

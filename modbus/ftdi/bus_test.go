package ftdi

import (
	"fmt"
	"testing"

	"cnuas/internal/sim"
	"cnuas/modbus/bus"
	"cnuas/modbus/rtu"
	"cnuas/modbus/usbredir"
)

var _ Wire = (*bus.Master)(nil)

// registers is a device whose register n holds n.
type registers struct{}

func (registers) ReadRegisters(_ sim.Time, addr uint16, dst []uint16) rtu.Exception {
	for i := range dst {
		dst[i] = addr + uint16(i)
	}
	return rtu.OK
}

func (registers) WriteRegisters(sim.Time, uint16, []uint16) rtu.Exception { return rtu.OK }

// TestOnSegment: a port asks two slaves on one segment, at 19200 and 115200,
// each at its own setting; one at the other's hears nothing that it answers.
func TestOnSegment(t *testing.T) {
	l := newLab(t)
	slow := rtu.Line{Baud: 19200, Data: 8, Parity: rtu.Even, Stop: 1}
	fast := rtu.Line{Baud: 115200, Data: 8, Parity: rtu.Even, Stop: 1}
	l.do(func() {
		g := bus.New(l.eng.NewProc(), bus.Config{Name: "bus0", Turnaround: 2 * ms})
		g.AddSlave("psu1", slow, rtu.NewSlave(0x90, registers{}, rtu.Options{}))
		g.AddSlave("pmm1", fast, rtu.NewSlave(0x20, registers{}, rtu.Options{}))
		p := l.chip.Port(0)
		p.Connect(g.AddMaster(bus.MasterConfig{Name: "bmc", Tolerance: 30 * ms, Slice: 4 * ms, Queue: FIFOSize}, p))
	})
	l.control(0x40, 4, 0x0208, 1, 0)
	at := sim.Second
	for _, c := range []struct {
		baud int
		addr byte
		want string
	}{
		{19200, 0x90, "90 03 04 00 50 00 51"},
		{115200, 0x20, "20 03 04 00 50 00 51"},
		{19200, 0x20, ""},
		{115200, 0x90, ""},
		{19200, 0x90, "90 03 04 00 50 00 51"},
	} {
		v, i := encode(c.baud)
		l.control(0x40, 3, v, i|1, 0)
		l.control(0x40, 0, 1, 1, 0)
		id, in := l.g.StartIn(0x81, 512)
		if st, err := l.g.Out(2, rtu.AppendCRC([]byte{c.addr, 3, 0, 0x50, 0, 2})); st != usbredir.Success || err != nil {
			t.Fatal(st, err)
		}
		at += 200 * ms
		l.run(at)
		if c.want == "" {
			l.g.Cancel(id)
			if _, st, _ := l.g.Bulk(in); st != usbredir.Cancelled {
				t.Errorf("%#x at %d baud answers", c.addr, c.baud)
			}
			continue
		}
		b, st, err := l.g.Bulk(in)
		if err != nil || st != usbredir.Success || len(b) != 11 || !rtu.CheckCRC(b[2:]) || fmt.Sprintf("% x", b[2:9]) != c.want {
			t.Errorf("%#x at %d baud: % x %v %v", c.addr, c.baud, b, st, err)
		}
	}
}

// TestLongTransfer: more than the FIFO and the segment's queue hold goes out
// without a gap, and nothing of it is lost.
func TestLongTransfer(t *testing.T) {
	l := newLab(t)
	var m *bus.Master
	var g *bus.Segment
	l.do(func() {
		g = bus.New(l.eng.NewProc(), bus.Config{Name: "bus0"})
		p := l.chip.Port(0)
		m = g.AddMaster(bus.MasterConfig{Name: "bmc", Queue: FIFOSize}, p)
		p.Connect(m)
	})
	v, i := encode(115200)
	l.control(0x40, 3, v, i|1, 0)
	const n = 10000
	_, done := l.g.Start(usbredir.BulkPacket, usbredir.BulkBody{Endpoint: 2, Length: n, Data: make([]byte, n)}.Append(nil))
	l.arrive()
	p := l.chip.Port(0)
	wire := n * p.line.CharTime()
	l.run(sim.Second + wire - sim.Nanosecond)
	if _, st, err := l.g.Bulk(done); st != usbredir.Success || err != nil {
		t.Error(st, err)
	}
	if b, _ := l.control(0xc0, 5, 0, 1, 2); b[1] != 0 {
		t.Errorf("status before the end: %#x", b[1])
	}
	l.run(sim.Second + wire + sim.Microsecond) // rounding of n characters
	if b, _ := l.control(0xc0, 5, 0, 1, 2); b[1] != 0x60 {
		t.Errorf("status at the end: %#x", b[1])
	}
}

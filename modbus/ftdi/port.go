package ftdi

import (
	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
	"cnuas/modbus/usbredir"
)

// Modem control outputs, as request 1 has them.
const (
	DTR = 1 << 0
	RTS = 1 << 1
)

// First status byte: modem status of the 16550 in the high half, and a mark of
// the packet size in the low half.
const (
	highSpeedMark = 1 << 1
	statusCTS     = 1 << 4
	statusDSR     = 1 << 5
)

// Second status byte: line status of the 16550.
const (
	statusOverrun    = 1 << 1
	statusParity     = 1 << 2
	statusFraming    = 1 << 3
	statusBreak      = 1 << 4
	statusTHRE       = 1 << 5 // room to send
	statusTEMT       = 1 << 6 // all has been sent
	statusErrorInRun = 1 << 7 // an error in the characters of this packet
)

// Flow is the flow control that a driver has chosen. On RS-485 there are no
// lines for it, so it is kept and has no effect.
type Flow uint8

// Flow controls.
const (
	NoFlow  Flow = 0
	RTSCTS  Flow = 1
	DTRDSR  Flow = 2
	XONXOFF Flow = 4
)

const (
	// FIFOSize is the room of a port in each direction, in bytes (data sheet,
	// 1.3).
	FIFOSize = 2048
	// defaultLatency is the latency timer after power-up, in milliseconds
	// (AN232B-04, 3.3).
	defaultLatency = 16
)

// Counters of a port since the chip was made.
type Counters struct {
	TxBytes, RxBytes            uint64 // of the wire
	Overruns                    uint64 // characters that found the FIFO full
	ParityErrors, FramingErrors uint64 // characters received with them
	Breaks                      uint64
	BulkIn, BulkOut             uint64 // transfers
	Discarded                   uint64 // bytes that a purge threw away
}

// Port is one of the chip's serial ports. It receives the characters of its
// wire: see ReceiveChars.
type Port struct {
	chip *Chip
	n    int // 0 to 3
	proc *sim.Proc
	wire Wire // nil: open

	div      divisor
	line     rtu.Line
	breaking bool
	modemOut uint8
	flow     Flow
	event    uint8
	eventOn  bool
	latency  uint8 // milliseconds
	c        Counters

	rx receiver
	tx transmitter
}

const (
	opLatency uint32 = iota
	opRoom
)

func (p *Port) init(proc *sim.Proc, c *Chip, n int) {
	p.chip, p.n, p.proc = c, n, proc
	p.rx.timer.Init(proc, p, opLatency, 0)
	p.tx.timer.Init(proc, p, opRoom, 0)
	p.powerUp()
}

// Connect puts the port on a wire; nil leaves it open.
func (p *Port) Connect(w Wire) {
	p.wire = w
	p.tx.end = p.proc.Now()
	p.listen(p.line)
}

// powerUp forgets all: transfers are void.
func (p *Port) powerUp() {
	p.rx.reset(p.proc.Now())
	p.tx.reset()
	if p.wire != nil {
		p.wire.PurgeSend()
		p.wire.PurgeReceived()
	}
	p.setBreak(false)
	p.modemOut, p.flow, p.event, p.eventOn, p.latency = 0, NoFlow, 0, false, defaultLatency
	p.line = rtu.Line{Data: 8, Parity: rtu.None, Stop: 1}
	// 9600 baud, as libftdi and D2XX find it: 312.5 of 3 MHz.
	p.setBaud(divisor{code: 312 | 1<<14})
}

// HandleEvent implements sim.Handler.
func (p *Port) HandleEvent(now sim.Time, op uint32, _ uint64) {
	switch op {
	case opLatency:
		p.flush(now)
	case opRoom:
		p.pump(now)
	}
}

// setBaud refuses what no segment does.
func (p *Port) setBaud(d divisor) bool {
	const slowest, fastest = 50, 4_000_000 // of rtu.Line
	l := p.line
	if l.Baud = d.rounded(); l.Baud < slowest || l.Baud > fastest || !p.listen(l) {
		return false
	}
	p.div, p.line = d, l
	return true
}

// setData reads data bits, parity, stop bits and break. Mark parity is on the
// wire what a further stop bit is; space parity is refused, as is what a
// segment does not have.
func (p *Port) setData(v uint16) bool {
	const odd, even, mark = 1, 2, 3
	l := rtu.Line{Baud: p.line.Baud, Data: uint8(v), Stop: 1}
	if l.Data != 7 && l.Data != 8 {
		return false
	}
	switch v >> 11 & 7 {
	case 0:
	case 1, 2: // one and a half, two
		l.Stop = 2
	default:
		return false
	}
	switch v >> 8 & 7 {
	case 0:
	case odd:
		l.Parity = rtu.Odd
	case even:
		l.Parity = rtu.Even
	case mark:
		l.Stop = 2
	default:
		return false
	}
	if !p.listen(l) {
		return false
	}
	p.line = l
	p.setBreak(v>>14&1 != 0)
	return true
}

// listen tells the wire how characters come; false: it cannot receive so.
func (p *Port) listen(l rtu.Line) bool { return p.wire == nil || p.wire.Listen(l) == nil }

func (p *Port) setBreak(on bool) {
	if on == p.breaking {
		return
	}
	p.breaking = on
	if b, ok := p.wire.(Breaker); ok {
		b.Break(on)
	} else if on {
		p.chip.log("ftdi: port %d: the segment has no break condition", p.n+1)
	}
}

func (p *Port) setLatency(ms uint16) bool {
	if ms < 1 || ms > 255 {
		return false
	}
	p.latency = uint8(ms)
	return true
}

// modemStatus: the transceiver's inputs are strapped active, so that drivers
// with flow control on go on.
func (p *Port) modemStatus() uint8 { return highSpeedMark | statusCTS | statusDSR }

// lineStatus without errors.
func (p *Port) lineStatus() uint8 {
	if p.pending(p.proc.Now()) > 0 {
		return 0
	}
	return statusTHRE | statusTEMT
}

// cancel takes a transfer back.
func (p *Port) cancel(t usbredir.Transfer) {
	p.rx.cancel(t)
	p.tx.cancel(t)
}

// Status of a port, for people.
type Status struct {
	Line     rtu.Line
	Baud     float64 // exact
	Latency  int     // milliseconds
	Outputs  uint8   // DTR and RTS
	Flow     Flow
	Break    bool
	Received int // characters in the FIFO
	Counters Counters
}

// Status returns a copy of what the port is set to and has done.
func (p *Port) Status() Status {
	return Status{
		Line: p.line, Baud: p.div.Baud(), Latency: int(p.latency), Outputs: p.modemOut, Flow: p.flow, Break: p.breaking,
		Received: p.rx.n, Counters: p.c,
	}
}

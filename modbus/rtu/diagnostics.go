package rtu

// Counters of a slave (V1.02, 4 and V1.1b3, 6.8), since its start, restart or
// the last clear. They wrap at 65536 as on the wire.
type Counters struct {
	Messages   uint16 // frames with a right CRC on the wire, to anyone (08/0B)
	CRCErrors  uint16 // wrong CRC, character errors, short frames (08/0C)
	Exceptions uint16 // exceptions found, those of broadcasts included (08/0D)
	Served     uint16 // requests to this slave and broadcasts (08/0E)
	NoResponse uint16 // of those, not answered: broadcast, listen only (08/0F)
	NAK        uint16 // answered with exception 07 (08/10)
	Busy       uint16 // answered with exception 06 (08/11)
	Overrun    uint16 // frames lost by character overrun (08/12)
	Events     uint16 // requests completed without exception, 0B not counted (0B)
}

// diagnostics is the state of function codes 08, 0B and 0C.
type diagnostics struct {
	c          Counters
	listenOnly bool
	after      after  // to do when the reply is made
	register   uint16 // diagnostic register (08/02)
	log        eventLog
}

// after is what a request does to the diagnostics once it has been answered: it
// is not counted itself.
type after uint8

const (
	nothing        after = iota
	clearCounters        // 08/0A
	restart              // 08/01
	restartAndWipe       // 08/01 that clears the event log too
)

// silent stands for a request that was executed and is not answered.
const silent Exception = 0xFF

// Counters of the slave now.
func (s *Slave) Counters() Counters { return s.diag.c }

// ListenOnly says whether 08/04 has put the slave into listen only mode.
func (s *Slave) ListenOnly() bool { return s.diag.listenOnly }

// SetDiagnostic sets the diagnostic register that 08/02 returns; its bits are
// the device's own.
func (s *Slave) SetDiagnostic(v uint16) { s.diag.register = v }

// Restart is power-on: counters and event log empty, listen only mode off.
func (s *Slave) Restart() { s.diag = diagnostics{register: s.diag.register} }

// Note counts what was heard and is no request: another slave's reply, noise.
func (s *Slave) Note(f *Frame) {
	if f.Kind == Noise {
		s.NoteBad(f.Bad)
		return
	}
	s.diag.c.Messages++
}

// NoteBad counts characters that were no frame.
func (s *Slave) NoteBad(b Bad) {
	d := &s.diag
	if b == BadOver {
		d.c.Overrun++
	}
	d.c.CRCErrors++
	e := evReceive | evCommError
	if b == BadOver {
		e |= evOverrun
	}
	d.log.add(e | d.listenBit())
}

// received notes a request to this slave or to all.
func (d *diagnostics) received(broadcast bool) {
	d.c.Messages++
	d.c.Served++
	e := evReceive | d.listenBit()
	if broadcast {
		e |= evBroadcast
	}
	d.log.add(e)
}

// done notes the end of a request that was answered, or silent.
func (d *diagnostics) done(ex Exception, fc byte) {
	e := evSend | d.listenBit()
	switch ex {
	case OK:
	case silent:
		d.c.NoResponse++
	default:
		d.c.Exceptions++
		e |= exceptionEvent(ex)
		switch ex {
		case ServerDeviceBusy:
			d.c.Busy++
		case NegativeAcknowledge:
			d.c.NAK++
		}
	}
	if (ex == OK || ex == silent) && fc != GetCommEventCounter {
		d.c.Events++
	}
	d.log.add(e)
	after := d.after
	d.after = nothing
	switch after {
	case clearCounters:
		d.c, d.register = Counters{}, 0
	case restart:
		*d = diagnostics{register: d.register, log: d.log}
		d.log.add(evRestart)
	case restartAndWipe:
		*d = diagnostics{register: d.register}
		d.log.add(evRestart)
	}
}

// unanswered notes the end of a broadcast: its exceptions count although they
// are not sent, no send event tells of them.
func (d *diagnostics) unanswered(ex Exception, fc byte) {
	if ex != OK {
		d.c.Exceptions++
		d.c.NoResponse++
		d.log.add(evSend | d.listenBit())
		return
	}
	d.done(silent, fc)
}

func (d *diagnostics) listenBit() byte {
	if d.listenOnly {
		return evListenOnly
	}
	return 0
}

// listening drops a request in listen only mode, but for the restart that ends
// it (V1.1b3, 6.8.1, 01): not answered either.
func (s *Slave) listening(to uint8, pdu []byte) {
	d := &s.diag
	if to == s.addr && s.opt.Diagnostics && pdu[0] == Diagnostics {
		if r := restartOf(pdu); r != nothing {
			d.after = r
			d.done(silent, pdu[0])
			return
		}
	}
	d.c.NoResponse++
	d.log.add(evSend | evListenOnly)
}

// restartOf says whether the PDU of function code 08 is sub-function 01.
func restartOf(pdu []byte) after {
	if len(pdu) != 5 || be16(pdu, 1) != 1 {
		return nothing
	}
	switch be16(pdu, 3) {
	case 0:
		return restart
	case 0xFF00:
		return restartAndWipe
	}
	return nothing
}

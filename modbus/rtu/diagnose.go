package rtu

// Sub-functions of 08 (V1.1b3, 6.8.1).
const (
	DiagReturnQuery     = 0x00
	DiagRestart         = 0x01
	DiagReturnRegister  = 0x02
	DiagASCIIDelimiter  = 0x03
	DiagListenOnly      = 0x04
	DiagClear           = 0x0A
	DiagMessages        = 0x0B
	DiagCRCErrors       = 0x0C
	DiagExceptions      = 0x0D
	DiagServed          = 0x0E
	DiagNoResponse      = 0x0F
	DiagNAK             = 0x10
	DiagBusy            = 0x11
	DiagOverrun         = 0x12
	DiagClearOverrunCnt = 0x14
)

// diagnose serves 08. The data are echoed, but by the sub-functions that return
// a counter; 04 is executed in silence.
func (s *Slave) diagnose(pdu, out []byte) ([]byte, Exception) {
	if len(pdu) < 3 {
		return nil, IllegalDataValue
	}
	d := &s.diag
	sub := be16(pdu, 1)
	if sub == DiagReturnQuery {
		if len(pdu) < 5 || len(pdu)%2 == 0 {
			return nil, IllegalDataValue // N words of data
		}
		return append(out, pdu[1:]...), OK
	}
	counter, known := d.counter(sub)
	if !known {
		return nil, IllegalFunction
	}
	if len(pdu) != 5 {
		return nil, IllegalDataValue
	}
	data := be16(pdu, 3)
	switch sub {
	case DiagRestart:
		if d.after = restartOf(pdu); d.after == nothing {
			return nil, IllegalDataValue
		}
		return append(out, pdu[1:]...), OK
	case DiagASCIIDelimiter:
		// The delimiter of ASCII mode: of no effect in RTU mode, whatever it is.
		if data&0xFF != 0 {
			return nil, IllegalDataValue
		}
		return append(out, pdu[1:]...), OK
	}
	if data != 0 {
		return nil, IllegalDataValue
	}
	switch sub {
	case DiagListenOnly:
		d.listenOnly = true
		d.log.add(evEntered)
		return nil, OK
	case DiagClear:
		d.after = clearCounters
		return append(out, pdu[1:]...), OK
	case DiagClearOverrunCnt:
		d.c.Overrun = 0
		return append(out, pdu[1:]...), OK
	}
	return append16(append(out, pdu[1:3]...), counter), OK
}

// counter is what a sub-function returns, 0 for those that act; known says
// whether there is such a sub-function.
func (d *diagnostics) counter(sub uint16) (v uint16, known bool) {
	switch sub {
	case DiagRestart, DiagASCIIDelimiter, DiagListenOnly, DiagClear, DiagClearOverrunCnt:
		return 0, true
	case DiagReturnRegister:
		return d.register, true
	case DiagMessages:
		return d.c.Messages, true
	case DiagCRCErrors:
		return d.c.CRCErrors, true
	case DiagExceptions:
		return d.c.Exceptions, true
	case DiagServed:
		return d.c.Served, true
	case DiagNoResponse:
		return d.c.NoResponse, true
	case DiagNAK:
		return d.c.NAK, true
	case DiagBusy:
		return d.c.Busy, true
	case DiagOverrun:
		return d.c.Overrun, true
	}
	return 0, false
}

// eventCounter serves 0B (6.9). No program command ever runs: status 0000h.
func (s *Slave) eventCounter(pdu, out []byte) ([]byte, Exception) {
	if len(pdu) != 1 {
		return nil, IllegalDataValue
	}
	return append16(append16(out, 0), s.diag.c.Events), OK
}

// eventLog serves 0C (6.10).
func (s *Slave) eventLog(pdu, out []byte) ([]byte, Exception) {
	if len(pdu) != 1 {
		return nil, IllegalDataValue
	}
	d := &s.diag
	out = append(out, 6+d.log.n)
	out = append16(append16(append16(out, 0), d.c.Events), d.c.Messages)
	return d.log.appendTo(out), OK
}

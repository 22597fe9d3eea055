package rtu

import "cnuas/internal/sim"

// Options are what a slave serves besides function codes 03, 06, 10h, and 04
// and 14h where its device has Inputs and Files. Real power shelves are not
// known to serve more.
type Options struct {
	Bits        bool // 01, 02, 05, 0F: the device must have Bits
	MaskWrite   bool // 16h
	ReadWrite   bool // 17h
	Diagnostics bool // 08, all sub-functions, listen only mode included
	Events      bool // 0B and 0C
	ServerID    bool // 11h: the device must have Identity
	DeviceID    bool // 2Bh/0Eh: the device must have Identity
}

// AllOptions serves all that the device has methods for.
func AllOptions() Options {
	return Options{Bits: true, MaskWrite: true, ReadWrite: true, Diagnostics: true, Events: true, ServerID: true, DeviceID: true}
}

// Slave is the slave engine of one address: requests in, replies out. It has
// the standard's order of checks (V1.1b3, 6: function code, quantity, address,
// execution) and the counters of function codes 08, 0B and 0C.
//
// Serve allocates nothing. A Slave is not safe for concurrent use.
type Slave struct {
	addr   uint8
	dev    Device
	inputs Inputs // nil: none, likewise below
	bits   Bits
	files  Files
	id     Identity
	opt    Options

	regs  [MaxReadRegisters]uint16 // of the request in hand
	bools []bool                   // likewise

	diag diagnostics
}

// NewSlave makes the engine of the device d at addr, 1 to 255: the standard
// reserves 248 to 255 (V1.02, 2.2), real shelves use them. An address 0 makes a
// slave that executes broadcasts only.
func NewSlave(addr uint8, d Device, o Options) *Slave {
	s := &Slave{addr: addr, dev: d, opt: o}
	s.inputs, _ = d.(Inputs)
	s.files, _ = d.(Files)
	if o.Bits {
		if s.bits, _ = d.(Bits); s.bits != nil {
			s.bools = make([]bool, MaxReadBits)
		}
	}
	if o.ServerID || o.DeviceID {
		s.id, _ = d.(Identity)
	}
	return s
}

// Address of the slave.
func (s *Slave) Address() uint8 { return s.addr }

// Serve executes one whole request ADU, with its CRC, and appends the reply ADU
// to reply; it returns nil where a slave is silent: to another's address, to
// broadcast, in listen only mode, to what is no frame. Any adu may be given, of
// any station on the wire; replies that were heard belong to Note.
func (s *Slave) Serve(now sim.Time, adu []byte, reply []byte) []byte {
	if len(adu) < MinADU || len(adu) > MaxADU {
		s.NoteBad(BadShort)
		return nil
	}
	to := adu[0]
	if to != s.addr && to != Broadcast {
		s.diag.c.Messages++
		return nil
	}
	if !CheckCRC(adu) {
		s.NoteBad(BadCRC)
		return nil
	}
	pdu := adu[1 : len(adu)-2]
	if pdu[0]&ExceptionBit != 0 { // no function code: what an exception response has
		s.diag.c.Messages++
		return nil
	}
	s.diag.received(to == Broadcast)
	if s.diag.listenOnly {
		s.listening(to, pdu)
		return nil
	}
	if to == Broadcast {
		s.broadcast(now, pdu)
		return nil
	}
	base := len(reply)
	reply = append(reply, s.addr, pdu[0])
	out, ex := s.execute(now, pdu, reply)
	switch {
	case ex != OK:
		out = append(reply[:base], s.addr, pdu[0]|ExceptionBit, byte(ex))
	case out == nil: // 08/04 is not answered
		s.diag.done(silent, pdu[0])
		return nil
	}
	s.diag.done(ex, pdu[0])
	c := CRC(out[base:])
	return append(out, byte(c), byte(c>>8))
}

// broadcast executes a write and drops everything else.
func (s *Slave) broadcast(now sim.Time, pdu []byte) {
	ex := OK
	switch pdu[0] {
	case WriteSingleCoil, WriteSingleRegister, WriteMultipleCoils, WriteMultipleRegisters:
		var b [8]byte
		_, ex = s.execute(now, pdu, b[:0])
	}
	s.diag.unanswered(ex, pdu[0])
}

// execute serves one PDU. It appends to out, which has address and function
// code already, or returns an exception; nil and no exception is silence.
func (s *Slave) execute(now sim.Time, pdu, out []byte) ([]byte, Exception) {
	o := &s.opt
	switch fc := pdu[0]; {
	case fc == ReadHoldingRegisters:
		return s.readHolding(now, pdu, out)
	case fc == ReadInputRegisters && s.inputs != nil:
		return s.readInputs(now, pdu, out)
	case fc == WriteSingleRegister:
		return s.writeOne(now, pdu, out)
	case fc == WriteMultipleRegisters:
		return s.writeMany(now, pdu, out)
	case fc == ReadFileRecord && s.files != nil:
		return s.readFile(now, pdu, out)
	case fc == MaskWriteRegister && o.MaskWrite:
		return s.maskWrite(now, pdu, out)
	case fc == ReadWriteRegisters && o.ReadWrite:
		return s.readWrite(now, pdu, out)
	case fc == Diagnostics && o.Diagnostics:
		return s.diagnose(pdu, out)
	case fc == GetCommEventCounter && o.Events:
		return s.eventCounter(pdu, out)
	case fc == GetCommEventLog && o.Events:
		return s.eventLog(pdu, out)
	case fc == ReportServerID && o.ServerID && s.id != nil:
		return s.reportID(pdu, out)
	case fc == Encapsulated && o.DeviceID && s.id != nil:
		return s.deviceID(pdu, out)
	case s.bits == nil:
	case fc == ReadCoils || fc == ReadDiscreteInputs:
		return s.readBits(now, pdu, out)
	case fc == WriteSingleCoil:
		return s.writeCoil(now, pdu, out)
	case fc == WriteMultipleCoils:
		return s.writeCoils(now, pdu, out)
	}
	return nil, IllegalFunction
}

package rtu

import (
	"errors"
	"fmt"
)

// Errors of ParseReply, to be tested with errors.Is; what is returned says
// more.
var (
	ErrShort    = errors.New("reply incomplete")
	ErrCRC      = errors.New("reply with a wrong CRC")
	ErrAddress  = errors.New("reply of another slave")
	ErrFunction = errors.New("reply to another function code")
	ErrMismatch = errors.New("reply does not fit the request")
	ErrNoReply  = errors.New("a broadcast has no reply")
)

// ParseReply checks the reply ADU adu to the request ADU req and returns its
// data, a part of adu: of 01 to 04, 0C, 11h, 14h, 17h the bytes behind the byte
// count; of 2Bh/0Eh those behind the MEI type; of all others, the bytes between
// function code and CRC. For an exception response it returns the exception,
// which is OK otherwise, and no error: the slave has answered.
func ParseReply(req, adu []byte) (data []byte, ex Exception, err error) {
	if len(req) < MinADU {
		return nil, OK, fmt.Errorf("modbus: request of %d bytes: %w; build it with the Append functions", len(req), ErrMismatch)
	}
	if req[0] == Broadcast {
		return nil, OK, fmt.Errorf("modbus: %w: wait a turnaround delay and go on", ErrNoReply)
	}
	n, ok := ReplyLen(adu)
	switch {
	case len(adu) < MinADU || ok && n > len(adu) || !ok && n > 0:
		return nil, OK, fmt.Errorf("modbus: %w: %d bytes of %d: wait longer, or look for a slave at another baud", ErrShort, len(adu), max(n, MinADU))
	case ok && n < len(adu):
		adu = adu[:n] // strays of a transceiver behind the reply
	}
	if !CheckCRC(adu) {
		return nil, OK, fmt.Errorf("modbus: %w: % x: look for noise, two slaves with address %d or another parity", ErrCRC, adu, req[0])
	}
	if adu[0] != req[0] {
		return nil, OK, fmt.Errorf("modbus: %w: %d answers, %d was asked: discard it and wait on", ErrAddress, adu[0], req[0])
	}
	fc := req[1]
	if adu[1] == fc|ExceptionBit {
		if adu[2] == 0 {
			return nil, OK, fmt.Errorf("modbus: %w: exception code 0", ErrMismatch)
		}
		return nil, Exception(adu[2]), nil
	}
	if adu[1] != fc {
		return nil, OK, fmt.Errorf("modbus: %w: %02Xh, %02Xh was asked: discard it and wait on", ErrFunction, adu[1], fc)
	}
	if data, ok = replyData(req, adu[2:len(adu)-2]); !ok {
		return nil, OK, fmt.Errorf("modbus: %w: % x to % x: late reply to an earlier request? discard it and wait on", ErrMismatch, adu, req)
	}
	return data, OK, nil
}

// replyData checks what is between function code and CRC.
func replyData(req, b []byte) ([]byte, bool) {
	switch fc := req[1]; fc {
	case ReadCoils, ReadDiscreteInputs, ReadHoldingRegisters, ReadInputRegisters, ReadWriteRegisters:
		n := replyTo(req)
		return b[1:], n == 5+int(b[0])
	case GetCommEventLog, ReportServerID, ReadFileRecord:
		return b[1:], fc != GetCommEventLog || b[0] >= 6
	case WriteSingleCoil, WriteSingleRegister, MaskWriteRegister, WriteFileRecord:
		return b, string(b) == string(req[2:len(req)-2])
	case WriteMultipleCoils, WriteMultipleRegisters:
		return b, len(req) >= 8 && string(b) == string(req[2:6])
	case Diagnostics:
		// Counters come back in the place of the data, all else is an echo.
		return b, len(req) >= 6 && string(b[:2]) == string(req[2:4])
	case Encapsulated:
		return b[min(1, len(b)):], len(b) >= 2 && len(req) >= 7 && b[0] == req[2] && b[1] == req[3]
	}
	return b, true
}

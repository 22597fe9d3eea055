package rtu

import (
	"fmt"

	"cnuas/internal/sim"
)

// Exception is the code of an exception response (Modbus application protocol
// V1.1b3, 7). OK stands for no exception.
type Exception uint8

// Exception codes.
const (
	OK                   Exception = 0
	IllegalFunction      Exception = 1
	IllegalDataAddress   Exception = 2
	IllegalDataValue     Exception = 3
	ServerDeviceFailure  Exception = 4
	Acknowledge          Exception = 5
	ServerDeviceBusy     Exception = 6
	NegativeAcknowledge  Exception = 7
	MemoryParityError    Exception = 8
	GatewayPathUnavail   Exception = 0x0A
	GatewayTargetNoReply Exception = 0x0B
)

// Device is the data model of one slave: its holding registers. The slave
// engine has checked function code and quantity before it asks (V1.1b3, 6.3);
// the device checks the address range, and for writes the values.
//
// A Device may have the methods of Inputs, Bits, Files or Identity besides;
// their function codes are served only then, and only if Options say so.
type Device interface {
	// ReadRegisters fills dst with the holding registers from addr on, 1 to 125
	// of them: all, or none and an exception.
	ReadRegisters(now sim.Time, addr uint16, dst []uint16) Exception
	// WriteRegisters sets the holding registers from addr on, 1 to 123 of them:
	// all, or none and an exception.
	WriteRegisters(now sim.Time, addr uint16, src []uint16) Exception
}

// Inputs are the input registers of a device (function code 04).
type Inputs interface {
	ReadInputs(now sim.Time, addr uint16, dst []uint16) Exception
}

// Bits are the coils and discrete inputs of a device (function codes 01, 02,
// 05, 0F).
type Bits interface {
	ReadCoils(now sim.Time, addr uint16, dst []bool) Exception
	ReadDiscrete(now sim.Time, addr uint16, dst []bool) Exception
	WriteCoils(now sim.Time, addr uint16, src []bool) Exception
}

// Files are the file records of a device (function code 14h, reference type 6).
type Files interface {
	ReadFile(now sim.Time, file, record uint16, dst []uint16) Exception
}

// Identity is what a device says of itself (function codes 11h and 2Bh/0Eh).
type Identity interface {
	ServerID() []byte                  // 11h: id, run indicator and additional data
	Object(id uint8) ([]byte, bool)    // 2Bh/0Eh: VendorName 0, ProductCode 1, MajorMinorRevision 2, ...
	NextObject(id uint8) (uint8, bool) // the next higher one that exists
}

// String names the exception in the standard's words, with its code.
func (e Exception) String() string {
	var s string
	switch e {
	case OK:
		return "no exception"
	case IllegalFunction:
		s = "illegal function"
	case IllegalDataAddress:
		s = "illegal data address"
	case IllegalDataValue:
		s = "illegal data value"
	case ServerDeviceFailure:
		s = "server device failure"
	case Acknowledge:
		s = "acknowledge"
	case ServerDeviceBusy:
		s = "server device busy"
	case NegativeAcknowledge:
		s = "negative acknowledge"
	case MemoryParityError:
		s = "memory parity error"
	case GatewayPathUnavail:
		s = "gateway path unavailable"
	case GatewayTargetNoReply:
		s = "gateway target device failed to respond"
	default:
		s = "unknown exception"
	}
	return fmt.Sprintf("%s (%02Xh)", s, uint8(e))
}

package wire

import "fmt"

// Opcode is the OpCode field of a BTH: three bits of transport service, five
// of operation (IBTA vol. 1 §9.2.1, table 38).
type Opcode uint8

// Transport services, the high three bits of an opcode.
const (
	ServiceRC Opcode = 0x00
	ServiceUC Opcode = 0x20
	ServiceUD Opcode = 0x60
	ServiceCN Opcode = 0x80 // congestion notification
)

// Operations, the low five bits of an opcode.
const (
	OpSendFirst         Opcode = 0x00
	OpSendMiddle        Opcode = 0x01
	OpSendLast          Opcode = 0x02
	OpSendLastImm       Opcode = 0x03
	OpSendOnly          Opcode = 0x04
	OpSendOnlyImm       Opcode = 0x05
	OpWriteFirst        Opcode = 0x06
	OpWriteMiddle       Opcode = 0x07
	OpWriteLast         Opcode = 0x08
	OpWriteLastImm      Opcode = 0x09
	OpWriteOnly         Opcode = 0x0a
	OpWriteOnlyImm      Opcode = 0x0b
	OpReadRequest       Opcode = 0x0c
	OpReadRespFirst     Opcode = 0x0d
	OpReadRespMiddle    Opcode = 0x0e
	OpReadRespLast      Opcode = 0x0f
	OpReadRespOnly      Opcode = 0x10
	OpAcknowledge       Opcode = 0x11
	OpAtomicAcknowledge Opcode = 0x12
	OpCompareSwap       Opcode = 0x13
	OpFetchAdd          Opcode = 0x14
	OpSendLastInv       Opcode = 0x16
	OpSendOnlyInv       Opcode = 0x17
)

// Opcodes of the reliable connection service.
const (
	RCSendFirst         = ServiceRC | OpSendFirst
	RCSendMiddle        = ServiceRC | OpSendMiddle
	RCSendLast          = ServiceRC | OpSendLast
	RCSendLastImm       = ServiceRC | OpSendLastImm
	RCSendOnly          = ServiceRC | OpSendOnly
	RCSendOnlyImm       = ServiceRC | OpSendOnlyImm
	RCWriteFirst        = ServiceRC | OpWriteFirst
	RCWriteMiddle       = ServiceRC | OpWriteMiddle
	RCWriteLast         = ServiceRC | OpWriteLast
	RCWriteLastImm      = ServiceRC | OpWriteLastImm
	RCWriteOnly         = ServiceRC | OpWriteOnly
	RCWriteOnlyImm      = ServiceRC | OpWriteOnlyImm
	RCReadRequest       = ServiceRC | OpReadRequest
	RCReadRespFirst     = ServiceRC | OpReadRespFirst
	RCReadRespMiddle    = ServiceRC | OpReadRespMiddle
	RCReadRespLast      = ServiceRC | OpReadRespLast
	RCReadRespOnly      = ServiceRC | OpReadRespOnly
	RCAcknowledge       = ServiceRC | OpAcknowledge
	RCAtomicAcknowledge = ServiceRC | OpAtomicAcknowledge
	RCCompareSwap       = ServiceRC | OpCompareSwap
	RCFetchAdd          = ServiceRC | OpFetchAdd
	RCSendLastInv       = ServiceRC | OpSendLastInv
	RCSendOnlyInv       = ServiceRC | OpSendOnlyInv
)

// Opcodes of the unreliable connection service.
const (
	UCSendFirst    = ServiceUC | OpSendFirst
	UCSendMiddle   = ServiceUC | OpSendMiddle
	UCSendLast     = ServiceUC | OpSendLast
	UCSendLastImm  = ServiceUC | OpSendLastImm
	UCSendOnly     = ServiceUC | OpSendOnly
	UCSendOnlyImm  = ServiceUC | OpSendOnlyImm
	UCWriteFirst   = ServiceUC | OpWriteFirst
	UCWriteMiddle  = ServiceUC | OpWriteMiddle
	UCWriteLast    = ServiceUC | OpWriteLast
	UCWriteLastImm = ServiceUC | OpWriteLastImm
	UCWriteOnly    = ServiceUC | OpWriteOnly
	UCWriteOnlyImm = ServiceUC | OpWriteOnlyImm
)

// Opcodes of the unreliable datagram service.
const (
	UDSendOnly    = ServiceUD | OpSendOnly
	UDSendOnlyImm = ServiceUD | OpSendOnlyImm
)

// CNP is the opcode of a congestion notification packet of RoCEv2 (IBTA annex
// A17.9.3).
const CNP Opcode = 0x81

// CN is the opcode of a congestion notification packet of InfiniBand: a BTH
// with BECN and nothing behind it (IBTA vol. 1 annex A10.2.1).
const CN Opcode = 0x80

// Service returns the high three bits.
func (o Opcode) Service() Opcode { return o & 0xe0 }

// Operation returns the low five bits.
func (o Opcode) Operation() Opcode { return o & 0x1f }

// Known tells whether the opcode is one of those above.
func (o Opcode) Known() bool { return opcodes[o].name != "" }

// Has returns the extension headers behind the BTH, and whether payload is
// permitted. It is 0 for an opcode that is not Known.
func (o Opcode) Has() Ext { return opcodes[o].ext }

// HeaderLen is the length of BTH and extension headers in bytes, 0 for an
// opcode that is not Known.
func (o Opcode) HeaderLen() int { return int(opcodes[o].len) }

// String returns the name as IBTA vol. 1 table 38 has it, shortened.
func (o Opcode) String() string {
	if n := opcodes[o].name; n != "" {
		return n
	}
	return fmt.Sprintf("opcode %#02x", uint8(o))
}

package transport

import "cnuas/internal/wire"

// Kind says what a packet is to the queue pair that receives it.
type Kind uint16

// Bits of a Kind. A packet that is both First and Last is the only one of its
// message.
const (
	First Kind = 1 << iota
	Last
	Send
	Write
	Read   // READ request
	Atomic // CmpSwap, FetchAdd
	Imm    // carries immediate data, behind the other extension headers
	ReadResponse
	AtomicAck
	Ack
	Payload

	Request = Send | Write | Read | Atomic
	Recv    = Imm | Send // needs a receive work request: on First for SEND, on Last for WRITE
)

// Op is what the transport must know of an opcode.
type Op struct {
	Kind Kind
	Ext  uint8 // length of the extension headers in bytes
}

// Ops are the opcodes of the reliable connection service by their low five
// bits; Kind is 0 for those that are reserved or not served. SEND with
// invalidate is not: no program can post it (there are no memory windows).
var Ops = [32]Op{
	wire.OpSendFirst:         {Send | First | Payload, 0},
	wire.OpSendMiddle:        {Send | Payload, 0},
	wire.OpSendLast:          {Send | Last | Payload, 0},
	wire.OpSendLastImm:       {Send | Last | Imm | Payload, wire.ImmDtLen},
	wire.OpSendOnly:          {Send | First | Last | Payload, 0},
	wire.OpSendOnlyImm:       {Send | First | Last | Imm | Payload, wire.ImmDtLen},
	wire.OpWriteFirst:        {Write | First | Payload, wire.RETHLen},
	wire.OpWriteMiddle:       {Write | Payload, 0},
	wire.OpWriteLast:         {Write | Last | Payload, 0},
	wire.OpWriteLastImm:      {Write | Last | Imm | Payload, wire.ImmDtLen},
	wire.OpWriteOnly:         {Write | First | Last | Payload, wire.RETHLen},
	wire.OpWriteOnlyImm:      {Write | First | Last | Imm | Payload, wire.RETHLen + wire.ImmDtLen},
	wire.OpReadRequest:       {Read | First | Last, wire.RETHLen},
	wire.OpReadRespFirst:     {ReadResponse | First | Payload, wire.AETHLen},
	wire.OpReadRespMiddle:    {ReadResponse | Payload, 0},
	wire.OpReadRespLast:      {ReadResponse | Last | Payload, wire.AETHLen},
	wire.OpReadRespOnly:      {ReadResponse | First | Last | Payload, wire.AETHLen},
	wire.OpAcknowledge:       {Ack, wire.AETHLen},
	wire.OpAtomicAcknowledge: {AtomicAck, wire.AETHLen + wire.AtomicAckETHLen},
	wire.OpCompareSwap:       {Atomic | First | Last, wire.AtomicETHLen},
	wire.OpFetchAdd:          {Atomic | First | Last, wire.AtomicETHLen},
}

// UnreliableOps are the opcodes of the unreliable connection service.
var UnreliableOps = unreliableOps()

func unreliableOps() (t [32]Op) {
	copy(t[:], Ops[:wire.OpWriteOnlyImm+1])
	return t
}

// DatagramOps are the opcodes of the unreliable datagram service.
var DatagramOps = [32]Op{
	wire.OpSendOnly:    {Send | First | Last | Payload, wire.DETHLen},
	wire.OpSendOnlyImm: {Send | First | Last | Imm | Payload, wire.DETHLen + wire.ImmDtLen},
}

// Position in a message, the index of the opcodes below.
const (
	posMiddle = 0
	posFirst  = 1
	posLast   = 2
	posOnly   = 3
)

func pos(first, last bool) int {
	p := posMiddle
	if first {
		p |= posFirst
	}
	if last {
		p |= posLast
	}
	return p
}

var (
	sendOps  = [4]wire.Opcode{wire.RCSendMiddle, wire.RCSendFirst, wire.RCSendLast, wire.RCSendOnly}
	writeOps = [4]wire.Opcode{wire.RCWriteMiddle, wire.RCWriteFirst, wire.RCWriteLast, wire.RCWriteOnly}
	readOps  = [4]wire.Opcode{wire.RCReadRespMiddle, wire.RCReadRespFirst, wire.RCReadRespLast, wire.RCReadRespOnly}
)

// SendOpcode is the opcode of a packet of a SEND, its low five bits: the reliable
// connection service has no others. imm counts on the last only.
func SendOpcode(first, last, imm bool) wire.Opcode {
	return withImm(sendOps[pos(first, last)], last && imm)
}

// WriteOpcode is the opcode of a packet of a RDMA WRITE, likewise.
func WriteOpcode(first, last, imm bool) wire.Opcode {
	return withImm(writeOps[pos(first, last)], last && imm)
}

// ReadOpcode is the opcode of a RDMA READ response.
func ReadOpcode(first, last bool) wire.Opcode { return readOps[pos(first, last)] }

// withImm: the opcode with immediate follows the one without.
func withImm(o wire.Opcode, imm bool) wire.Opcode {
	if imm {
		o++
	}
	return o
}

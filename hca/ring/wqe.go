package ring

import "encoding/binary"

// Read struct rxe_send_wqe, rxe_recv_wqe and rxe_dma_info of
// rdma_user_rxe.h before editing. All offsets are from the slot's first byte.
//
//	send WQE   0 wr_id  12 opcode  16 flags  20 imm  24 remote address
//	           32 rkey, or for atomics: 32 compare or add, 40 swap, 48 rkey,
//	           or for datagrams: 24 QPN, 28 Q_Key, 36 address handle, 56 struct rxe_av
//	          184 dma: length  196 num_sge  208 SGEs or inline data
//	recv WQE   0 wr_id   16 dma: length  28 num_sge  40 SGEs
//	SGE        0 address  8 length  12 lkey

// Lengths in bytes.
const (
	SendWQELen = 208 // without SGEs or inline data
	RecvWQELen = 40  // without SGEs
	SGELen     = 16
	CQELen     = 64
)

// Opcodes of a send work request (enum ib_uverbs_wr_opcode).
const (
	OpRDMAWrite    = 0
	OpRDMAWriteImm = 1
	OpSend         = 2
	OpSendImm      = 3
	OpRDMARead     = 4
	OpCompareSwap  = 5
	OpFetchAdd     = 6
)

// Flags of a send work request (enum ib_uverbs_wr_send_flags).
const (
	FlagFence     = 1
	FlagSignaled  = 2
	FlagSolicited = 4
	FlagInline    = 8
)

func put16(b []byte, v uint16) { binary.NativeEndian.PutUint16(b, v) }
func put32(b []byte, v uint32) { binary.NativeEndian.PutUint32(b, v) }
func put64(b []byte, v uint64) { binary.NativeEndian.PutUint64(b, v) }
func get16(b []byte) uint16    { return binary.NativeEndian.Uint16(b) }
func get32(b []byte) uint32    { return binary.NativeEndian.Uint32(b) }
func get64(b []byte) uint64    { return binary.NativeEndian.Uint64(b) }

// SGE is a scatter/gather element.
type SGE struct {
	Addr uint64
	Len  uint32
	LKey uint32
}

func getSGE(b []byte) SGE {
	_ = b[15]
	return SGE{get64(b), get32(b[8:]), get32(b[12:])}
}

func putSGE(b []byte, s SGE) {
	_ = b[15]
	put64(b, s.Addr)
	put32(b[8:], s.Len)
	put32(b[12:], s.LKey)
}

// SendWQE views a slot of a send queue. The slot is longer than SendWQELen.
type SendWQE []byte

// ID is the program's identifier of the work request.
func (w SendWQE) ID() uint64 { return get64(w[0:]) }

// Opcode is one of the Op constants, or anything.
func (w SendWQE) Opcode() uint32 { return get32(w[12:]) }

// Flags is a set of Flag bits.
func (w SendWQE) Flags() uint32 { return get32(w[16:]) }

// Imm is the immediate data in network order.
func (w SendWQE) Imm() [4]byte { return [4]byte(w[20:24]) }

// RemoteAddr is the address of an RDMA or atomic operation.
func (w SendWQE) RemoteAddr() uint64 { return get64(w[24:]) }

// RKey of an RDMA operation.
func (w SendWQE) RKey() uint32 { return get32(w[32:]) }

// CompareAdd is the compare or the add operand of an atomic.
func (w SendWQE) CompareAdd() uint64 { return get64(w[32:]) }

// Swap is the swap operand of an atomic.
func (w SendWQE) Swap() uint64 { return get64(w[40:]) }

// AtomicRKey is the rkey of an atomic.
func (w SendWQE) AtomicRKey() uint32 { return get32(w[48:]) }

// RemoteQPN is the destination of a datagram.
func (w SendWQE) RemoteQPN() uint32 { return get32(w[24:]) }

// RemoteQKey is the Q_Key of a datagram.
func (w SendWQE) RemoteQKey() uint32 { return get32(w[28:]) }

// AH is the number of a datagram's address handle. Libraries before rdma-core
// 38 do not know of numbers: they leave 0 here and put the address into AV.
func (w SendWQE) AH() uint32 { return get32(w[36:]) }

// AVLen is the length of an AV in bytes.
const AVLen = 32

// AV is an address vector inside of a work request: the head of struct rxe_av.
//
//	0 port  1 network type  2 destination MAC  8 destination GID
//	24 flow label  28 index of the source GID  29 hop limit  30 traffic class
type AV [AVLen]byte

// AV copies the address vector.
func (w SendWQE) AV() AV { return AV(w[56 : 56+AVLen]) }

// SetAV writes the address vector.
func (w SendWQE) SetAV(a AV) { copy(w[56:], a[:]) }

// DMAC is the next hop as the program has resolved it.
func (a *AV) DMAC() [6]byte { return [6]byte(a[2:8]) }

// DGID is the destination.
func (a *AV) DGID() [16]byte { return [16]byte(a[8:24]) }

// FlowLabel has 20 bits.
func (a *AV) FlowLabel() uint32 { return get32(a[24:]) & 0xfffff }

// SGIDIndex is where the source's GID is in the port's table.
func (a *AV) SGIDIndex() uint8 { return a[28] }

// HopLimit of the packets.
func (a *AV) HopLimit() uint8 { return a[29] }

// TrafficClass of the packets.
func (a *AV) TrafficClass() uint8 { return a[30] }

// Length is the length that the program states; meaningful for inline data.
func (w SendWQE) Length() uint32 { return get32(w[184:]) }

// NumSGE is the number of SGEs that the program states.
func (w SendWQE) NumSGE() uint32 { return get32(w[196:]) }

// MaxSGE is the number of SGEs that the slot has room for.
func (w SendWQE) MaxSGE() int { return (len(w) - SendWQELen) / SGELen }

// SGE returns element i, less than MaxSGE.
func (w SendWQE) SGE(i int) SGE { return getSGE(w[SendWQELen+i*SGELen:]) }

// Inline is the space for inline data.
func (w SendWQE) Inline() []byte { return w[SendWQELen:] }

// Send is what Encode writes.
type Send struct {
	ID         uint64
	Opcode     uint32
	Flags      uint32
	Imm        [4]byte
	RemoteAddr uint64
	RKey       uint32
	CompareAdd uint64 // atomics
	Swap       uint64 // atomics
	QPN        uint32 // datagrams: destination; 0 if it is none
	QKey       uint32 // datagrams
	AH         uint32 // datagrams
	SGEs       []SGE
	Inline     []byte // used when Flags has FlagInline
}

// Encode fills the slot. It reports false if the SGEs or the inline data do
// not fit.
func (w SendWQE) Encode(s *Send) bool {
	inline := s.Flags&FlagInline != 0
	if inline && len(s.Inline) > len(w)-SendWQELen || !inline && len(s.SGEs) > w.MaxSGE() {
		return false
	}
	clear(w[:SendWQELen])
	put64(w[0:], s.ID)
	put32(w[12:], s.Opcode)
	put32(w[16:], s.Flags)
	copy(w[20:24], s.Imm[:])
	put64(w[24:], s.RemoteAddr)
	if s.Opcode == OpCompareSwap || s.Opcode == OpFetchAdd {
		put64(w[32:], s.CompareAdd)
		put64(w[40:], s.Swap)
		put32(w[48:], s.RKey)
	} else {
		put32(w[32:], s.RKey)
	}
	if s.QPN != 0 {
		put32(w[24:], s.QPN)
		put32(w[28:], s.QKey)
		put32(w[36:], s.AH)
	}
	if inline {
		copy(w[SendWQELen:], s.Inline)
		put32(w[184:], uint32(len(s.Inline)))
		return true
	}
	n := uint32(0)
	for i, g := range s.SGEs {
		putSGE(w[SendWQELen+i*SGELen:], g)
		n += g.Len
	}
	put32(w[184:], n)
	put32(w[188:], n)
	put32(w[196:], uint32(len(s.SGEs)))
	return true
}

// RecvWQE views a slot of a receive queue.
type RecvWQE []byte

// ID is the program's identifier of the work request.
func (w RecvWQE) ID() uint64 { return get64(w[0:]) }

// NumSGE is the number of SGEs that the program states.
func (w RecvWQE) NumSGE() uint32 { return get32(w[28:]) }

// MaxSGE is the number of SGEs that the slot has room for.
func (w RecvWQE) MaxSGE() int { return (len(w) - RecvWQELen) / SGELen }

// SGE returns element i, less than MaxSGE.
func (w RecvWQE) SGE(i int) SGE { return getSGE(w[RecvWQELen+i*SGELen:]) }

// Encode fills the slot. It reports false if the SGEs do not fit.
func (w RecvWQE) Encode(id uint64, sges []SGE) bool {
	if len(sges) > w.MaxSGE() {
		return false
	}
	clear(w[:RecvWQELen])
	put64(w[0:], id)
	n := uint32(0)
	for i, g := range sges {
		putSGE(w[RecvWQELen+i*SGELen:], g)
		n += g.Len
	}
	put32(w[16:], n)
	put32(w[20:], n)
	put32(w[28:], uint32(len(sges)))
	return true
}

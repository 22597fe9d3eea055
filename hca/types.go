// Package hca is the host channel adapter: the verbs objects of IBTA vol. 1
// chapters 10 and 11 and the port, RoCEv2 or InfiniBand, that they send through.
// It makes no OS calls: a program's memory is a Memory, its queues are rings in shared or
// private memory (package ring), time comes from the engine. The kernel ABI
// (package uverbs) and the Go API (package verbs) stand on it alike.
//
// All calls are made by the thread that runs the engine, or while it is held.
package hca

import (
	"errors"

	"cnuas/internal/wire"
)

// Segment is a piece of a program's address space.
type Segment struct {
	Addr uint64
	Len  uint64
}

// Memory is the address space of one program.
type Memory interface {
	// Gather reads the segments, in order, into dst, whose length is their sum.
	Gather(dst []byte, src []Segment) error
	// Scatter writes the bytes of src, in order, to the segments of dst; both
	// have the same total. Bytes are written in ascending order.
	Scatter(dst []Segment, src [][]byte) error
}

// Access flags of a memory region (IBTA vol. 1 §10.6.3), with the values of
// the kernel's ABI.
type Access uint32

// Access flags.
const (
	AccessLocalWrite   Access = 1 << 0
	AccessRemoteWrite  Access = 1 << 1
	AccessRemoteRead   Access = 1 << 2
	AccessRemoteAtomic Access = 1 << 3
)

// QPType is the transport service of a queue pair, with the values of the ABI.
type QPType uint8

// Transport services.
const (
	RC QPType = 2
	UC QPType = 3
	UD QPType = 4
)

// QPState is a state of IBTA vol. 1 §10.3.1, with the values of the ABI.
type QPState uint8

// States of a queue pair.
const (
	Reset QPState = iota
	Init
	RTR
	RTS
	SQD
	SQE
	Err
)

// String returns the name of the state.
func (s QPState) String() string {
	if n := [...]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}; int(s) < len(n) {
		return n[s]
	}
	return "invalid"
}

// GID is a global identifier (RFC 4291 form).
type GID [16]byte

// AddressVector says where a queue pair's peer is.
type AddressVector struct {
	SGIDIndex    uint8
	DGID         GID
	TrafficClass uint8
	HopLimit     uint8
	FlowLabel    uint32
	SL           uint8
	// DLID, PathBits and Global are InfiniBand's: where the packets go, which of
	// the port's LIDs they come from, and whether they have a GRH, for which the
	// fields above are.
	DLID     wire.LID
	PathBits uint8
	Global   bool
	// DMAC is the next hop. RoCE takes it from the host's neighbour table; who
	// calls Modify with an AV has resolved it.
	DMAC [6]byte
}

// AttrMask says which attributes a Modify sets, with the bits of the ABI
// (enum ib_qp_attr_mask).
type AttrMask uint32

// Bits of AttrMask.
const (
	AttrState           AttrMask = 1 << 0
	AttrCurState        AttrMask = 1 << 1
	AttrEnSQDAsync      AttrMask = 1 << 2
	AttrAccessFlags     AttrMask = 1 << 3
	AttrPKeyIndex       AttrMask = 1 << 4
	AttrPort            AttrMask = 1 << 5
	AttrQKey            AttrMask = 1 << 6
	AttrAV              AttrMask = 1 << 7
	AttrPathMTU         AttrMask = 1 << 8
	AttrTimeout         AttrMask = 1 << 9
	AttrRetryCnt        AttrMask = 1 << 10
	AttrRNRRetry        AttrMask = 1 << 11
	AttrRQPSN           AttrMask = 1 << 12
	AttrMaxRdAtomic     AttrMask = 1 << 13
	AttrAltPath         AttrMask = 1 << 14
	AttrMinRNRTimer     AttrMask = 1 << 15
	AttrSQPSN           AttrMask = 1 << 16
	AttrMaxDestRdAtomic AttrMask = 1 << 17
	AttrPathMigState    AttrMask = 1 << 18
	AttrCap             AttrMask = 1 << 19
	AttrDestQPN         AttrMask = 1 << 20
)

// QPAttr are the modifiable attributes of a queue pair.
type QPAttr struct {
	State           QPState
	CurState        QPState
	Access          Access
	PKeyIndex       uint16
	Port            uint8
	QKey            uint32
	AV              AddressVector
	PathMTU         uint8 // 1: 256 ... 5: 4096
	Timeout         uint8 // local ACK timeout 4.096 us x 2^Timeout; 0: none
	RetryCnt        uint8
	RNRRetry        uint8 // 7: for ever
	RQPSN           uint32
	SQPSN           uint32
	MaxRdAtomic     uint8
	MaxDestRdAtomic uint8
	MinRNRTimer     uint8 // code of IBTA vol. 1 table 46
	PathMigState    uint8
	DestQPN         uint32
}

// QPCap are the sizes of a queue pair's queues.
type QPCap struct {
	MaxSendWR, MaxRecvWR   uint32
	MaxSendSGE, MaxRecvSGE uint32
	MaxInline              uint32 // bytes
}

// Status of a work completion, with the values of the ABI (enum ibv_wc_status).
type Status uint32

// Completion statuses.
const (
	StatusSuccess        Status = 0
	StatusLocLenErr      Status = 1
	StatusLocQPOpErr     Status = 2
	StatusLocEECOpErr    Status = 3
	StatusLocProtErr     Status = 4
	StatusWRFlushErr     Status = 5
	StatusMWBindErr      Status = 6
	StatusBadRespErr     Status = 7
	StatusLocAccessErr   Status = 8
	StatusRemInvReqErr   Status = 9
	StatusRemAccessErr   Status = 10
	StatusRemOpErr       Status = 11
	StatusRetryExcErr    Status = 12
	StatusRNRRetryExcErr Status = 13
	StatusLocRDDViolErr  Status = 14
	StatusRemInvRDReqErr Status = 15
	StatusRemAbortErr    Status = 16
	StatusInvEECNErr     Status = 17
	StatusInvEECStateErr Status = 18
	StatusFatalErr       Status = 19
	StatusRespTimeoutErr Status = 20
	StatusGeneralErr     Status = 21
)

// EventType is an asynchronous event, with the values of the ABI.
type EventType uint32

// Asynchronous events.
const (
	EventCQErr       EventType = 0
	EventQPFatal     EventType = 1
	EventQPReqErr    EventType = 2
	EventQPAccessErr EventType = 3
	EventCommEst     EventType = 4
	EventPortActive  EventType = 9
	EventPortErr     EventType = 10
	EventLIDChange   EventType = 11
	EventPKeyChange  EventType = 12
	EventSMChange    EventType = 13
	// EventClientReregister: the subnet manager forgot its clients.
	EventClientReregister EventType = 17
	EventGIDChange        EventType = 18
	EventDeviceFatal      EventType = 8
	EventSQDrained        EventType = 5
	EventSRQErr           EventType = 14
	EventSRQLimit         EventType = 15
	EventLastWQE          EventType = 16 // a queue pair in Err takes no more of its SRQ
)

// Errors that verbs return. Package uverbs maps each to an errno.
var (
	ErrInvalid      = errors.New("invalid argument")           // EINVAL
	ErrNoMemory     = errors.New("out of resources")           // ENOMEM
	ErrNotSupported = errors.New("not supported")              // EOPNOTSUPP
	ErrBusy         = errors.New("object is in use")           // EBUSY
	ErrState        = errors.New("invalid state transition")   // EINVAL
	ErrAccess       = errors.New("access flags not permitted") // EACCES
	ErrNoGID        = errors.New("no such GID index")          // EINVAL
)

package ring

// Read struct ib_uverbs_wc of ib_user_verbs.h before editing.

// Opcodes of a work completion (enum ibv_wc_opcode).
const (
	WCSend        = 0
	WCRDMAWrite   = 1
	WCRDMARead    = 2
	WCCompareSwap = 3
	WCFetchAdd    = 4
	WCRecv        = 128
	WCRecvImm     = 129 // RDMA WRITE with immediate
)

// SendCompletion is the work completion opcode of a send work request's opcode.
func SendCompletion(op uint32) uint32 {
	switch op {
	case OpRDMAWrite, OpRDMAWriteImm:
		return WCRDMAWrite
	case OpRDMARead:
		return WCRDMARead
	case OpCompareSwap:
		return WCCompareSwap
	case OpFetchAdd:
		return WCFetchAdd
	}
	return WCSend
}

// Flags of a work completion.
const (
	WCFlagGRH = 1
	WCFlagImm = 2
)

// CQE is a work completion.
type CQE struct {
	ID        uint64
	Status    uint32
	Opcode    uint32
	VendorErr uint32
	ByteLen   uint32
	Imm       [4]byte // network order
	QPN       uint32
	SrcQP     uint32
	Flags     uint32
	PKeyIndex uint16
	SLID      uint16 // of InfiniBand datagrams, as the next two
	SL        uint8
	PathBits  uint8
	Port      uint8
}

// Encode fills b, a slot of a completion queue.
func (c *CQE) Encode(b []byte) {
	_ = b[47]
	put64(b, c.ID)
	put32(b[8:], c.Status)
	put32(b[12:], c.Opcode)
	put32(b[16:], c.VendorErr)
	put32(b[20:], c.ByteLen)
	copy(b[24:28], c.Imm[:])
	put32(b[28:], c.QPN)
	put32(b[32:], c.SrcQP)
	put32(b[36:], c.Flags)
	put16(b[40:], c.PKeyIndex)
	put16(b[42:], c.SLID)
	b[44], b[45], b[46], b[47] = c.SL, c.PathBits, c.Port, 0
}

// Decode reads a slot of a completion queue.
func (c *CQE) Decode(b []byte) {
	_ = b[47]
	c.ID = get64(b)
	c.Status = get32(b[8:])
	c.Opcode = get32(b[12:])
	c.VendorErr = get32(b[16:])
	c.ByteLen = get32(b[20:])
	c.Imm = [4]byte(b[24:28])
	c.QPN = get32(b[28:])
	c.SrcQP = get32(b[32:])
	c.Flags = get32(b[36:])
	c.PKeyIndex = get16(b[40:])
	c.SLID = get16(b[42:])
	c.SL, c.PathBits, c.Port = b[44], b[45], b[46]
}

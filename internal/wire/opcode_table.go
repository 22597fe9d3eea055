package wire

// Ext says which extension headers follow a BTH. They do so in the order of
// the bits (IBTA vol. 1 table 38).
type Ext uint16

// Extension headers and payload.
const (
	ExtDETH Ext = 1 << iota
	ExtRETH
	ExtAtomicETH
	ExtAETH
	ExtAtomicAckETH
	ExtImmDt
	ExtIETH
	ExtCNP     // 16 reserved bytes of a CNP
	ExtPayload // payload of 0 to MTU bytes, pad
)

// extLen is the length of each header by the number of its bit.
var extLen = [...]int{DETHLen, RETHLen, AtomicETHLen, AETHLen, AtomicAckETHLen, ImmDtLen, IETHLen, CNPReservedLen}

// Len is the length of the extension headers in bytes.
func (x Ext) Len() int {
	n := 0
	for i, l := range extLen {
		if x&(1<<i) != 0 {
			n += l
		}
	}
	return n
}

// Offset is where header h begins behind the BTH; h must be one of x.
func (x Ext) Offset(h Ext) int { return (x & (h - 1)).Len() }

type opcodeInfo struct {
	name string
	ext  Ext
	len  uint8
}

var opcodes = buildOpcodes()

func buildOpcodes() (t [256]opcodeInfo) {
	set := func(o Opcode, name string, x Ext) {
		t[o] = opcodeInfo{name, x, uint8(BTHLen + x.Len())}
	}
	// What RC and UC have in common.
	both := []struct {
		op   Opcode
		name string
		ext  Ext
	}{
		{OpSendFirst, "SEND First", ExtPayload},
		{OpSendMiddle, "SEND Middle", ExtPayload},
		{OpSendLast, "SEND Last", ExtPayload},
		{OpSendLastImm, "SEND Last with Immediate", ExtImmDt | ExtPayload},
		{OpSendOnly, "SEND Only", ExtPayload},
		{OpSendOnlyImm, "SEND Only with Immediate", ExtImmDt | ExtPayload},
		{OpWriteFirst, "RDMA WRITE First", ExtRETH | ExtPayload},
		{OpWriteMiddle, "RDMA WRITE Middle", ExtPayload},
		{OpWriteLast, "RDMA WRITE Last", ExtPayload},
		{OpWriteLastImm, "RDMA WRITE Last with Immediate", ExtImmDt | ExtPayload},
		{OpWriteOnly, "RDMA WRITE Only", ExtRETH | ExtPayload},
		{OpWriteOnlyImm, "RDMA WRITE Only with Immediate", ExtRETH | ExtImmDt | ExtPayload},
	}
	for _, r := range both {
		set(ServiceRC|r.op, "RC "+r.name, r.ext)
		set(ServiceUC|r.op, "UC "+r.name, r.ext)
	}
	set(RCReadRequest, "RC RDMA READ Request", ExtRETH)
	set(RCReadRespFirst, "RC RDMA READ response First", ExtAETH|ExtPayload)
	set(RCReadRespMiddle, "RC RDMA READ response Middle", ExtPayload)
	set(RCReadRespLast, "RC RDMA READ response Last", ExtAETH|ExtPayload)
	set(RCReadRespOnly, "RC RDMA READ response Only", ExtAETH|ExtPayload)
	set(RCAcknowledge, "RC Acknowledge", ExtAETH)
	set(RCAtomicAcknowledge, "RC ATOMIC Acknowledge", ExtAETH|ExtAtomicAckETH)
	set(RCCompareSwap, "RC CmpSwap", ExtAtomicETH)
	set(RCFetchAdd, "RC FetchAdd", ExtAtomicETH)
	set(RCSendLastInv, "RC SEND Last with Invalidate", ExtIETH|ExtPayload)
	set(RCSendOnlyInv, "RC SEND Only with Invalidate", ExtIETH|ExtPayload)
	set(UDSendOnly, "UD SEND Only", ExtDETH|ExtPayload)
	set(UDSendOnlyImm, "UD SEND Only with Immediate", ExtDETH|ExtImmDt|ExtPayload)
	set(CNP, "CNP", ExtCNP)
	set(CN, "CN", 0)
	return t
}

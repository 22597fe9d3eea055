package wire

// IBLayers is what one look at a native InfiniBand packet finds: the offsets
// and the few fields that forwarding and queueing need. It is the counterpart
// of Layers, computed once where the packet enters.
type IBLayers struct {
	DLID, SLID LID
	VL, SL     uint8
	LNH        LNH
	Opcode     Opcode // valid if Transport
	BTH        uint8  // offset of the BTH; 0: raw packet, or cut off
	Payload    uint8  // offset behind all headers, valid if Transport
	PktLen     int    // words of 4 bytes, from the LRH
	Raw        bool   // LNH 0 or 1: not an IBA transport packet, which has no ICRC
	Global     bool   // there is a well-formed GRH
	Transport  bool   // BTH and the extension headers of a known opcode are there
	SMP        bool   // UD to QP0: subnet management, for VL15
}

// Parse looks at the headers in b, which begins with a LRH. It reports false
// only if there is no whole LRH or its version is not 0; what else is wrong
// leaves Transport false.
func (l *IBLayers) Parse(b []byte) bool {
	*l = IBLayers{}
	h := LRH(b)
	if !h.Valid() || h.LVer() != 0 {
		return false
	}
	l.DLID, l.SLID, l.VL, l.SL, l.LNH, l.PktLen = h.DLID(), h.SLID(), h.VL(), h.SL(), h.LNH(), h.PktLen()
	off := LRHLen
	switch l.LNH {
	case LNHRaw, LNHIPv6:
		l.Raw = true
		return true
	case LNHGRH:
		g := GRH(b[off:])
		if !g.Valid() {
			return true
		}
		l.Global = true
		if g.NxtHdr() != NextHeaderIBA {
			return true
		}
		off += GRHLen
	}
	t := BTH(b[off:])
	if !t.Valid() {
		return true
	}
	l.BTH, l.Opcode = uint8(off), t.Opcode()
	n := l.Opcode.HeaderLen()
	if n == 0 || len(t) < n {
		return true
	}
	l.Transport, l.Payload = true, uint8(off+n)
	l.SMP = l.Opcode.Service() == ServiceUD && t.DestQP() == QP0
	return true
}

// WireLen is the length in bytes that the LRH gives, VCRC included.
func (l *IBLayers) WireLen() int { return 4*l.PktLen + VCRCLen }

// Message is what the packet carries of a message: the bytes between headers
// and pad. b is the packet that was parsed, with ICRC and VCRC or cut off
// behind the pad; nil if it has no transport or is shorter than it says.
func (l *IBLayers) Message(b []byte) []byte {
	if !l.Transport {
		return nil
	}
	end := 4*l.PktLen - ICRCLen - BTH(b[l.BTH:]).Pad()
	if end < int(l.Payload) || end > len(b) {
		return nil
	}
	return b[l.Payload:end]
}

package verbs

import (
	"fmt"

	"cnuas/hca"
	"cnuas/internal/wire"
)

// Path is how two queue pairs reach each other and what they agree on. The
// zero value of a field takes the default stated.
type Path struct {
	GIDIndex     [2]uint8 // of either side; default 1, the IPv4-mapped one
	MAC          [2][6]byte
	TrafficClass uint8
	FlowLabel    uint32
	MTU          uint8      // code; default the smaller active MTU
	PSN          [2]uint32  // first PSN that either side sends
	Timeout      uint8      // default 14: 67 ms
	RetryCnt     uint8      // default 7
	RNRRetry     uint8      // default 7: for ever
	MinRNRTimer  uint8      // default 12: 0.64 ms
	RdAtomic     uint8      // default 16
	Access       hca.Access // default all remote access
	SL           uint8      // InfiniBand, as the next three
	PathBits     [2]uint8   // which of its LIDs either side uses
	PKeyIndex    [2]uint16  // of either side
	Global       bool       // with a GRH; GIDIndex is meant then, by default 0
	NoRetry      bool       // RetryCnt and RNRRetry are meant as they are
}

// Connect takes both queue pairs, of RC or UC, from Reset to RTS. On InfiniBand
// they reach each other by LID, and without a GRH unless it is asked for.
func Connect(a, b *QP, p Path) error {
	da, db := a.Context().Device(), b.Context().Device()
	if p.GIDIndex == ([2]uint8{}) && da.IB() == nil {
		p.GIDIndex = [2]uint8{1, 1}
	}
	if p.MTU == 0 {
		p.MTU = min(da.ActiveMTU(), db.ActiveMTU())
	}
	if p.MAC == ([2][6]byte{}) {
		p.MAC = [2][6]byte{da.Config().MAC, db.Config().MAC}
	}
	def := func(v *uint8, d uint8) {
		if *v == 0 {
			*v = d
		}
	}
	def(&p.Timeout, 14)
	def(&p.MinRNRTimer, 12)
	def(&p.RdAtomic, 16)
	if !p.NoRetry {
		def(&p.RetryCnt, 7)
		def(&p.RNRRetry, 7)
	}
	if p.Access == 0 {
		p.Access = hca.AccessLocalWrite | hca.AccessRemoteWrite | hca.AccessRemoteRead | hca.AccessRemoteAtomic
	}
	ends := [2]*QP{a, b}
	for i, q := range ends {
		o := ends[1-i]
		gids := o.Context().Device().GIDs()
		at := hca.QPAttr{
			Port: 1, PKeyIndex: p.PKeyIndex[i], Access: p.Access, PathMTU: p.MTU, DestQPN: o.Num(), RQPSN: p.PSN[1-i], SQPSN: p.PSN[i],
			Timeout: p.Timeout, RetryCnt: p.RetryCnt, RNRRetry: p.RNRRetry, MinRNRTimer: p.MinRNRTimer,
			MaxRdAtomic: p.RdAtomic, MaxDestRdAtomic: p.RdAtomic,
			AV: hca.AddressVector{SGIDIndex: p.GIDIndex[i], DGID: gids[p.GIDIndex[1-i]].GID, TrafficClass: p.TrafficClass,
				FlowLabel: p.FlowLabel, DMAC: p.MAC[1-i]},
		}
		if port := o.Context().Device().IB(); port != nil { // by LID
			at.AV.DLID, at.AV.SL, at.AV.Global = port.LID()|wire.LID(p.PathBits[1-i]), p.SL, p.Global
			at.AV.PathBits = p.PathBits[i]
		}
		for _, s := range steps {
			at.State = s.to
			mask := s.mask
			if q.Type() == hca.UC {
				mask &^= reliable
			}
			if err := q.Modify(&at, mask); err != nil {
				return fmt.Errorf("queue pair %#x to %v: %w", q.Num(), s.to, err)
			}
		}
	}
	return nil
}

// reliable are attributes that UC does not have.
const reliable = hca.AttrMaxDestRdAtomic | hca.AttrMinRNRTimer | hca.AttrTimeout | hca.AttrRetryCnt | hca.AttrRNRRetry | hca.AttrMaxRdAtomic

var steps = []struct {
	to   hca.QPState
	mask hca.AttrMask
}{
	{hca.Init, hca.AttrState | hca.AttrPKeyIndex | hca.AttrPort | hca.AttrAccessFlags},
	{hca.RTR, hca.AttrState | hca.AttrAV | hca.AttrPathMTU | hca.AttrDestQPN | hca.AttrRQPSN | hca.AttrMaxDestRdAtomic | hca.AttrMinRNRTimer},
	{hca.RTS, hca.AttrState | hca.AttrTimeout | hca.AttrRetryCnt | hca.AttrRNRRetry | hca.AttrSQPSN | hca.AttrMaxRdAtomic},
}

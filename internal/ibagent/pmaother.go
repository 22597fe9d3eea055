package ibagent

import (
	"encoding/binary"

	"cnuas/internal/ibport"
	"cnuas/internal/wire/mad"
)

// The optional counters (IBTA vol. 1 §16.1.4, annex A10.5). A Set clears the
// selected ones, whatever it writes: that is what tools do with it.

func handlers(id mad.AttrID) *handler {
	switch id {
	case mad.AttrPortCounters:
		return portCounters
	case mad.AttrPortCountersExtended:
		return portCountersExt
	case mad.AttrPortRcvErrorDetails:
		return rcvErrorDetails
	case mad.AttrPortXmitDiscardDetails:
		return xmitDiscardDetails
	case mad.AttrPortFlowCtlCounters:
		return flowCtlCounters
	case mad.AttrPortVLOpPackets:
		return vlOpPackets
	case mad.AttrPortVLOpData:
		return vlOpData
	case mad.AttrPortVLXmitFlowCtlUpdateErrors:
		return vlFlowErrors
	case mad.AttrPortVLXmitWaitCounters:
		return vlXmitWait
	case mad.AttrPortXmitDataSL:
		return xmitDataSL
	case mad.AttrPortRcvDataSL:
		return rcvDataSL
	case mad.AttrSwPortVLCongestion:
		return vlCongestion
	case mad.AttrPortRcvConCtrl:
		return rcvConCtrl
	case mad.AttrPortSLRcvFECN:
		return slFECN
	case mad.AttrPortSLRcvBECN:
		return slBECN
	}
	return nil
}

// sel is the CounterSelect that all these attributes have at the same place.
func sel(d []byte) uint16 { return binary.BigEndian.Uint16(d[2:]) }

// clearing makes the set function that clears counters by the bits of
// CounterSelect.
func clearing(of func(v *ibport.Counters, i int) *uint64) func(*ibport.Counters, []byte) {
	return func(v *ibport.Counters, d []byte) {
		for i := range 16 {
			if sel(d)&(1<<i) != 0 {
				if p := of(v, i); p != nil {
					*p = 0
				}
			}
		}
	}
}

// array makes a handler for 16 counters of so many bits behind the selectors.
func array(of func(v *ibport.Counters) *[16]uint64, bits int) *handler {
	return &handler{
		view: viewOther,
		get: func(v *ibport.Counters, d []byte) {
			clear(d[4 : 4+2*bits])
			for i, x := range of(v) {
				switch bits {
				case 32:
					binary.BigEndian.PutUint32(d[4+4*i:], sat[uint32](x))
				case 16:
					binary.BigEndian.PutUint16(d[4+2*i:], sat[uint16](x))
				case 2:
					d[4+i/4] |= sat2(x) << (6 - 2*(i%4))
				}
			}
		},
		set: clearing(func(v *ibport.Counters, i int) *uint64 { return &of(v)[i] }),
	}
}

// list makes a handler for some counters of so many bits behind the selectors.
func list(of func(v *ibport.Counters) []*uint64, bits int) *handler {
	return &handler{
		view: viewOther,
		get: func(v *ibport.Counters, d []byte) {
			for i, x := range of(v) {
				if bits == 32 {
					binary.BigEndian.PutUint32(d[4+4*i:], sat[uint32](*x))
				} else {
					binary.BigEndian.PutUint16(d[4+2*i:], sat[uint16](*x))
				}
			}
		},
		set: clearing(func(v *ibport.Counters, i int) *uint64 {
			if l := of(v); i < len(l) {
				return l[i]
			}
			return nil
		}),
	}
}

var (
	rcvErrorDetails = list(func(v *ibport.Counters) []*uint64 {
		return []*uint64{&v.LocalPhysical, &v.Malformed, &v.BufferOverrun, &v.DLIDMapping, &v.VLMapping, &v.Looping}
	}, 16)
	xmitDiscardDetails = list(func(v *ibport.Counters) []*uint64 {
		return []*uint64{&v.Inactive, &v.NeighborMTU, &v.Lifetime, &v.HOQ}
	}, 16)
	flowCtlCounters = list(func(v *ibport.Counters) []*uint64 { return []*uint64{&v.FlowXmit, &v.FlowRcv} }, 32)
	rcvConCtrl      = list(func(v *ibport.Counters) []*uint64 { return []*uint64{&v.FECN, &v.BECN} }, 32)

	vlOpPackets  = array(func(v *ibport.Counters) *[16]uint64 { return &v.LanePkts }, 16)
	vlOpData     = array(func(v *ibport.Counters) *[16]uint64 { return &v.LaneData }, 32)
	vlFlowErrors = array(func(v *ibport.Counters) *[16]uint64 { return &v.LaneFlowErrors }, 2)
	vlXmitWait   = array(func(v *ibport.Counters) *[16]uint64 { return &v.LaneWait }, 16)
	vlCongestion = array(func(v *ibport.Counters) *[16]uint64 { return &v.LaneMarked }, 16)
	xmitDataSL   = array(func(v *ibport.Counters) *[16]uint64 { return &v.SLXmit }, 32)
	rcvDataSL    = array(func(v *ibport.Counters) *[16]uint64 { return &v.SLRcv }, 32)
	slFECN       = array(func(v *ibport.Counters) *[16]uint64 { return &v.SLFECN }, 32)
	slBECN       = array(func(v *ibport.Counters) *[16]uint64 { return &v.SLBECN }, 32)
)

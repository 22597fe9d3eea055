package ib

import (
	"cnuas/internal/frame"
	"cnuas/internal/ibport"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Congestion marking (IBTA vol. 1 annex A10.2.1): a lane of an output is
// congested when more waits for it than a threshold. It is the root of the
// congestion if it has credits, and a victim if it waits for them; packets of a
// root are marked, those of a victim only if VictimMask names the port. Of the
// packets that are large enough one in Marking_Rate + 1 gets FECN.
//
// Thresholds 1 to 15 are from 15/16 to 1/16 of one port's receive buffer of a
// lane: the annex leaves to the device what they mean, but that they fall
// evenly.
type congestion struct {
	on      bool
	key     mad.CongestionKeyInfo
	setting mad.SwitchCongestionSetting
	port    []portMarking
}

type portMarking struct {
	set    mad.SwitchPortCongestion
	bytes  int64 // threshold; 0: does not mark
	size   int32 // packets below are not marked
	rate   uint16
	victim bool
}

// Bits of SwitchCongestionSetting.ControlMap (annex A10.4.3.6): which
// components a Set writes.
const (
	ccVictimMask = 1 << iota
	ccCreditMask
	ccThreshold // and packet size
	ccCredit    // CS_Threshold and CS_ReturnDelay
	ccMarkingRate
)

func (c *congestion) init(s *Switch) { c.port = make([]portMarking, len(s.ports)) }

// changed computes what marking needs from the settings.
func (s *Switch) changed() {
	c := &s.cc
	c.on = false
	for i := range c.port {
		m := &c.port[i]
		th, size, rate := c.setting.Threshold, c.setting.PacketSize, c.setting.MarkingRate
		if m.set.Valid {
			th, size, rate = m.set.Threshold, m.set.PacketSize, m.set.CongParm
		}
		if m.set.Valid && m.set.ControlType { // by credit starvation: not done
			th = 0
		}
		_, room := s.ports[i].Held(0)
		m.bytes = 0
		if th > 0 {
			m.bytes = int64(room) * wire.FlowBlock * int64(16-th) / 16
		}
		m.size, m.rate = int32(size)*wire.FlowBlock, rate
		m.victim = c.setting.VictimMask[31-i/8]&(1<<(i%8)) != 0
		c.on = c.on || m.bytes > 0
	}
}

// mark sets FECN in the head of a queue if it should have it.
func (s *Switch) mark(p *ibport.Port, vl uint8, q *queue) {
	m := &s.cc.port[p.Num()]
	if m.bytes == 0 || q.bytes <= m.bytes || vl == wire.VL15 || p.Waited(vl) && !m.victim {
		return
	}
	f := q.head()
	i := &f.Meta.IB
	if i.BTH == 0 || f.Len < m.size || i.Flags&frame.IBMarked != 0 {
		return
	}
	if q.mark < m.rate {
		q.mark++
		return
	}
	q.mark = 0
	t := wire.BTH(f.Data[i.BTH:])
	if t.Opcode() == wire.CN || t.FECN() {
		return
	}
	t.SetFECN(true)
	i.Flags |= frame.IBMarked
	s.count.Marked++
	p.CountMarked(vl)
}

// HandleCC implements ibagent.Congestion (annex A10.4.3).
func (s *Switch) HandleCC(m mad.Packet) mad.Status {
	set, d := m.Method() == mad.MethodSet, m.Data()
	key := &s.cc.key
	if key.CCKey != 0 && mad.CC(m).Key() != key.CCKey && (set || key.CCKeyProtectBit) {
		if key.CCKeyViolations < 0xffff {
			key.CCKeyViolations++
		}
		return mad.StatusInvalidField
	}
	switch m.Attr() {
	case mad.AttrClassPortInfo:
		if set {
			return mad.StatusBadMethodAttr
		}
		mad.Encode(&mad.ClassPortInfo{BaseVersion: mad.BaseVersion, ClassVersion: 2, RespTimeValue: 8}, d)
	case mad.AttrCongestionInfo:
		if set {
			return mad.StatusBadMethodAttr
		}
		mad.Encode(&mad.CongestionInfo{}, d)
	case mad.AttrCongestionKeyInfo:
		if set {
			v := key.CCKeyViolations
			mad.Decode(key, d)
			if key.CCKeyViolations != 0 {
				key.CCKeyViolations = v
			}
		}
		mad.Encode(key, d)
	case mad.AttrCongestionLog:
		if set {
			return mad.StatusBadMethodAttr
		}
		mad.Encode(&mad.CongestionLogSwitch{LogType: 1, CurrentTimeStamp: s.stamp()}, d)
	case mad.AttrSwitchCongestionSetting:
		if set {
			s.setCongestion(d)
		}
		mad.Encode(&s.cc.setting, d)
	case mad.AttrSwitchPortCongestionSetting:
		return s.portCongestion(set, int(m.Modifier()), d)
	case mad.AttrTimestamp:
		if set {
			return mad.StatusBadMethodAttr
		}
		mad.Encode(&mad.CongestionTimestamp{Timestamp: s.stamp()}, d)
	default:
		return mad.StatusBadMethodAttr
	}
	return mad.StatusOK
}

// stamp is the time in units of 1.024 us.
func (s *Switch) stamp() uint32 { return uint32(s.eng.Now() / 1_024_000) }

func (s *Switch) setCongestion(d []byte) {
	var a mad.SwitchCongestionSetting
	mad.Decode(&a, d)
	c := &s.cc.setting
	c.ControlMap = a.ControlMap
	if a.ControlMap&ccVictimMask != 0 {
		c.VictimMask = a.VictimMask
	}
	if a.ControlMap&ccCreditMask != 0 {
		c.CreditMask = a.CreditMask
	}
	if a.ControlMap&ccThreshold != 0 {
		c.Threshold, c.PacketSize = a.Threshold, a.PacketSize
	}
	if a.ControlMap&ccCredit != 0 {
		c.CSThreshold, c.CSReturnDelay = a.CSThreshold, a.CSReturnDelay
	}
	if a.ControlMap&ccMarkingRate != 0 {
		c.MarkingRate = a.MarkingRate
	}
	s.changed()
}

// portCongestion reads or writes the settings of 32 ports, of which the
// modifier numbers the block.
func (s *Switch) portCongestion(set bool, block int, d []byte) mad.Status {
	from := block * 32
	if block < 0 || from >= len(s.ports) {
		return mad.StatusInvalidField
	}
	var a mad.SwitchPortCongestionSetting
	ports := s.cc.port[from:min(from+32, len(s.cc.port))]
	if set {
		mad.Decode(&a, d)
		for i := range ports {
			ports[i].set = a.Port[i]
		}
		s.changed()
	}
	a = mad.SwitchPortCongestionSetting{}
	for i := range ports {
		a.Port[i] = ports[i].set
	}
	mad.Encode(&a, d)
	return mad.StatusOK
}

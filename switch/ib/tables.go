package ib

import (
	"cnuas/internal/wire/mad"
)

// SwitchInfo implements ibagent.Switch.
func (s *Switch) SwitchInfo() mad.SwitchInfo { return s.info }

// SetSwitchInfo implements ibagent.Switch. Capabilities are read-only, and a 1
// in PortStateChange clears it (IBTA vol. 1 §14.2.5.4).
func (s *Switch) SetSwitchInfo(a *mad.SwitchInfo) mad.Status {
	i := &s.info
	if a.LinearFDBTop >= i.LinearFDBCap {
		return mad.StatusInvalidField
	}
	i.LinearFDBTop = a.LinearFDBTop
	i.DefaultPort = a.DefaultPort
	i.DefaultMulticastPrimaryPort = a.DefaultMulticastPrimaryPort
	i.DefaultMulticastNotPrimaryPort = a.DefaultMulticastNotPrimaryPort
	i.LifeTimeValue = a.LifeTimeValue
	i.MulticastFDBTop = a.MulticastFDBTop
	if a.PortStateChange {
		i.PortStateChange = false
	}
	s.lifetime()
	return mad.StatusOK
}

func (s *Switch) lifetime() {
	for _, p := range s.ports {
		p.SetLifetime(s.info.LifeTimeValue)
	}
}

// LFTBlock implements ibagent.Switch: 64 LIDs.
func (s *Switch) LFTBlock(block int, a *mad.LinearForwarding) bool {
	if block < 0 || block*64 >= s.cfg.LFTCap {
		return false
	}
	for i := range a.Port {
		a.Port[i] = noPort
	}
	if from := block * 64; from < len(s.lft) {
		copy(a.Port[:], s.lft[from:])
	}
	return true
}

// SetLFTBlock implements ibagent.Switch. The table grows as far as it is used.
func (s *Switch) SetLFTBlock(block int, a *mad.LinearForwarding) bool {
	if block < 0 || block*64 >= s.cfg.LFTCap {
		return false
	}
	for len(s.lft) < (block+1)*64 {
		s.lft = append(s.lft, noPort)
	}
	copy(s.lft[block*64:], a.Port[:])
	return true
}

// MFTBlock implements ibagent.Switch: 32 multicast LIDs, 16 ports.
func (s *Switch) MFTBlock(block, position int, a *mad.MulticastForwarding) bool {
	if !s.mftBlock(block, position) {
		return false
	}
	*a = mad.MulticastForwarding{}
	for i := range a.PortMask {
		if l := block*32 + i; l < len(s.mft) {
			a.PortMask[i] = uint16(s.mft[l][position>>2] >> (16 * (position & 3)))
		}
	}
	return true
}

// SetMFTBlock implements ibagent.Switch.
func (s *Switch) SetMFTBlock(block, position int, a *mad.MulticastForwarding) bool {
	if !s.mftBlock(block, position) {
		return false
	}
	for len(s.mft) < (block+1)*32 {
		s.mft = append(s.mft, [4]uint64{})
	}
	shift := 16 * (position & 3)
	for i, v := range a.PortMask {
		for b := range 16 { // ports that do not exist stay out
			if 16*position+b >= len(s.ports) {
				v &^= 1 << b
			}
		}
		w := &s.mft[block*32+i][position>>2]
		*w = *w&^(0xffff<<shift) | uint64(v)<<shift
	}
	return true
}

func (s *Switch) mftBlock(block, position int) bool {
	return block >= 0 && block*32 < s.cfg.MCastCap && position >= 0 && position*16 < len(s.ports)
}

package sm

import (
	"slices"
	"sort"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// programMFT sends the blocks of a switch's multicast table that are not as
// wanted.
func (m *Manager) programMFT(n *Node, want map[mftKey]*mad.MulticastForwarding) {
	sw := n.Switch
	keys := make([]mftKey, 0, len(want)+len(sw.mft))
	known := make(map[uint16]bool, len(sw.mft))
	for k := range sw.mft {
		known[k.block] = true
	}
	for k := range want {
		keys = append(keys, k)
		// What a block has that was never written is not known: another manager may
		// have left ports in it that the tree does not go by.
		for pos := range n.Info.NumPorts/16 + 1 {
			if o := (mftKey{k.block, pos}); !known[k.block] && want[o] == nil {
				keys = append(keys, o)
			}
		}
	}
	for k := range sw.mft {
		if want[k] == nil {
			keys = append(keys, k)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		return keys[i].block < keys[j].block || keys[i].block == keys[j].block && keys[i].pos < keys[j].pos
	})
	keys = slices.Compact(keys)
	for _, k := range keys {
		var t mad.MulticastForwarding
		if x := want[k]; x != nil {
			t = *x
		}
		if have, ok := sw.mft[k]; ok && have == t || int(k.block)*32 >= int(sw.Info.MulticastFDBCap) {
			continue
		}
		if sw.mft == nil {
			sw.mft = map[mftKey]mad.MulticastForwarding{}
		}
		sw.mft[k] = t // what is sent later for this block is sent behind it
		q := m.set(n, nil, mad.AttrMulticastForwarding, uint32(k.pos)<<28|uint32(k.block), &t, (*Manager).didMFT)
		if m.sweep.phase == phaseNone || m.sweep.phase == phaseLight {
			m.sweep.pending--
			q.gen = 0
		}
	}
}

func (m *Manager) didMFT(q *request, r *reply) {
	if r.good() {
		return
	}
	delete(q.node.Switch.mft, mftKey{uint16(q.mod & 0x1ff), uint8(q.mod >> 28)})
	m.mDirty = true
	m.fail("route %s: multicast table cannot be set (%v)", drPath(q.path), why(r))
	if q.gen == 0 && m.sweep.phase == phaseNone {
		m.sweep.again = true
		m.sweepTimer.Reset(m.cfg.Proc.Now() + m.cfg.RetryTime)
	}
}

// MFT is the mask of 16 ports, from 16 × pos, to which a switch forwards an
// MLID.
func (sw *Switch) MFT(mlid wire.LID, pos uint8) uint16 {
	i := mlid - wire.LIDMulticastMin
	t := sw.mft[mftKey{uint16(i / 32), pos}]
	return t.PortMask[i%32]
}

// MFTBlocks calls f for the blocks that are programmed, in order.
func (sw *Switch) MFTBlocks(f func(block uint16, pos uint8, t *mad.MulticastForwarding)) {
	keys := make([]mftKey, 0, len(sw.mft))
	for k := range sw.mft {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		return keys[i].block < keys[j].block || keys[i].block == keys[j].block && keys[i].pos < keys[j].pos
	})
	for _, k := range keys {
		t := sw.mft[k]
		f(k.block, k.pos, &t)
	}
}

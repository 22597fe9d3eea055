package route

import "fmt"

// NoRoute is the entry of a forwarding table that drops (IBTA Vol 1 §14.2.5.8).
const NoRoute = 0xff

// BlockSize is the number of LIDs in a block of a linear forwarding table.
const BlockSize = 64

// Tables is what an engine makes.
type Tables struct {
	Engine Engine
	TopLID uint16 // the highest LID that is a destination: SwitchInfo.LinearFDBTop
	// LFT has a table for each switch: the output port by LID, NoRoute where
	// there is none, 0 for the switch itself. Its length is a multiple of
	// BlockSize above TopLID.
	LFT [][]uint8
	// VLs is the number of virtual lanes that the service levels need to be
	// mapped to one by one, 1 if the engine needs no lanes.
	VLs int
	// Unreached counts pairs of a switch with ends and a LID of an end that no
	// path joins, though links do.
	Unreached int
	Warnings  []string

	sl [][]uint8 // by source switch and LID; nil: all 0
}

// newTables has tables for every switch without a route.
func newTables(e Engine, s *Subnet, top uint16) *Tables {
	n := (int(top)/BlockSize + 1) * BlockSize
	all := make([]uint8, n*len(s.Switches))
	for i := range all {
		all[i] = NoRoute
	}
	t := &Tables{Engine: e, TopLID: top, VLs: 1, LFT: make([][]uint8, len(s.Switches))}
	for i := range t.LFT {
		t.LFT[i] = all[i*n : (i+1)*n : (i+1)*n]
	}
	return t
}

// SL is the service level of the paths to dlid from ends at a switch, and from
// the switch itself. Packets that come back have their own, the one from the
// switch of the destination.
func (t *Tables) SL(sw int, dlid uint16) uint8 {
	if t.sl == nil || int(dlid) >= len(t.sl[sw]) {
		return 0
	}
	return t.sl[sw][dlid]
}

// SL2VL is the mapping of service levels to lanes for links with the given
// number of data lanes: SL n has lane n, and the levels that the engine does
// not use are spread over the lanes. All ports of the subnet have the same. It
// is an error if the links have fewer lanes than t.VLs.
func (t *Tables) SL2VL(lanes int) (m [16]uint8, err error) {
	if lanes < max(t.VLs, 1) {
		return m, fmt.Errorf("%s needs %d virtual lanes, the links have %d", t.Engine, t.VLs, lanes)
	}
	for sl := range m {
		m[sl] = uint8(sl % min(lanes, 15))
	}
	return m, nil
}

func (t *Tables) warnf(format string, args ...any) {
	t.Warnings = append(t.Warnings, fmt.Sprintf(format, args...))
}

// setSL gives the paths from a switch to a LID a service level.
func (t *Tables) setSL(sw int, lid uint16, sl uint8) {
	if t.sl == nil {
		n := len(t.LFT[sw])
		all := make([]uint8, n*len(t.LFT))
		t.sl = make([][]uint8, len(t.LFT))
		for i := range t.sl {
			t.sl[i] = all[i*n : (i+1)*n : (i+1)*n]
		}
	}
	t.sl[sw][lid] = sl
}

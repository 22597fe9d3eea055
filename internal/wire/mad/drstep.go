package mad

import "cnuas/internal/wire"

// DRAction is what a node does with a directed-route SMP.
type DRAction uint8

// Actions of SMP.Step.
const (
	DRDiscard  DRAction = iota // silently
	DRForward                  // leave by a port
	DRLocal                    // request: to the node's own agent
	DRSource                   // response: to the manager on this node
	DRRouteLID                 // leave LID-routed: request to DrDLID, response to DrSLID
)

// String names the action.
func (a DRAction) String() string {
	return name(uint8(a), "discard", "forward", "local", "source", "route by LID")
}

// Step takes a directed-route SMP over one node and changes hop pointer and
// return path as the rules want: those of a switch for one that came in by a
// port, those of the source for one that the node's own manager or agent sends
// (IBTA vol. 1 §14.2.2.1 to §14.2.2.4). in is the port that it came in by, 0
// for one of the node's own. For DRForward out is the port; whether there is
// such a port, whether it is up, and whether the node is one that forwards
// (only a switch does what did not come from itself) the caller decides: if
// not, it discards, as it does what LID routing cannot reach.
func (s SMP) Step(in uint8) (a DRAction, out uint8) {
	if s.HopCount() > MaxHops {
		return DRDiscard, 0
	}
	if s.Returning() {
		return s.stepBack()
	}
	p, n := s.HopPointer(), s.HopCount()
	switch {
	case n != 0 && p == 0: // at the source
		s.SetHopPointer(1)
		return DRForward, s.InitialPath()[1]
	case p < n:
		s.ReturnPath()[p] = in
		s.SetHopPointer(p + 1)
		return DRForward, s.InitialPath()[p+1]
	case p == n:
		if n != 0 {
			s.ReturnPath()[p] = in
		}
		s.SetHopPointer(p + 1)
		if s.DrDLID() == wire.LIDPermissive {
			return DRLocal, 0
		}
		return DRRouteLID, 0
	case p == n+1: // behind the directed part
		return DRLocal, 0
	}
	return DRDiscard, 0
}

func (s SMP) stepBack() (a DRAction, out uint8) {
	p, n := s.HopPointer(), s.HopCount()
	switch {
	case p > n+1:
		return DRDiscard, 0
	case p > 1:
		s.SetHopPointer(p - 1)
		return DRForward, s.ReturnPath()[p-1]
	case p == 1:
		s.SetHopPointer(0)
		if s.DrSLID() == wire.LIDPermissive {
			return DRSource, 0
		}
		return DRRouteLID, 0
	}
	return DRSource, 0 // LID-routed behind the directed part
}

package tunnel

// Drop says why a datagram was dropped. Those from DropLate on belong to an end,
// the others only to the hub.
type Drop uint8

// Reasons.
const (
	DropShort     Drop = iota // no whole header
	DropMagic                 // not a tunnel's
	DropVersion               // another version of the protocol
	DropType                  // an unknown type, or no session
	DropCheck                 // spoilt on the way
	DropUnknown               // To names no end of the hub
	DropWrongPeer             // not from the peer of the end
	DropStale                 // of a session that is over, or has not begun with a State
	DropLate                  // out of order, or a second time: it counted as lost before
	DropState                 // a malformed State
	DropPacket                // a packet with a wrong VCRC, length or lane: a symbol error
	NumDrops
)

var dropNames = [NumDrops]string{"too short", "not a tunnel's", "another version", "unknown type", "wrong check", "unknown end",
	"wrong peer", "stale session", "late", "malformed state", "bad packet"}

// String names the reason.
func (d Drop) String() string { return dropNames[d] }

// Stats of an end, since it was made.
type Stats struct {
	Sent, Received uint64 // datagrams; received: those that were not dropped
	Lost           uint64 // gaps in the sequence: each a symbol error if the link was up
	Spoilt         uint64 // not sent because an injected loss hit them
	Unheard        uint64 // packets that could not be sent, for want of a peer
	Drops          [NumDrops]uint64
	Peers          uint64 // times that a peer came
}

// HubStats are the datagrams that no end got.
type HubStats struct {
	Received uint64 // all that came
	Drops    [NumDrops]uint64
}

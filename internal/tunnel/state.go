package tunnel

import (
	"encoding/binary"

	"cnuas/internal/ibport"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// StateLen is the length of a State in bytes.
const StateLen = 20

// Limits of State.Heartbeat in milliseconds.
const (
	MinHeartbeat = 10
	MaxHeartbeat = 60000
)

// State is what an end tells of its link.
//
//	 0               1               2               3
//	+---------------+---------------+---------------+---------------+
//	|     Phys      |    Widths     |    Speeds     |   SpeedsExt   |
//	+---------------+---------------+---------------+---------------+
//	|                             Heard                             |
//	+---------------+---------------+---------------+---------------+
//	|           Heartbeat           |           reserved            |
//	+---------------+---------------+---------------+---------------+
//	|                           PortGUID                            |
//	|                                                               |
//	+---------------+---------------+---------------+---------------+
type State struct {
	ibport.LinkState        // Phys 0: the cable is out, or the end is about to go
	Heard            uint32 // session of the receiver, as far as the sender has heard it; 0: not
	Heartbeat        uint16 // milliseconds after which the sender says this again at the latest
	GUID             wire.GUID
}

// Encode writes the state into b, which has at least StateLen bytes.
func (s *State) Encode(b []byte) {
	b[0], b[1], b[2], b[3] = byte(s.Phys), byte(s.Widths), byte(s.Speeds), byte(s.Exts)
	binary.BigEndian.PutUint32(b[4:], s.Heard)
	binary.BigEndian.PutUint16(b[8:], s.Heartbeat)
	binary.BigEndian.PutUint16(b[10:], 0)
	binary.BigEndian.PutUint64(b[12:], uint64(s.GUID))
}

// Decode reads a state. It reports false for one that is too short or names a
// physical state or heartbeat that does not exist. Bytes behind it are ignored,
// for later versions to add something.
func (s *State) Decode(b []byte) bool {
	if len(b) < StateLen || mad.PhysState(b[0]) > mad.PhysRecovery {
		return false
	}
	*s = State{
		LinkState: ibport.LinkState{Phys: mad.PhysState(b[0]), Widths: mad.LinkWidth(b[1]), Speeds: mad.LinkSpeed(b[2]), Exts: mad.LinkSpeedExt(b[3])},
		Heard:     binary.BigEndian.Uint32(b[4:]),
		Heartbeat: binary.BigEndian.Uint16(b[8:]),
		GUID:      wire.GUID(binary.BigEndian.Uint64(b[12:])),
	}
	return s.Heartbeat >= MinHeartbeat && s.Heartbeat <= MaxHeartbeat
}

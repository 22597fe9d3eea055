package dissect

import (
	"encoding/binary"

	"cnuas/internal/wire"
)

// CheckICRC verifies the invariant CRC of a RoCEv2 frame that was captured
// whole. roce is false if frame is not RoCEv2 or is cut off.
func CheckICRC(frame []byte) (ok, roce bool) {
	var l wire.Layers
	if !l.Parse(frame) || !l.RoCE {
		return false, false
	}
	// The lengths in the headers, not that of the frame: it may be padded.
	end := 0
	if l.EtherType == wire.EtherTypeIPv4 {
		end = int(l.L3) + wire.IPv4(frame[l.L3:]).TotalLen()
	} else {
		end = int(l.L3) + wire.IPv6Len + wire.IPv6(frame[l.L3:]).PayloadLen()
	}
	if end > len(frame) || end < int(l.L4)+wire.UDPLen+wire.BTHLen+wire.ICRCLen {
		return false, false
	}
	n := end - wire.ICRCLen
	return wire.ICRC(frame[:n], int(l.L3)) == binary.LittleEndian.Uint32(frame[n:]), true
}

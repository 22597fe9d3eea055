package switching

import "fmt"

// DropReason says why a switch dropped a frame. A dropped frame is not an
// error of the program: it has a reason and a counter.
type DropReason uint8

// The reasons. Names in String are stable: counters and captures show them.
const (
	DropMalformed        DropReason = iota // no complete header, bad length or header checksum
	DropReserved                           // address that bridges never forward (IEEE 802.1Q table 8-1)
	DropControl                            // MAC control that the switch does not know
	DropVLAN                               // the VLAN is not allowed on the port
	DropFiltered                           // the destination is behind the port that it came from
	DropNotForUs                           // arrived at a routed port with the address of another station
	DropNoRoute                            // no route, or no next hop of it is up
	DropNoNeighbour                        // the next hop's MAC address is not known yet
	DropTTL                                // time to live or hop limit exceeded
	DropMTU                                // larger than the MTU of the port it would leave by
	DropMulticast                          // IP multicast or broadcast, which is not routed
	DropBufferFull                         // no room in the shared buffer
	DropQueueLimit                         // above the queue's share of the buffer
	DropHeadroomExceeded                   // lossless, and above the headroom: PFC did not stop the sender in time
	DropLinkDown                           // queued for a port whose link went down, or sent to one
	DropRandomEarly                        // lossy, by chance, before its queue is full
	DropNoDestination                      // nowhere to go: no other port is up in the VLAN
	NumDropReasons
)

var dropNames = [NumDropReasons]string{
	"malformed", "reserved_address", "mac_control", "vlan", "filtered", "not_for_us",
	"no_route", "no_neighbour", "ttl_exceeded", "mtu_exceeded", "multicast_not_routed",
	"buffer_full", "queue_limit", "headroom_exceeded", "link_down", "random_early", "no_destination",
}

// String returns the reason as counters show it.
func (r DropReason) String() string {
	if r < NumDropReasons {
		return dropNames[r]
	}
	return fmt.Sprintf("drop_%d", uint8(r))
}

// Congestion tells whether the reason is a lack of buffer: what lossless
// priorities must never see.
func (r DropReason) Congestion() bool {
	return r == DropBufferFull || r == DropQueueLimit || r == DropHeadroomExceeded || r == DropRandomEarly
}

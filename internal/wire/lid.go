package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// LID is a local identifier, the address of a port within a subnet (IBTA
// vol. 1 §4.1.3).
type LID uint16

// Ranges of LIDs (IBTA vol. 1 §4.1.3).
const (
	LIDReserved      LID = 0
	LIDUnicastMin    LID = 1
	LIDUnicastMax    LID = 0xbfff
	LIDMulticastMin  LID = 0xc000
	LIDMulticastMax  LID = 0xfffe
	LIDPermissive    LID = 0xffff // whoever receives it; directed-route SMPs
	LIDMulticastBits     = 14
)

// Unicast tells whether the LID names a port.
func (l LID) Unicast() bool { return l >= LIDUnicastMin && l <= LIDUnicastMax }

// Multicast tells whether the LID names a multicast group.
func (l LID) Multicast() bool { return l >= LIDMulticastMin && l <= LIDMulticastMax }

// GUID is an EUI-64 (IBTA vol. 1 §4.1.1).
type GUID uint64

// String returns the GUID as the diagnostics print it.
func (g GUID) String() string { return fmt.Sprintf("0x%016x", uint64(g)) }

// GID is a global identifier, in form an IPv6 address (IBTA vol. 1 §4.1.1).
type GID [16]byte

// DefaultGIDPrefix is the subnet prefix of a subnet that has no other
// (IBTA vol. 1 §4.1.1): the link-local one.
const DefaultGIDPrefix uint64 = 0xfe80000000000000

// MakeGID returns the GID of a port.
func MakeGID(prefix uint64, guid GUID) (g GID) {
	binary.BigEndian.PutUint64(g[:], prefix)
	binary.BigEndian.PutUint64(g[8:], uint64(guid))
	return g
}

// Prefix is the upper half: the subnet.
func (g GID) Prefix() uint64 { return binary.BigEndian.Uint64(g[:]) }

// GUID is the lower half: the port.
func (g GID) GUID() GUID { return GUID(binary.BigEndian.Uint64(g[8:])) }

// Multicast tells whether the GID names a multicast group.
func (g GID) Multicast() bool { return g[0] == 0xff }

// String returns the GID as an IPv6 address.
func (g GID) String() string { return netip.AddrFrom16(g).String() }

// Well-known queue pairs (IBTA vol. 1 §3.9.4, §10.2.3), the Q_Key of the
// second, and the virtual lane of subnet management (§7.6.4).
const (
	QP0     = 0 // subnet management interface
	QP1     = 1 // general services interface
	QP1QKey = 0x80010000
	QPMulti = 0xffffff // destination of multicast packets (IBTA vol. 1 §9.4.1)
	VL15    = 15
)

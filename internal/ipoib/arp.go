package ipoib

import (
	"encoding/binary"
	"net/netip"

	"cnuas/internal/wire"
)

// arpLen is the length of an ARP message in bytes.
const arpLen = 8 + 2*(AddrLen+4)

// hardwareIB is the hardware type of InfiniBand in ARP (RFC 4391 §9.1).
const hardwareIB = 32

// arp is a view of an ARP message for IPv4 over InfiniBand (RFC 826, RFC 4391
// §9.1).
//
//	 0      2      4    5   6      8           28          32          52
//	+------+------+----+---+------+-----------+-----------+-----------+-----------+
//	|  32  |0x0800| 20 | 4 |  op  |  sender   | sender IP |  target   | target IP |
//	+------+------+----+---+------+-----------+-----------+-----------+-----------+
type arp []byte

func (m arp) valid() bool {
	return len(m) >= arpLen && binary.BigEndian.Uint16(m) == hardwareIB &&
		binary.BigEndian.Uint16(m[2:]) == wire.EtherTypeIPv4 && m[4] == AddrLen && m[5] == 4
}

func (m arp) op() uint16           { return binary.BigEndian.Uint16(m[6:]) }
func (m arp) sender() Addr         { return Addr(m[8:28]) }
func (m arp) senderIP() netip.Addr { return netip.AddrFrom4([4]byte(m[28:32])) }
func (m arp) targetIP() netip.Addr { return netip.AddrFrom4([4]byte(m[52:56])) }

// encode writes the whole message; m has arpLen bytes.
func (m arp) encode(op uint16, sender Addr, senderIP netip.Addr, target Addr, targetIP netip.Addr) {
	copy(m, []byte{0, hardwareIB, wire.EtherTypeIPv4 >> 8, wire.EtherTypeIPv4 & 0xff, AddrLen, 4})
	binary.BigEndian.PutUint16(m[6:], op)
	s, t := senderIP.As4(), targetIP.As4()
	copy(m[8:], sender[:])
	copy(m[28:], s[:])
	copy(m[32:], target[:])
	copy(m[52:], t[:])
}

package wire

import "encoding/binary"

// ARPLen is the length of an ARP message for IPv4 over Ethernet in bytes.
const ARPLen = 28

// Operations of ARP.
const (
	ARPRequest = 1
	ARPReply   = 2
)

// ARP is a view of an ARP message for IPv4 over Ethernet (RFC 826).
//
//	 0      2      4   5   6      8           14          18          24
//	+------+------+---+---+------+-----------+-----------+-----------+-----------+
//	|  1   |0x0800| 6 | 4 |  op  | sender MAC| sender IP | target MAC| target IP |
//	+------+------+---+---+------+-----------+-----------+-----------+-----------+
type ARP []byte

// Valid reports whether h holds a whole message for IPv4 over Ethernet.
func (h ARP) Valid() bool {
	return len(h) >= ARPLen && binary.BigEndian.Uint16(h) == 1 &&
		binary.BigEndian.Uint16(h[2:]) == EtherTypeIPv4 && h[4] == 6 && h[5] == 4
}

// Op is ARPRequest or ARPReply.
func (h ARP) Op() uint16 { return binary.BigEndian.Uint16(h[6:]) }

// SenderMAC is the hardware address of the sender.
func (h ARP) SenderMAC() [6]byte { return [6]byte(h[8:14]) }

// SenderIP is the protocol address of the sender.
func (h ARP) SenderIP() [4]byte { return [4]byte(h[14:18]) }

// TargetMAC is the hardware address of the target; not known in a request.
func (h ARP) TargetMAC() [6]byte { return [6]byte(h[18:24]) }

// TargetIP is the protocol address that is asked for.
func (h ARP) TargetIP() [4]byte { return [4]byte(h[24:28]) }

// ARPFields are the contents of a message.
type ARPFields struct {
	Op        uint16
	SenderMAC [6]byte
	SenderIP  [4]byte
	TargetMAC [6]byte
	TargetIP  [4]byte
}

// Encode writes the whole message; h has at least ARPLen bytes.
func (f *ARPFields) Encode(h ARP) {
	copy(h, []byte{0, 1, EtherTypeIPv4 >> 8, EtherTypeIPv4 & 0xff, 6, 4})
	binary.BigEndian.PutUint16(h[6:], f.Op)
	copy(h[8:], f.SenderMAC[:])
	copy(h[14:], f.SenderIP[:])
	copy(h[18:], f.TargetMAC[:])
	copy(h[24:], f.TargetIP[:])
}

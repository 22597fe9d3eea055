package mad

import (
	"encoding/binary"

	"cnuas/internal/wire"
)

// MaxHops is the most hops of a directed route (IBTA vol. 1 §14.2.1.2).
const MaxHops = 63

// SMP is a view of a subnet management packet, LID routed or directed route
// (IBTA vol. 1 §14.2.1). What is between M_Key and data, and behind the data,
// a LID-routed SMP leaves 0.
//
//	   +-------------+-------------+-------------+-------------+
//	 4 |D|         Status          | Hop Pointer |  Hop Count  |
//	   +---------------------------+-------------+-------------+
//	24 |                    M_Key (64 bits)                    |
//	   +---------------------------+---------------------------+
//	32 |          DrSLID           |          DrDLID           |
//	   +---------------------------+---------------------------+
//	36 |                  reserved (28 bytes)                  |
//	64 |                    data (64 bytes)                    |
//	128|                Initial Path (64 bytes)                |
//	192|                 Return Path (64 bytes)                |
//	   +-------------------------------------------------------+
type SMP []byte

// Valid reports whether s holds a whole SMP.
func (s SMP) Valid() bool { return len(s) >= PacketLen && Class(s[1]).Subn() }

// Packet is the view of the common header.
func (s SMP) Packet() Packet { return Packet(s) }

// Directed tells a directed-route from a LID-routed SMP.
func (s SMP) Directed() bool { return Class(s[1]) == ClassSubnDirected }

// Returning is the D bit: the SMP is on its way back.
func (s SMP) Returning() bool { return s[4]&0x80 != 0 }

// SetReturning sets the D bit.
func (s SMP) SetReturning(v bool) {
	s[4] &^= 0x80
	if v {
		s[4] |= 0x80
	}
}

// HopPointer says how far the SMP has come.
func (s SMP) HopPointer() uint8 { return s[6] }

// SetHopPointer sets the hop pointer.
func (s SMP) SetHopPointer(v uint8) { s[6] = v }

// HopCount is the number of hops of the directed route.
func (s SMP) HopCount() uint8 { return s[7] }

// SetHopCount sets the number of hops.
func (s SMP) SetHopCount(v uint8) { s[7] = v }

// MKey is the management key.
func (s SMP) MKey() uint64 { return binary.BigEndian.Uint64(s[24:]) }

// SetMKey sets the management key.
func (s SMP) SetMKey(v uint64) { binary.BigEndian.PutUint64(s[24:], v) }

// DrSLID is where the directed route begins; permissive: at the requester.
func (s SMP) DrSLID() wire.LID { return wire.LID(binary.BigEndian.Uint16(s[32:])) }

// SetDrSLID sets where the directed route begins.
func (s SMP) SetDrSLID(l wire.LID) { binary.BigEndian.PutUint16(s[32:], uint16(l)) }

// DrDLID is where to go at the end of the directed route; permissive: nowhere.
func (s SMP) DrDLID() wire.LID { return wire.LID(binary.BigEndian.Uint16(s[34:])) }

// SetDrDLID sets where to go at the end of the directed route.
func (s SMP) SetDrDLID(l wire.LID) { binary.BigEndian.PutUint16(s[34:], uint16(l)) }

// Data is the attribute: 64 bytes.
func (s SMP) Data() []byte { return s[64:128] }

// InitialPath are the ports to leave by, from index 1 on: 64 bytes.
func (s SMP) InitialPath() []byte { return s[128:192] }

// ReturnPath are the ports by which the SMP came, from index 1 on: 64 bytes.
func (s SMP) ReturnPath() []byte { return s[192:256] }

// Path is the part of the initial path that is in use: the port of each hop.
func (s SMP) Path() []byte { return s[129 : 129+min(int(s.HopCount()), MaxHops)] }

// SetPath makes s a directed-route SMP from the requester along ports, at most
// MaxHops, with nothing done yet: hop pointer 0, D 0, DrSLID and DrDLID
// permissive.
func (s SMP) SetPath(ports ...uint8) {
	s[1] = byte(ClassSubnDirected)
	s[4] &^= 0x80
	s.SetHopPointer(0)
	s.SetHopCount(uint8(len(ports)))
	s.SetDrSLID(wire.LIDPermissive)
	s.SetDrDLID(wire.LIDPermissive)
	clear(s[128:256])
	copy(s[129:192], ports)
}

// Respond makes the request s its response, in place: method, direction and
// status. The caller encodes the attribute. A directed-route SMP then is where
// SMP.Step takes a response first: at HopPointer = HopCount + 1.
func (s SMP) Respond(st Status) {
	p := s.Packet()
	p.SetMethod(p.Method().Response())
	p.SetStatus(st)
	if s.Directed() {
		s.SetReturning(true)
		s.SetHopPointer(s.HopCount() + 1)
	}
}

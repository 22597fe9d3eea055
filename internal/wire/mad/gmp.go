package mad

import "encoding/binary"

// SA is a view of a MAD of subnet administration (IBTA vol. 1 §15.2.1).
//
//	   +-------------------------------------------------------+
//	24 |                 RMPP header (12 bytes)                |
//	36 |                   SM_Key (64 bits)                    |
//	   +---------------------------+---------------------------+
//	44 |      AttributeOffset      |         reserved          |
//	   +---------------------------+---------------------------+
//	48 |                ComponentMask (64 bits)                |
//	56 |                   data (200 bytes)                    |
//	   +-------------------------------------------------------+
type SA []byte

// SADataLen is the length of the data in one MAD of subnet administration.
const SADataLen = 200

// Valid reports whether s holds a whole MAD of subnet administration.
func (s SA) Valid() bool { return len(s) >= PacketLen && Class(s[1]) == ClassSubnAdm }

// Packet is the view of the common header.
func (s SA) Packet() Packet { return Packet(s) }

// RMPP is the view of the RMPP header.
func (s SA) RMPP() RMPP { return RMPP(s) }

// SMKey says that who asks may be trusted.
func (s SA) SMKey() uint64 { return binary.BigEndian.Uint64(s[36:]) }

// SetSMKey sets the SM_Key.
func (s SA) SetSMKey(v uint64) { binary.BigEndian.PutUint64(s[36:], v) }

// AttributeOffset is the distance of records in a table, in units of 8 bytes.
func (s SA) AttributeOffset() uint16 { return binary.BigEndian.Uint16(s[44:]) }

// SetAttributeOffset sets the distance of records.
func (s SA) SetAttributeOffset(v uint16) { binary.BigEndian.PutUint16(s[44:], v) }

// ComponentMask says which components of the record are meant.
func (s SA) ComponentMask() uint64 { return binary.BigEndian.Uint64(s[48:]) }

// SetComponentMask sets which components are meant.
func (s SA) SetComponentMask(v uint64) { binary.BigEndian.PutUint64(s[48:], v) }

// Data is the record, or a part of a table: SADataLen bytes.
func (s SA) Data() []byte { return s[56:PacketLen] }

// RecordStride is the distance of records of n bytes in a table: up to the
// next multiple of 8 (IBTA vol. 1 §15.2.1.2).
func RecordStride(n int) int { return (n + 7) &^ 7 }

// CC is a view of a MAD of congestion control (IBTA vol. 1 annex A10.4.1).
type CC []byte

// Valid reports whether c holds a whole MAD of congestion control.
func (c CC) Valid() bool { return len(c) >= PacketLen && Class(c[1]) == ClassCongestion }

// Key is the CC_Key.
func (c CC) Key() uint64 { return binary.BigEndian.Uint64(c[24:]) }

// SetKey sets the CC_Key.
func (c CC) SetKey(v uint64) { binary.BigEndian.PutUint64(c[24:], v) }

// Vendor is a view of a MAD of a vendor's class from 0x30 on: RMPP header, OUI,
// data (IBTA vol. 1 §16.5.1).
type Vendor []byte

// Valid reports whether v holds a whole MAD of such a class.
func (v Vendor) Valid() bool { return len(v) >= PacketLen && Class(v[1]).HasOUI() }

// OUI is the vendor: 24 bits.
func (v Vendor) OUI() uint32 { return uint32(v[37])<<16 | uint32(v[38])<<8 | uint32(v[39]) }

// SetOUI sets the vendor.
func (v Vendor) SetOUI(o uint32) { v[37], v[38], v[39] = byte(o>>16), byte(o>>8), byte(o) }

// Data is what the vendor defines: 216 bytes.
func (v Vendor) Data() []byte { return v[40:PacketLen] }

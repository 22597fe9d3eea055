package rtu

// Conformity levels of 2Bh/0Eh (V1.1b3, 6.21): the highest category a device
// has objects of, with single access besides streams.
const (
	conformBasic    = 0x81
	conformRegular  = 0x82
	conformExtended = 0x83
)

// Last objects of the categories.
const (
	lastBasic   = 0x02
	lastRegular = 0x7F
)

// reportID serves 11h (6.13).
func (s *Slave) reportID(pdu, out []byte) ([]byte, Exception) {
	if len(pdu) != 1 {
		return nil, IllegalDataValue
	}
	id := s.id.ServerID()
	if len(id) > MaxPDU-2 {
		return nil, ServerDeviceFailure
	}
	return append(append(out, byte(len(id))), id...), OK
}

// deviceID serves 2Bh/0Eh (6.21). Other MEI types are no function of a slave.
func (s *Slave) deviceID(pdu, out []byte) ([]byte, Exception) {
	if len(pdu) < 2 || pdu[1] != MEIDeviceID {
		return nil, IllegalFunction
	}
	if len(pdu) != 4 {
		return nil, IllegalDataValue
	}
	code, object := pdu[2], pdu[3]
	level := s.conformity()
	var last uint8
	switch code {
	case 1:
		last = lastBasic
	case 2:
		last = lastRegular
	case 3:
		last = 0xFF
	case 4:
		v, ok := s.id.Object(object)
		if !ok {
			return nil, IllegalDataAddress
		}
		out = append(out, MEIDeviceID, code, level, 0, 0, 1)
		return appendObject(out, object, v, MaxPDU-7), OK
	default:
		return nil, IllegalDataValue
	}
	if _, ok := s.id.Object(object); !ok || object > last {
		object = 0 // a stream begins anew where its object is unknown
	}
	return s.stream(out, code, level, object, last), OK
}

// conformity is the category of the highest object.
func (s *Slave) conformity() uint8 {
	if _, ok := s.id.NextObject(lastRegular); ok {
		return conformExtended
	}
	if _, ok := s.id.NextObject(lastBasic); ok {
		return conformRegular
	}
	return conformBasic
}

// stream appends the objects from first to last as far as they fit, and where
// the next request goes on.
func (s *Slave) stream(out []byte, code, level, first, last uint8) []byte {
	out = append(out, MEIDeviceID, code, level, 0, 0, 0)
	more := len(out) - 3 // index of more follows, next object, number of objects
	room := MaxPDU - 7
	for id, ok := first, true; ok && id <= last; id, ok = s.id.NextObject(id) {
		v, has := s.id.Object(id)
		if !has {
			continue // object 0 of a device without any
		}
		if n := 2 + len(v); n > room && out[more+2] > 0 {
			out[more], out[more+1] = 0xFF, id
			return out
		}
		out = appendObject(out, id, v, room)
		room -= 2 + min(len(v), room-2)
		out[more+2]++
		if id == 0xFF {
			break
		}
	}
	return out
}

// appendObject appends one object; what does not fit room, with id and length,
// is cut off: an object does not span replies.
func appendObject(out []byte, id uint8, v []byte, room int) []byte {
	v = v[:min(len(v), room-2)]
	return append(append(out, id, byte(len(v))), v...)
}

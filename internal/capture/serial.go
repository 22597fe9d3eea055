package capture

import (
	"encoding/binary"
	"strconv"

	"cnuas/internal/link"
	"cnuas/internal/sim"
	"cnuas/modbus/bus"
	"cnuas/modbus/rtu"
)

// linkTypeUpperPDU is LINKTYPE_WIRESHARK_UPPER_PDU of the tcpdump project:
// packets that name their dissector themselves. No link type of serial lines
// makes wireshark decode Modbus RTU without being told to.
const linkTypeUpperPDU = 252

// Tags of an exported PDU (wireshark's epan/exported_pdu.h): type and length, 16
// bits big endian, then the value, padded to 32 bits.
const (
	tagDissector = 12
	tagIPv4Src   = 20
	tagIPv4Dst   = 21
	tagPortType  = 24
	tagSrcPort   = 25
	tagDstPort   = 26

	portTypeTCP = 2
)

// What the tags of a frame say. wireshark matches replies with requests by
// address and port, so a slave has both, from its Modbus address, and all
// masters of a segment share one.
const (
	serialHeadLen    = 4 + 8 + 5*(4+4) + 4 // bytes before the ADU
	serialSlavePort  = 502
	serialMasterPort = 50000
)

// Frame implements bus.Observer for a tap of link type Serial: it records an ADU
// or noise with the time at which its first start bit began. Only the engine's
// thread calls it.
//
// A request is sent by the segment's host, everything else is received. The
// comment says who sent it, at which line setting, how long it was on the wire,
// and what was wrong with it.
func (t *Tap) Frame(f *bus.Frame) {
	s := t.s
	if s.cfg.Filter != nil {
		return // its language knows nothing of serial lines
	}
	t.received.Add(1)
	b := appendSerialHead(s.scratch[:0], byte(t.index), f)
	head := len(b)
	b = append(b, f.Bytes...)
	keep := len(b)
	if n := s.cfg.SnapLen; n > 0 {
		keep = min(keep, head+n)
	}
	orig := len(b)
	b = appendSerialComment(b, f)
	s.scratch = b[:0]
	comment := b[orig:]
	if len(comment) > maxComment {
		comment = comment[:maxComment]
	}
	d := link.Rx
	if f.Master {
		d = link.Tx
	}
	if !s.ring.room(packetHead + len(comment) + keep) {
		t.lost.Add(1)
		return
	}
	var h [packetHead]byte
	putPacketHead(&h, t.index, d, f.Start, orig, keep, len(comment))
	s.ring.put(h[:])
	s.ring.put(comment)
	s.ring.put(b[:keep])
	s.publish()
}

// appendSerialHead appends the tags of a frame.
func appendSerialHead(b []byte, segment byte, f *bus.Frame) []byte {
	be := binary.BigEndian
	name := "mbrtu\x00\x00\x00"
	if f.Kind == rtu.Noise {
		name = "data\x00\x00\x00\x00"
	}
	tag := func(b []byte, typ uint16, v uint32) []byte {
		b = be.AppendUint16(b, typ)
		b = be.AppendUint16(b, 4)
		return be.AppendUint32(b, v)
	}
	b = be.AppendUint16(b, tagDissector)
	b = be.AppendUint16(b, uint16(len(name)))
	b = append(b, name...)
	unit := byte(0)
	if f.Kind != rtu.Noise && len(f.Bytes) > 0 {
		unit = f.Bytes[0]
	}
	slave, master := uint32(10)<<24|uint32(segment)<<16|uint32(unit), uint32(10)<<24|uint32(segment)<<16|1<<8
	src, dst := slave, master
	from, to := uint32(serialSlavePort), uint32(serialMasterPort)
	if f.Master {
		src, dst, from, to = dst, src, to, from
	}
	b = tag(b, tagIPv4Src, src)
	b = tag(b, tagIPv4Dst, dst)
	b = tag(b, tagPortType, portTypeTCP)
	b = tag(b, tagSrcPort, from)
	b = tag(b, tagDstPort, to)
	return be.AppendUint32(b, 0)
}

// appendSerialComment appends what pcapng has no fields for.
func appendSerialComment(b []byte, f *bus.Frame) []byte {
	b = append(b, f.Kind.String()...)
	b = append(b, " from "...)
	b = append(b, f.Station...)
	b = append(b, ", "...)
	b = appendLine(b, f.Line)
	b = append(b, ", "...)
	b = appendMicro(b, f.End-f.Start)
	b = append(b, " us on the wire"...)
	if f.Bad != rtu.Good {
		b = append(b, ", "...)
		b = append(b, f.Bad.String()...)
	}
	if f.Collided {
		b = append(b, ", collided"...)
	}
	if f.Lost > 0 {
		b = append(b, ", "...)
		b = strconv.AppendInt(b, int64(f.Lost), 10)
		b = append(b, " characters lost"...)
	}
	b = appendErrs(b, f.Errs, rtu.ParityError, ", parity errors at")
	return appendErrs(b, f.Errs, rtu.FramingError, ", framing errors at")
}

// appendErrs appends which characters have an error, the first being 0.
func appendErrs(b []byte, errs []rtu.LineError, which rtu.LineError, text string) []byte {
	n := 0
	for i, e := range errs {
		if e&which == 0 {
			continue
		}
		if n == 0 {
			b = append(b, text...)
		}
		if n == 16 {
			return append(b, " ..."...)
		}
		b = append(b, ' ')
		b = strconv.AppendInt(b, int64(i), 10)
		n++
	}
	return b
}

// appendLine appends what rtu.Line.String returns.
func appendLine(b []byte, l rtu.Line) []byte {
	b = strconv.AppendInt(b, int64(l.Baud), 10)
	return append(b, ' ', '0'+l.Data, "NOE?"[min(l.Parity, 3)], '0'+l.Stop)
}

// appendMicro appends a time in microseconds, to the nanosecond.
func appendMicro(b []byte, t sim.Time) []byte {
	ns := (t + sim.Nanosecond/2) / sim.Nanosecond
	b = strconv.AppendInt(b, int64(ns/1000), 10)
	return append(b, '.', byte('0'+ns/100%10), byte('0'+ns/10%10), byte('0'+ns%10))
}

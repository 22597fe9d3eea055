package capture

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"cnuas/internal/link"
	"cnuas/internal/sim"
)

// Sink takes what Decode reads. An error of any method ends Decode.
type Sink interface {
	Start(Header) error // first
	// Port comes before the first Record of the port; ports are numbered from 0.
	Port(index int, name string, l LinkType) error
	Packet(Record) error
	Stats(Stats) error // for every port, at the end
	Flush() error      // the stream has nothing more for now, or has ended
}

// ErrCut is returned for a stream that stops before its end message: the other
// side has gone away.
var ErrCut = errors.New("capture: the stream was cut off: the other side has gone away")

// Decode reads the stream of a Session until its end and hands it to s.
func Decode(r io.Reader, s Sink) error {
	d := decoder{r: bufio.NewReaderSize(r, 256<<10), sink: s}
	if err := d.header(); err != nil {
		return err
	}
	for {
		if d.r.Buffered() == 0 {
			if err := s.Flush(); err != nil {
				return err
			}
		}
		more, err := d.message()
		if err != nil {
			return err
		}
		if !more {
			return s.Flush()
		}
	}
}

type decoder struct {
	r     *bufio.Reader
	sink  Sink
	base  time.Time
	ports []LinkType
	body  []byte
}

func (d *decoder) read(b []byte) error {
	if _, err := io.ReadFull(d.r, b); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return ErrCut
		}
		return fmt.Errorf("capture: read stream: %w", err)
	}
	return nil
}

func (d *decoder) header() error {
	var h [headerLen]byte
	if err := d.read(h[:]); err != nil {
		return err
	}
	if string(h[:8]) != magic {
		return errors.New("capture: this is not a capture stream")
	}
	if h[8] != version {
		return fmt.Errorf("capture: stream version %d, this program knows %d: use the same cnuas on both sides", h[8], version)
	}
	n := int(binary.BigEndian.Uint16(h[24:]))
	if n > maxFilter {
		return fmt.Errorf("capture: filter of %d bytes in the stream", n)
	}
	filter := make([]byte, n)
	if err := d.read(filter); err != nil {
		return err
	}
	d.base = time.Unix(0, int64(binary.BigEndian.Uint64(h[16:])))
	return d.sink.Start(Header{Base: d.base, SnapLen: int(binary.BigEndian.Uint32(h[12:])), Filter: string(filter)})
}

func (d *decoder) message() (more bool, err error) {
	var h [msgHead]byte
	if err := d.read(h[:]); err != nil {
		return false, err
	}
	port, n := int(binary.BigEndian.Uint16(h[2:])), int(binary.BigEndian.Uint32(h[4:]))
	if n > maxBody {
		return false, fmt.Errorf("capture: message of %d bytes in the stream", n)
	}
	if cap(d.body) < n {
		d.body = make([]byte, n, max(n, 16<<10))
	}
	b := d.body[:n]
	if err := d.read(b); err != nil {
		return false, err
	}
	kind := h[0]
	if (kind == kindPacket || kind == kindStats) && port >= len(d.ports) {
		return false, fmt.Errorf("capture: port %d in the stream before it was named", port)
	}
	switch kind {
	case kindPort:
		if port != len(d.ports) {
			return false, fmt.Errorf("capture: port %d in the stream where %d was next", port, len(d.ports))
		}
		l := LinkType(h[1])
		if l > Serial {
			return false, fmt.Errorf("capture: port %d in the stream has link type %d, which is not known", port, l)
		}
		d.ports = append(d.ports, l)
		return true, d.sink.Port(port, string(b), l)
	case kindPacket:
		return true, d.packet(port, link.Direction(h[1]), b)
	case kindStats:
		if n != 16 {
			return false, fmt.Errorf("capture: statistics of %d bytes in the stream", n)
		}
		return true, d.sink.Stats(Stats{Port: port, Received: binary.BigEndian.Uint64(b), Lost: binary.BigEndian.Uint64(b[8:])})
	case kindEnd:
		return false, nil
	}
	return false, fmt.Errorf("capture: message of kind %d in the stream", kind)
}

func (d *decoder) packet(port int, dir link.Direction, b []byte) error {
	if dir > link.Rx || len(b) < packetFix {
		return fmt.Errorf("capture: packet of %d bytes and direction %d in the stream", len(b), dir)
	}
	be := binary.BigEndian
	r := Record{Port: port, Link: d.ports[port], Dir: dir, Time: sim.Time(be.Uint64(b)), OrigLen: int(be.Uint32(b[8:]))}
	comment := int(be.Uint16(b[12:]))
	b = b[packetFix:]
	if comment > len(b) || comment > maxComment || len(b)-comment > r.OrigLen || r.OrigLen > maxBody {
		return fmt.Errorf("capture: packet of %d bytes with %d bytes of comment and %d on the wire in the stream", len(b), comment, r.OrigLen)
	}
	r.Comment, r.Data = string(b[:comment]), b[comment:]
	r.Wall = d.base.Add(time.Duration(r.Time.Nanoseconds()))
	return d.sink.Packet(r)
}

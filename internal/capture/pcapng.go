package capture

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"time"

	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"cnuas/internal/link"
)

// PcapNG is a Sink that writes a pcapng file (draft-ietf-opsawg-pcapng): one
// interface per port, stamps in nanoseconds of simulated time, the direction
// in each packet's flags, and per port the frames received and lost at the end.
//
// An InfiniBand port has link type ERF, because no reader in use takes that of
// InfiniBand itself; each packet then has a record header in front. A serial port
// has that of exported PDUs, which wireshark decodes as Modbus RTU by itself.
//
// gopacket's NgWriter writes all blocks but those of packets, because it knows
// no packet options, and direction and comment are such.
type PcapNG struct {
	w     *bufio.Writer
	ng    *pcapgo.NgWriter
	head  Header
	begin time.Time
	last  time.Time
	erf   [erfLen]byte
	lost  uint64
	got   uint64
}

var _ Sink = (*PcapNG)(nil)

// NewPcapNG returns a sink that writes to w. Nothing is written before the
// first port is known. Decode flushes it.
func NewPcapNG(w io.Writer) *PcapNG { return &PcapNG{w: bufio.NewWriterSize(w, 256<<10)} }

// Counts returns the frames that matched and those of them that were lost, as
// the other side reported them at the end.
func (p *PcapNG) Counts() (received, lost uint64) { return p.got, p.lost }

// Start implements Sink.
func (p *PcapNG) Start(h Header) error {
	p.head, p.begin, p.last = h, h.Base, h.Base
	return nil
}

// Port implements Sink.
func (p *PcapNG) Port(_ int, name string, l LinkType) error {
	intf := pcapgo.NgInterface{
		Name: name, Filter: p.head.Filter, LinkType: layers.LinkTypeEthernet,
		SnapLength: uint32(p.head.SnapLen), TimestampResolution: 9,
	}
	switch l {
	case InfiniBand:
		intf.LinkType = linkTypeERF
		if intf.SnapLength > 0 {
			intf.SnapLength = max(intf.SnapLength, erfFlowLen) + erfLen
		}
	case Serial:
		intf.LinkType = linkTypeUpperPDU
		if intf.SnapLength > 0 {
			intf.SnapLength += serialHeadLen
		}
	}
	var err error
	if p.ng == nil {
		opt := pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{
			Application: "cnuas",
			Comment:     "time 0 of the fabric is " + p.head.Base.UTC().Format(time.RFC3339Nano),
		}}
		p.ng, err = pcapgo.NewNgWriterInterface(p.w, intf, opt)
	} else {
		_, err = p.ng.AddInterface(intf)
	}
	if err == nil {
		err = p.ng.Flush() // into p.w, where packets follow
	}
	return p.wrap(err)
}

// Packet implements Sink.
func (p *PcapNG) Packet(r Record) error {
	if r.Wall.After(p.last) {
		p.last = r.Wall
	}
	return p.wrap(p.writePacket(&r))
}

// Stats implements Sink.
func (p *PcapNG) Stats(s Stats) error {
	p.got += s.Received
	p.lost += s.Lost
	err := p.ng.WriteInterfaceStats(s.Port, pcapgo.NgInterfaceStatistics{
		LastUpdate: p.last, StartTime: p.begin, EndTime: p.last,
		PacketsReceived: s.Received, PacketsDropped: s.Lost,
	})
	if err == nil {
		err = p.ng.Flush()
	}
	return p.wrap(err)
}

// Flush implements Sink.
func (p *PcapNG) Flush() error { return p.wrap(p.w.Flush()) }

func (p *PcapNG) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("capture: write pcapng: %w", err)
	}
	return nil
}

// Codes of the pcapng draft, sections 4.3 and 3.5.
const (
	blockEnhancedPacket = 6
	optEnd              = 0
	optComment          = 1
	optFlags            = 2
	flagInbound         = 1
	flagOutbound        = 2
)

// writePacket writes an enhanced packet block.
func (p *PcapNG) writePacket(r *Record) error {
	le := binary.LittleEndian
	ts := uint64(r.Wall.UnixNano())
	var head, tail []byte
	data, orig := len(r.Data), r.OrigLen
	if r.Link == InfiniBand {
		head, tail = p.erf[:], zeros[:putERF(&p.erf, r)]
		data += len(head) + len(tail)
		orig += len(head) + len(tail)
	}
	pad := -data & 3
	opts := 4 + 4 + 4 // flags, end of options
	if r.Comment != "" {
		opts += 4 + len(r.Comment) + -len(r.Comment)&3
	}
	total := uint32(32 + data + pad + opts)
	b := p.w.AvailableBuffer()
	b = le.AppendUint32(b, blockEnhancedPacket)
	b = le.AppendUint32(b, total)
	b = le.AppendUint32(b, uint32(r.Port))
	b = le.AppendUint32(b, uint32(ts>>32))
	b = le.AppendUint32(b, uint32(ts))
	b = le.AppendUint32(b, uint32(data))
	b = le.AppendUint32(b, uint32(orig))
	b = append(b, head...)
	b = append(b, r.Data...)
	b = append(b, tail...)
	b = append(b, zeros[:pad]...)
	if r.Comment != "" {
		b = le.AppendUint16(b, optComment)
		b = le.AppendUint16(b, uint16(len(r.Comment)))
		b = append(b, r.Comment...)
		b = append(b, zeros[:-len(r.Comment)&3]...)
	}
	flags := uint32(flagInbound)
	if r.Dir == link.Tx {
		flags = flagOutbound
	}
	b = le.AppendUint16(b, optFlags)
	b = le.AppendUint16(b, 4)
	b = le.AppendUint32(b, flags)
	b = le.AppendUint32(b, optEnd)
	b = le.AppendUint32(b, total)
	_, err := p.w.Write(b)
	return err
}

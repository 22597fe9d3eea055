package dissect

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"cnuas/internal/wire"
)

// PFC is the layer behind EtherType 0x8808 with opcode 0x0101: priority-based
// flow control (IEEE 802.1Q clause 36).
type PFC struct {
	layers.BaseLayer
	wire.PFC
}

func decodePFC(data []byte, p gopacket.PacketBuilder) error {
	l := new(PFC)
	if err := l.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(l)
	return nil
}

// pfcBody is the length of opcode, enable vector and times in bytes.
const pfcBody = 2 + 2 + 16

// DecodeFromBytes implements gopacket.DecodingLayer.
func (l *PFC) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	if len(data) < pfcBody {
		df.SetTruncated()
		return errors.New("MAC control frame is cut off")
	}
	// wire reads whole frames; give it one.
	var b [wire.EthernetLen + pfcBody]byte
	wire.Ethernet(b[:]).SetType(wire.EtherTypeMACControl)
	copy(b[wire.EthernetLen:], data)
	if !l.Decode(b[:]) {
		return fmt.Errorf("MAC control opcode %#04x is not PFC", uint16(data[0])<<8|uint16(data[1]))
	}
	l.BaseLayer = layers.BaseLayer{Contents: data[:pfcBody]}
	return nil
}

// LayerType implements gopacket.Layer.
func (l *PFC) LayerType() gopacket.LayerType { return LayerTypePFC }

// CanDecode implements gopacket.DecodingLayer.
func (l *PFC) CanDecode() gopacket.LayerClass { return LayerTypePFC }

// NextLayerType implements gopacket.DecodingLayer.
func (l *PFC) NextLayerType() gopacket.LayerType { return gopacket.LayerTypeZero }

// String lists the enabled priorities with their times in quanta.
func (l *PFC) String() string {
	var s strings.Builder
	s.WriteString("PFC")
	for i, q := range l.Time {
		switch {
		case l.Enable&(1<<i) == 0:
		case q == 0:
			fmt.Fprintf(&s, " %d:resume", i)
		default:
			fmt.Fprintf(&s, " %d:%d quanta", i, q)
		}
	}
	return s.String()
}

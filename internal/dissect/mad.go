package dissect

import (
	"fmt"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// LayerTypeMAD is the layer of a management datagram: what a UD packet to QP0 or
// QP1 holds, on InfiniBand and over RoCEv2.
var LayerTypeMAD = gopacket.RegisterLayerType(4796, gopacket.LayerTypeMetadata{
	Name: "MAD", Decoder: gopacket.DecodeFunc(decodeMAD),
})

// MAD is a management datagram (IBTA vol. 1 chapter 13). Contents are all its
// bytes.
type MAD struct {
	layers.BaseLayer
	mad.Header
}

func decodeMAD(data []byte, p gopacket.PacketBuilder) error {
	l := new(MAD)
	if err := l.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(l)
	return nil
}

// DecodeFromBytes implements gopacket.DecodingLayer.
func (l *MAD) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	m := mad.Packet(data)
	if !m.Valid() {
		df.SetTruncated()
		return fmt.Errorf("MAD of %d bytes, %d are needed", len(data), mad.PacketLen)
	}
	l.Header = m.Header()
	l.BaseLayer = layers.BaseLayer{Contents: data[:mad.PacketLen]}
	return nil
}

// LayerType implements gopacket.Layer.
func (l *MAD) LayerType() gopacket.LayerType { return LayerTypeMAD }

// CanDecode implements gopacket.DecodingLayer.
func (l *MAD) CanDecode() gopacket.LayerClass { return LayerTypeMAD }

// NextLayerType implements gopacket.DecodingLayer.
func (l *MAD) NextLayerType() gopacket.LayerType { return gopacket.LayerTypeZero }

// Packet is the datagram, for the views of package mad.
func (l *MAD) Packet() mad.Packet { return mad.Packet(l.Contents) }

// Attribute is what the datagram carries, nil if it is not known.
func (l *MAD) Attribute() mad.Attribute {
	a := mad.New(l.Class, l.Attr)
	if a == nil || !mad.Decode(a, l.Packet().Data()) {
		return nil
	}
	return a
}

// String is the datagram in one line.
func (l *MAD) String() string { return mad.Line(l.Packet()) }

// isMAD tells whether a packet is for a management queue pair.
func isMAD(b *wire.BTHFields, payload int) bool {
	return b.Opcode == wire.UDSendOnly && b.DestQP <= wire.QP1 && payload >= mad.PacketLen
}

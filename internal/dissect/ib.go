package dissect

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"cnuas/internal/wire"
)

// Layer types of native InfiniBand.
var (
	LayerTypeLRH = gopacket.RegisterLayerType(4793, gopacket.LayerTypeMetadata{
		Name: "LRH", Decoder: gopacket.DecodeFunc(decodeLRH),
	})
	LayerTypeGRH = gopacket.RegisterLayerType(4794, gopacket.LayerTypeMetadata{
		Name: "GRH", Decoder: gopacket.DecodeFunc(decodeGRH),
	})
	LayerTypeFlow = gopacket.RegisterLayerType(4795, gopacket.LayerTypeMetadata{
		Name: "IBFlow", Decoder: gopacket.DecodeFunc(decodeFlow),
	})
)

// DecodeIB returns the layers of a native InfiniBand packet, from its LRH to its
// VCRC, or of a flow control packet. It does not copy frame.
func DecodeIB(frame []byte) gopacket.Packet {
	if len(frame) == wire.FlowLen {
		return gopacket.NewPacket(frame, LayerTypeFlow, gopacket.NoCopy)
	}
	return gopacket.NewPacket(frame, LayerTypeLRH, gopacket.NoCopy)
}

// LRH is the first layer of a native packet (IBTA vol. 1 §7.7). LayerPayload is
// what follows, to the ICRC; the VCRC is part of this layer.
type LRH struct {
	layers.BaseLayer
	wire.LRHFields
	VCRC  uint16 // of a packet that was captured whole
	Whole bool
}

func decodeLRH(data []byte, p gopacket.PacketBuilder) error {
	l := new(LRH)
	if err := l.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(l)
	if len(l.BaseLayer.Payload) == 0 {
		return nil
	}
	return p.NextDecoder(l.NextLayerType())
}

// DecodeFromBytes implements gopacket.DecodingLayer.
func (l *LRH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	h := wire.LRH(data)
	if !h.Valid() {
		df.SetTruncated()
		return fmt.Errorf("LRH of %d bytes, %d are needed", len(data), wire.LRHLen)
	}
	*l = LRH{LRHFields: h.Fields()}
	end := len(data)
	if n := h.WireLen(); n <= len(data) && n >= wire.LRHLen+wire.VCRCLen {
		end, l.Whole = n-wire.VCRCLen, true
		l.VCRC = binary.LittleEndian.Uint16(data[end:])
	} else {
		df.SetTruncated()
	}
	l.BaseLayer = layers.BaseLayer{Contents: data[:wire.LRHLen], Payload: data[wire.LRHLen:end]}
	if l.LVer != 0 {
		return fmt.Errorf("LRH of version %d", l.LVer)
	}
	return nil
}

// LayerType implements gopacket.Layer.
func (l *LRH) LayerType() gopacket.LayerType { return LayerTypeLRH }

// CanDecode implements gopacket.DecodingLayer.
func (l *LRH) CanDecode() gopacket.LayerClass { return LayerTypeLRH }

// NextLayerType implements gopacket.DecodingLayer.
func (l *LRH) NextLayerType() gopacket.LayerType {
	switch l.LNH {
	case wire.LNHBTH:
		return LayerTypeBTH
	case wire.LNHGRH:
		return LayerTypeGRH
	case wire.LNHIPv6:
		return layers.LayerTypeIPv6
	}
	return gopacket.LayerTypePayload
}

// GRH is the layer behind a LRH of a global packet (IBTA vol. 1 §8.3).
type GRH struct {
	layers.BaseLayer
	wire.GRHFields
}

func decodeGRH(data []byte, p gopacket.PacketBuilder) error {
	l := new(GRH)
	if err := l.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(l)
	return p.NextDecoder(l.NextLayerType())
}

// DecodeFromBytes implements gopacket.DecodingLayer.
func (l *GRH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	h := wire.GRH(data)
	if len(data) < wire.GRHLen {
		df.SetTruncated()
		return fmt.Errorf("GRH of %d bytes, %d are needed", len(data), wire.GRHLen)
	}
	if !h.Valid() {
		return fmt.Errorf("GRH of IP version %d", data[0]>>4)
	}
	l.GRHFields = h.Fields()
	l.BaseLayer = layers.BaseLayer{Contents: data[:wire.GRHLen], Payload: data[wire.GRHLen:]}
	return nil
}

// LayerType implements gopacket.Layer.
func (l *GRH) LayerType() gopacket.LayerType { return LayerTypeGRH }

// CanDecode implements gopacket.DecodingLayer.
func (l *GRH) CanDecode() gopacket.LayerClass { return LayerTypeGRH }

// NextLayerType implements gopacket.DecodingLayer.
func (l *GRH) NextLayerType() gopacket.LayerType {
	if l.NxtHdr == wire.NextHeaderIBA {
		return LayerTypeBTH
	}
	return gopacket.LayerTypePayload
}

// Flow is a flow control packet (IBTA vol. 1 §7.9.4).
type Flow struct {
	layers.BaseLayer
	wire.FlowFields
	LPCRC  uint16
	Intact bool // the LPCRC is right
}

func decodeFlow(data []byte, p gopacket.PacketBuilder) error {
	f := wire.Flow(data)
	if !f.Valid() {
		p.SetTruncated()
		return errors.New("flow control packet is cut off")
	}
	p.AddLayer(&Flow{BaseLayer: layers.BaseLayer{Contents: data[:wire.FlowLen]}, FlowFields: f.Fields(), LPCRC: f.LPCRC(), Intact: f.Intact()})
	return nil
}

// LayerType implements gopacket.Layer.
func (l *Flow) LayerType() gopacket.LayerType { return LayerTypeFlow }

// String describes the packet.
func (l *Flow) String() string {
	op := "flow"
	if l.Op == wire.FlowInit {
		op = "flow init"
	}
	s := fmt.Sprintf("%s vl %d sent %d limit %d", op, l.VL, l.FCTBS, l.FCCL)
	if !l.Intact {
		s += " BAD LPCRC"
	}
	return s
}

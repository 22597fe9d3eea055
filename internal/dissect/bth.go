package dissect

import (
	"encoding/binary"
	"fmt"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"cnuas/internal/wire"
)

// BTH is the layer behind UDP port 4791, and behind LRH or GRH: base transport header, extension
// headers, payload, pad and ICRC (IBTA vol. 1 chapter 9, annex A17). Contents
// are the headers; LayerPayload is the payload without pad and ICRC. Of a frame
// that was cut off the last bytes that are there are taken for pad and ICRC:
// only who knows the lengths in front can tell.
type BTH struct {
	layers.BaseLayer
	wire.BTHFields
	Ext  wire.Ext // the extension headers that are there
	ICRC uint32   // as on the wire, of a frame that was captured whole
	pad  []byte
}

func decodeBTH(data []byte, p gopacket.PacketBuilder) error {
	b := new(BTH)
	if err := b.DecodeFromBytes(data, p); err != nil {
		return err
	}
	p.AddLayer(b)
	p.SetApplicationLayer(b)
	if len(b.BaseLayer.Payload) == 0 {
		return nil
	}
	return p.NextDecoder(b.NextLayerType())
}

// DecodeFromBytes implements gopacket.DecodingLayer. data is the payload of
// UDP, or what is behind LRH or GRH and in front of the VCRC: ICRC included.
func (b *BTH) DecodeFromBytes(data []byte, df gopacket.DecodeFeedback) error {
	h := wire.BTH(data)
	if !h.Valid() {
		df.SetTruncated()
		return fmt.Errorf("BTH of %d bytes, %d are needed", len(data), wire.BTHLen)
	}
	b.BTHFields = h.Fields()
	b.Ext = b.Opcode.Has()
	n := wire.BTHLen
	if b.Opcode.Known() {
		n = b.Opcode.HeaderLen()
	}
	if len(data) < n {
		df.SetTruncated()
		return fmt.Errorf("%v of %d bytes, its headers need %d", b.Opcode, len(data), n)
	}
	end := len(data) - wire.ICRCLen
	if end-int(b.Pad) < n {
		df.SetTruncated()
		b.ICRC, b.pad = 0, nil
		b.BaseLayer = layers.BaseLayer{Contents: data[:n], Payload: data[n:]}
		return nil
	}
	b.ICRC = binary.LittleEndian.Uint32(data[end:])
	b.pad = data[end-int(b.Pad) : end]
	b.BaseLayer = layers.BaseLayer{Contents: data[:n], Payload: data[n : end-int(b.Pad)]}
	return nil
}

// LayerType implements gopacket.Layer.
func (b *BTH) LayerType() gopacket.LayerType { return LayerTypeBTH }

// CanDecode implements gopacket.DecodingLayer.
func (b *BTH) CanDecode() gopacket.LayerClass { return LayerTypeBTH }

// NextLayerType implements gopacket.DecodingLayer.
func (b *BTH) NextLayerType() gopacket.LayerType {
	if isMAD(&b.BTHFields, len(b.BaseLayer.Payload)) {
		return LayerTypeMAD
	}
	return gopacket.LayerTypePayload
}

// Payload implements gopacket.ApplicationLayer: what the message carries.
func (b *BTH) Payload() []byte { return b.BaseLayer.Payload }

// PadBytes are the bytes between payload and ICRC; they should be zero.
func (b *BTH) PadBytes() []byte { return b.pad }

func (b *BTH) ext(h wire.Ext) []byte {
	if b.Ext&h == 0 {
		return nil
	}
	return b.Contents[wire.BTHLen+b.Ext.Offset(h):]
}

// RETH returns the header, or nil if the packet has none; so do the others.
func (b *BTH) RETH() wire.RETH { return b.ext(wire.ExtRETH) }

// AETH returns the acknowledge header.
func (b *BTH) AETH() wire.AETH { return b.ext(wire.ExtAETH) }

// AtomicETH returns the atomic header.
func (b *BTH) AtomicETH() wire.AtomicETH { return b.ext(wire.ExtAtomicETH) }

// AtomicAckETH returns the atomic acknowledge header.
func (b *BTH) AtomicAckETH() wire.AtomicAckETH { return b.ext(wire.ExtAtomicAckETH) }

// ImmDt returns the immediate data.
func (b *BTH) ImmDt() wire.ImmDt { return b.ext(wire.ExtImmDt) }

// IETH returns the invalidate header.
func (b *BTH) IETH() wire.IETH { return b.ext(wire.ExtIETH) }

// DETH returns the datagram header.
func (b *BTH) DETH() wire.DETH { return b.ext(wire.ExtDETH) }

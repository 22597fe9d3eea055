// Package dissect explains frames: gopacket layers for what gopacket does not
// know, RoCEv2, priority-based flow control and native InfiniBand with its
// management datagrams, and one line of text a frame.
//
// Importing it registers the layers: BTH on UDP port 4791, MAC control on
// EtherType 0x8808; LRH, where InfiniBand begins, on nothing: see DecodeIB. It
// is for captures, tests and people; nothing that forwards frames uses it.
package dissect

import (
	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"cnuas/internal/wire"
)

// Layer types of this package. gopacket leaves numbers from 2000 on to others.
var (
	LayerTypeBTH = gopacket.RegisterLayerType(4791, gopacket.LayerTypeMetadata{
		Name: "BTH", Decoder: gopacket.DecodeFunc(decodeBTH),
	})
	LayerTypePFC = gopacket.RegisterLayerType(4792, gopacket.LayerTypeMetadata{
		Name: "PFC", Decoder: gopacket.DecodeFunc(decodePFC),
	})
)

func init() {
	layers.RegisterUDPPortLayerType(wire.RoCEv2Port, LayerTypeBTH)
	layers.EthernetTypeMetadata[wire.EtherTypeMACControl] = layers.EnumMetadata{
		DecodeWith: gopacket.DecodeFunc(decodePFC), Name: "MACControl", LayerType: LayerTypePFC,
	}
}

// Decode returns the layers of an Ethernet frame without FCS. It does not copy
// frame, which must not change while the packet is in use.
func Decode(frame []byte) gopacket.Packet {
	return gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.NoCopy)
}

package usbredir

import "fmt"

// Type of a message, the first field of every header.
type Type uint32

// Messages: control packets are below 100, data packets above.
const (
	Hello                    Type = 0
	DeviceConnect            Type = 1
	DeviceDisconnect         Type = 2
	Reset                    Type = 3
	InterfaceInfo            Type = 4
	EndpointInfo             Type = 5
	SetConfiguration         Type = 6
	GetConfiguration         Type = 7
	ConfigurationStatus      Type = 8
	SetAltSetting            Type = 9
	GetAltSetting            Type = 10
	AltSettingStatus         Type = 11
	StartIsoStream           Type = 12
	StopIsoStream            Type = 13
	IsoStreamStatus          Type = 14
	StartInterruptReceiving  Type = 15
	StopInterruptReceiving   Type = 16
	InterruptReceivingStatus Type = 17
	AllocBulkStreams         Type = 18
	FreeBulkStreams          Type = 19
	BulkStreamsStatus        Type = 20
	CancelDataPacket         Type = 21
	FilterReject             Type = 22
	FilterFilter             Type = 23
	DeviceDisconnectAck      Type = 24
	StartBulkReceiving       Type = 25
	StopBulkReceiving        Type = 26
	BulkReceivingStatus      Type = 27
	ControlPacket            Type = 100
	BulkPacket               Type = 101
	IsoPacket                Type = 102
	InterruptPacket          Type = 103
	BufferedBulkPacket       Type = 104
)

// Capability is the number of a bit in what both sides say of themselves in
// their hello. A field or message that depends on one is used only if both have
// it.
type Capability uint

// Capabilities.
const (
	CapBulkStreams          Capability = 0
	CapConnectDeviceVersion Capability = 1 // DeviceConnect ends with bcdDevice
	CapFilter               Capability = 2
	CapDisconnectAck        Capability = 3 // DeviceDisconnect is answered
	CapMaxPacketSize        Capability = 4 // EndpointInfo has the packet sizes
	Cap64BitIDs             Capability = 5 // ids in headers have 64 bits
	Cap32BitBulkLength      Capability = 6
	CapBulkReceiving        Capability = 7
)

// Capabilities is a set of them.
type Capabilities uint32

// Has tells whether c is in the set.
func (s Capabilities) Has(c Capability) bool { return s>>c&1 != 0 }

// Own are the capabilities of a Session. Without 32 bits of length no bulk
// transfer has more than 65535 bytes, which bounds every message.
const Own = Capabilities(1<<CapConnectDeviceVersion | 1<<CapDisconnectAck | 1<<CapMaxPacketSize | 1<<Cap64BitIDs)

// Status of a transfer or of a setting.
type Status uint8

// Statuses.
const (
	Success   Status = 0
	Cancelled Status = 1
	Invalid   Status = 2 // wrong endpoint, length or kind of packet
	IOError   Status = 3
	Stall     Status = 4 // the device refuses: it answers STALL
	Timeout   Status = 5
	Babble    Status = 6 // the device has sent more than was asked for
)

// String names the status for messages.
func (s Status) String() string {
	if n := [...]string{"success", "cancelled", "invalid", "I/O error", "stall", "timeout", "babble"}; int(s) < len(n) {
		return n[s]
	}
	return fmt.Sprintf("status(%d)", uint8(s))
}

// Speed of the device on its bus.
type Speed uint8

// Speeds.
const (
	LowSpeed   Speed = 0
	FullSpeed  Speed = 1
	HighSpeed  Speed = 2
	SuperSpeed Speed = 3
)

// TransferType of an endpoint, as bmAttributes of its descriptor has it (USB
// 2.0, 9.6.6).
type TransferType uint8

// Transfer types.
const (
	ControlTransfer   TransferType = 0
	IsoTransfer       TransferType = 1
	BulkTransfer      TransferType = 2
	InterruptTransfer TransferType = 3
	NoEndpoint        TransferType = 255
)

const (
	// maxInterfaces and maxEndpoints are the sizes of the protocol's arrays.
	maxInterfaces, maxEndpoints = 32, 32

	// maxLength bounds what follows a header, in bytes: the longest packet
	// header and the data of one transfer.
	maxLength = 10 + 65535

	// maxHello bounds a hello: 64 bytes of version and some words of
	// capabilities, of which newer peers may have more.
	maxHello = 1024
)

// endpointIndex is where an endpoint stands in the arrays of EndpointInfo: IN
// endpoints are the second half.
func endpointIndex(address uint8) int { return int(address>>7)<<4 | int(address&0x0f) }

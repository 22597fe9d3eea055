package rtu

// Sizes of an ADU: address, PDU and CRC (V1.02, 2.5.1).
const (
	MinADU = 4   // address, function code, CRC
	MaxADU = 256 // address, PDU of at most 253 bytes, CRC
	MaxPDU = MaxADU - 3
)

// Broadcast is the address that all slaves execute and none answers (V1.02,
// 2.1).
const Broadcast = 0

// ExceptionBit is set in the function code of an exception response (V1.1b3, 7).
const ExceptionBit = 0x80

// Function codes (V1.1b3, 6).
const (
	ReadCoils              = 0x01
	ReadDiscreteInputs     = 0x02
	ReadHoldingRegisters   = 0x03
	ReadInputRegisters     = 0x04
	WriteSingleCoil        = 0x05
	WriteSingleRegister    = 0x06
	ReadExceptionStatus    = 0x07
	Diagnostics            = 0x08
	GetCommEventCounter    = 0x0B
	GetCommEventLog        = 0x0C
	WriteMultipleCoils     = 0x0F
	WriteMultipleRegisters = 0x10
	ReportServerID         = 0x11
	ReadFileRecord         = 0x14
	WriteFileRecord        = 0x15
	MaskWriteRegister      = 0x16
	ReadWriteRegisters     = 0x17
	ReadFIFOQueue          = 0x18
	Encapsulated           = 0x2B // with an MEI type
)

// MEI types of function code 2Bh.
const (
	MEICANopen  = 0x0D
	MEIDeviceID = 0x0E // read device identification
)

// Quantities that one request may ask for (V1.1b3, 6.1 to 6.17).
const (
	MaxReadBits       = 2000 // 01, 02
	MaxReadRegisters  = 125  // 03, 04, 17h
	MaxWriteBits      = 1968 // 0F
	MaxWriteRegisters = 123  // 10h
	MaxRWWrite        = 121  // written by 17h
	MaxFileBytes      = 0xF5 // byte count of 14h, in the request and in the response
	MaxFileRecord     = 0x270F
)

// be16 is the big-endian word at b[i].
func be16(b []byte, i int) uint16 { return uint16(b[i])<<8 | uint16(b[i+1]) }

// append16 appends v, high byte first.
func append16(b []byte, v uint16) []byte { return append(b, byte(v>>8), byte(v)) }

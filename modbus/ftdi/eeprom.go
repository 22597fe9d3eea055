package ftdi

import (
	"encoding/binary"
	"unicode/utf16"
)

// eepromWords is the size of a 93C46 in words of 16 bits.
const eepromWords = 64

// maxSerial is how many characters of a serial number the EEPROM has room for
// beside the other strings.
const maxSerial = 20

// eeprom is what FT_PROG writes into the EEPROM of an FT4232H with four RS-485
// ports: identification, the strings, and a checksum as the last word.
func eeprom(serial string) (words [eepromWords]uint16) {
	const (
		virtualCOM   = 0x88 // of the two channels in a byte: driver for a serial port
		useSerial    = 0x08
		allRS485     = 0xf0 // TXDEN drives the transceiver of each channel
		kind         = 0x46 // 93C46
		firstString  = 0x1a
		userSettings = 0x18
	)
	b := make([]byte, 2*eepromWords)
	b[0], b[1] = virtualCOM, virtualCOM
	le := binary.LittleEndian
	le.PutUint16(b[2:], VendorID)
	le.PutUint16(b[4:], ProductID)
	le.PutUint16(b[6:], Version)
	b[8], b[9] = busPowered, maxPower
	b[0x0a], b[0x0b] = useSerial, allRS485
	b[userSettings] = kind
	at := firstString
	for i, s := range []string{manufacturer, product, serial} {
		u := utf16.Encode([]rune(s))
		n := 2 + 2*len(u)
		b[0x0e+2*i], b[0x0f+2*i] = uint8(at)|0x80, uint8(n)
		b[at], b[at+1] = uint8(n), 3 // as a string descriptor
		for j, c := range u {
			le.PutUint16(b[at+2+2*j:], c)
		}
		at += n
	}
	sum := uint16(0xaaaa)
	for i := range eepromWords - 1 {
		words[i] = le.Uint16(b[2*i:])
		sum ^= words[i]
		sum = sum<<1 | sum>>15
	}
	words[eepromWords-1] = sum
	return words
}

package ftdi

import "cnuas/modbus/usbredir"

// Vendor requests, as ftdi_sio and libftdi name them.
const (
	requestReset              = 0x00
	requestSetModem           = 0x01
	requestSetFlow            = 0x02
	requestSetBaud            = 0x03
	requestSetData            = 0x04
	requestModemStatus        = 0x05
	requestSetEventChar       = 0x06
	requestSetErrorChar       = 0x07
	requestSetLatency         = 0x09
	requestGetLatency         = 0x0a
	requestSetBitMode         = 0x0b
	requestReadPins           = 0x0c
	requestReadEEPROM         = 0x90
	vendorOut, vendorIn       = 0x40, 0xc0
	resetAll                  = 0
	purgeReceive              = 1 // what has come from the wire
	purgeTransmit             = 2
	bitModeOff          uint8 = 0
)

// Control implements usbredir.Device. The index's low byte names the port, 1 to
// 4 or 0 for the first; that of an EEPROM request is the address.
func (c *Chip) Control(s usbredir.Setup, _ []byte) ([]byte, usbredir.Status) {
	if s.Request == requestReadEEPROM && s.RequestType == vendorIn {
		w := c.eeprom[s.Index%eepromWords] // higher address bits have no line
		return []byte{uint8(w), uint8(w >> 8)}, usbredir.Success
	}
	n := max(int(s.Index&0xff), 1)
	if n > Ports {
		return nil, usbredir.Stall
	}
	p := &c.ports[n-1]
	var reply []byte
	ok := false
	switch s.RequestType {
	case vendorOut:
		ok = p.set(s)
	case vendorIn:
		reply, ok = p.get(s)
	}
	if !ok {
		c.log("ftdi: port %d: request %#02x, value %#04x, index %#04x is refused", n, s.Request, s.Value, s.Index)
		return nil, usbredir.Stall
	}
	return reply, usbredir.Success
}

// set serves a request without data stage; false: it is refused.
func (p *Port) set(s usbredir.Setup) bool {
	low, high := uint8(s.Value), uint8(s.Value>>8)
	switch s.Request {
	case requestReset:
		switch s.Value {
		case resetAll:
			p.purgeReceive()
			p.purgeTransmit()
		case purgeReceive:
			p.purgeReceive()
		case purgeTransmit:
			p.purgeTransmit()
		default:
			return false
		}
	case requestSetModem: // the high byte says which of DTR and RTS are set
		p.modemOut = p.modemOut&^high | low&high&(DTR|RTS)
	case requestSetFlow:
		p.flow = Flow(s.Index >> 8)
	case requestSetBaud:
		return p.setBaud(divisorOf(s.Value, uint8(s.Index>>8)))
	case requestSetData:
		return p.setData(s.Value)
	case requestSetEventChar:
		p.event, p.eventOn = low, high&1 != 0
	case requestSetErrorChar: // stands for characters with errors; drivers turn it off
		return high&1 == 0
	case requestSetLatency:
		return p.setLatency(s.Value)
	case requestSetBitMode: // the ports are serial ports only
		return high == bitModeOff
	default:
		return false
	}
	return true
}

// get serves a request with data for the host.
func (p *Port) get(s usbredir.Setup) ([]byte, bool) {
	switch s.Request {
	case requestModemStatus:
		return []byte{p.modemStatus(), p.lineStatus()}, true
	case requestGetLatency:
		return []byte{p.latency}, true
	case requestReadPins: // at rest the lines are high
		return []byte{0xff}, true
	}
	return nil, false
}

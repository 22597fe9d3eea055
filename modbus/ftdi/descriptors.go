package ftdi

import "cnuas/modbus/usbredir"

// What the chip is on the bus.
const (
	VendorID  = 0x0403
	ProductID = 0x6011
	Version   = 0x0800 // bcdDevice, by which drivers tell FTDI's chips apart
	Ports     = 4
)

const (
	packetSize  = 512 // of a bulk endpoint at high speed
	controlSize = 64
	maxPower    = 50 // 100 mA in units of 2 mA
	busPowered  = 0x80
)

// Strings of an unprogrammed module.
const (
	manufacturer = "FTDI"
	product      = "Quad RS232-HS"
)

// inEndpoint and outEndpoint are the addresses of a port's endpoints: 81h and
// 02h of port 0, 83h and 04h of port 1, and so on.
func inEndpoint(port int) uint8  { return uint8(0x81 + 2*port) }
func outEndpoint(port int) uint8 { return uint8(0x02 + 2*port) }

// descriptors has the strings manufacturer, product and serial number as 1 to
// 3. Each port is an interface of FTDI's own class.
func descriptors(serial string) *usbredir.Descriptors {
	const (
		noClass, vendorClass          = 0, 0xff
		iManufacturer, iProduct       = 1, 2
		iSerial                       = 3
		configurations                = 1
		bulk, interval                = 2, 0
		usbMinor, usbMajor      uint8 = 0x00, 0x02
	)
	d := &usbredir.Descriptors{
		Device: []byte{18, usbredir.DeviceDescriptor, usbMinor, usbMajor, noClass, 0, 0, controlSize,
			VendorID & 0xff, VendorID >> 8, ProductID & 0xff, ProductID >> 8, Version & 0xff, Version >> 8,
			iManufacturer, iProduct, iSerial, configurations},
		// The device at its other speed (USB 2.0, 9.6.2).
		Qualifier: []byte{10, usbredir.QualifierDescriptor, usbMinor, usbMajor, noClass, 0, 0, controlSize, configurations, 0},
		Strings:   []string{manufacturer, product, serial},
		Speed:     usbredir.HighSpeed,
	}
	c := []byte{9, usbredir.ConfigurationDescriptor, 0, 0, Ports, 1, 0, busPowered, maxPower}
	for i := range Ports {
		c = append(c, 9, usbredir.InterfaceDescriptor, uint8(i), 0, 2, vendorClass, vendorClass, vendorClass, iProduct)
		for _, address := range []uint8{inEndpoint(i), outEndpoint(i)} {
			c = append(c, 7, usbredir.EndpointDescriptor, address, bulk, packetSize&0xff, packetSize>>8, interval)
		}
	}
	c[2], c[3] = uint8(len(c)), uint8(len(c)>>8)
	d.Configuration = c
	return d
}

package ftdi

import (
	"fmt"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
	"cnuas/modbus/usbredir"
)

// Wire is a port's place on a segment: a bus.Master. Its methods are called on
// the engine's thread.
type Wire interface {
	// Send puts characters on the wire from now on, behind what is still being
	// sent, and returns how many it takes; the line applies to these.
	Send(line rtu.Line, b []byte) int
	// Drained is when the last character will have been sent, or has been.
	Drained() sim.Time
	// Listen sets how characters are received.
	Listen(line rtu.Line) error
	// PurgeSend forgets what has not been sent.
	PurgeSend()
	// PurgeReceived forgets what was heard and not delivered.
	PurgeReceived()
}

// Breaker is a Wire that can hold the line at space.
type Breaker interface{ Break(on bool) }

// Config of a chip.
type Config struct {
	Serial string // serial number, 1 to 20 characters of printable ASCII
	// Log is told what a driver asks for that this chip does not do; nil: nobody.
	Log func(format string, args ...any)
}

// Chip is an FT4232H. It implements usbredir.Device.
type Chip struct {
	desc   *usbredir.Descriptors
	eeprom [eepromWords]uint16
	ports  [Ports]Port
	log    func(string, ...any)
}

// New makes a chip whose ports have no wire. The error is about the serial
// number.
func New(p *sim.Proc, c Config) (*Chip, error) {
	if n := len(c.Serial); n < 1 || n > maxSerial {
		return nil, fmt.Errorf("ftdi: serial number %q: 1 to %d characters are possible", c.Serial, maxSerial)
	}
	for _, r := range c.Serial {
		if r <= ' ' || r > '~' {
			return nil, fmt.Errorf("ftdi: serial number %q: only printable ASCII is possible", c.Serial)
		}
	}
	ch := &Chip{desc: descriptors(c.Serial), eeprom: eeprom(c.Serial), log: c.Log}
	if ch.log == nil {
		ch.log = func(string, ...any) {}
	}
	for i := range ch.ports {
		ch.ports[i].init(p, ch, i)
	}
	return ch, nil
}

// Port returns port 0 to 3: A to D of the data sheet, the interfaces in their
// order.
func (c *Chip) Port(i int) *Port { return &c.ports[i] }

// Descriptors implements usbredir.Device.
func (c *Chip) Descriptors() *usbredir.Descriptors { return c.desc }

// Reset implements usbredir.Device.
func (c *Chip) Reset() {
	for i := range c.ports {
		c.ports[i].powerUp()
	}
}

// In implements usbredir.Device.
func (c *Chip) In(t usbredir.Transfer) { c.ports[(t.Endpoint&0x0f-1)/2].in(t) }

// Out implements usbredir.Device.
func (c *Chip) Out(t usbredir.Transfer, data []byte) { c.ports[t.Endpoint/2-1].out(t, data) }

// Cancel implements usbredir.Device.
func (c *Chip) Cancel(t usbredir.Transfer) {
	for i := range c.ports {
		c.ports[i].cancel(t)
	}
}

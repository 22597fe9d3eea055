package daemon

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"cnuas/internal/sim"
	"cnuas/modbus/bus"
	"cnuas/modbus/ftdi"
	"cnuas/modbus/usbredir"
)

// bmcBridge is an FT4232H between segments and a guest.
type bmcBridge struct {
	chip     *ftdi.Chip
	host     *usbredir.Host
	segments [ftdi.Ports]string // "": an open port
	masters  []*bus.Master
}

const (
	// guestTolerance is how long a guest may pause in a frame: what is one write
	// in it comes in pieces.
	guestTolerance = 30 * sim.Millisecond
	// bridgeSlice is how long a character waits for others on its way to the
	// chip, which has a latency timer of its own.
	bridgeSlice = 2 * sim.Millisecond
)

// newBMCBridges makes the bridges of the topology, plugged in.
func (d *Daemon) newBMCBridges() (l []*bmcBridge, err error) {
	m := d.spec().Rack.BMC
	for first := 0; first < len(m.Ports); first += ftdi.Ports {
		b := &bmcBridge{}
		for i := range b.segments {
			if at := first + i; at < len(m.Ports) && m.Ports[at] >= 0 {
				b.segments[i] = d.spec().Rack.Segments[m.Ports[at]].Name
			}
		}
		n := len(l) + 1
		d.rack.Do(func() { err = b.build(d, n) })
		if err != nil {
			closeBridges(d, l)
			return nil, err
		}
		l = append(l, b)
	}
	return l, nil
}

// build is called with the rack's engine held.
func (b *bmcBridge) build(d *Daemon, n int) (err error) {
	b.chip, err = ftdi.New(d.rack.Engine().NewProc(), ftdi.Config{Serial: fmt.Sprintf("CNUAS%03d", n), Log: d.logf})
	if err != nil {
		return err
	}
	if b.host, err = usbredir.NewHost(b.chip, usbredir.Options{Do: d.rack.Do, Log: d.logf, Version: "cnuas FT4232H"}); err != nil {
		return err
	}
	for i, name := range b.segments {
		if name == "" {
			continue
		}
		p := b.chip.Port(i)
		m := d.rack.Segment(name).AddMaster(bus.MasterConfig{
			Name: fmt.Sprintf("%s:usb%d.%d", d.spec().Rack.BMC.Name, n, i), Tolerance: guestTolerance, Slice: bridgeSlice, Queue: ftdi.FIFOSize,
		}, p)
		b.masters = append(b.masters, m)
		p.Connect(m)
	}
	b.host.Plug()
	return nil
}

// serve plays the device for QEMU, which listens at the socket.
func (b *bmcBridge) serve(ctx context.Context, wg *sync.WaitGroup, socket string) {
	wg.Go(func() {
		b.host.Keep(ctx, func(ctx context.Context) (io.ReadWriteCloser, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		})
	})
}

// closeBridges takes the bridges off their segments.
func closeBridges(d *Daemon, l []*bmcBridge) {
	d.rack.Do(func() {
		for _, b := range l {
			for i := range ftdi.Ports {
				b.chip.Port(i).Connect(nil)
			}
			for _, m := range b.masters {
				m.Close()
			}
		}
	})
}

// BMCPort is the status of a port of a bridge.
type BMCPort struct {
	Bridge   int           `json:"bridge"` // 1, 2, 3
	Port     int           `json:"port"`   // 0 to 3: the interface, and the order of ttyUSB in Linux
	Segment  string        `json:"segment,omitempty"`
	Line     string        `json:"line"`
	Baud     float64       `json:"baud"` // exact
	Counters ftdi.Counters `json:"counters"`
}

// BMCBridge is the status of a bridge.
type BMCBridge struct {
	Plugged   bool `json:"plugged"`
	Connected bool `json:"connected"` // QEMU is
}

func (b *bmcBridge) status(n int) (s BMCBridge, l []BMCPort) {
	s = BMCBridge{Plugged: b.host.Plugged(), Connected: b.host.Connected()}
	for i, name := range b.segments {
		p := b.chip.Port(i).Status()
		l = append(l, BMCPort{Bridge: n, Port: i, Segment: name, Line: p.Line.String(), Baud: p.Baud, Counters: p.Counters})
	}
	return s, l
}

package rack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"cnuas/internal/sim"
	"cnuas/internal/topology"
	"cnuas/modbus/bus"
	"cnuas/modbus/pty"
	"cnuas/modbus/rtu"
)

// segment is one RS-485 segment with its ways in.
type segment struct {
	rack *Rack
	spec topology.RackSegment
	proc *sim.Proc // of what is around the bus
	bus  *bus.Segment
	tty  tty
	sock listener
	link string // to the terminal
}

func (r *Rack) addSegment(spec topology.RackSegment, h *pty.Hub) error {
	s := &segment{rack: r, spec: spec, link: filepath.Join(r.opt.Dir, spec.Name)}
	s.sock.fd = -1
	s.bus = bus.New(r.eng.NewProc(), bus.Config{Name: spec.Name, Turnaround: spec.Turnaround, Echo: spec.Echo})
	s.proc = r.eng.NewProc()
	if err := bus.CheckLine(spec.Line); err != nil {
		return fmt.Errorf("segment %s: %w", spec.Name, err)
	}
	r.segs = append(r.segs, s)
	if err := s.tty.open(s, h); err != nil {
		return fmt.Errorf("segment %s: %w", spec.Name, err)
	}
	if err := os.Symlink(s.tty.p.Path(), s.link); err != nil {
		return fmt.Errorf("segment %s: %w", spec.Name, err)
	}
	if err := s.sock.open(s, s.link+topology.SocketSuffix); err != nil {
		return fmt.Errorf("segment %s: %w", spec.Name, err)
	}
	return nil
}

// addSlave puts a device on the segment under its name, "shelf1/psu3".
func (s *segment) addSlave(name string, l rtu.Line, e *rtu.Slave) (*bus.Station, error) {
	if err := bus.CheckLine(l); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s.bus.AddSlave(name, l, e), nil
}

func (s *segment) clients() []Client {
	t := s.tty.status()
	t.Refused = s.sock.refused
	l := []Client{t}
	for _, c := range s.sock.conns {
		l = append(l, c.status())
	}
	return l
}

// close removes what others see of the segment.
func (s *segment) close() error {
	var errs []error
	if s.tty.p != nil {
		errs = append(errs, s.tty.shut())
		// Only the link to our own terminal: its number may be another's soon.
		if to, err := os.Readlink(s.link); err == nil && to == s.tty.p.Path() {
			errs = append(errs, os.Remove(s.link))
		}
	}
	errs = append(errs, s.sock.shut())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("segment %s: %w", s.spec.Name, err)
	}
	return nil
}

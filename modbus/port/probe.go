package port

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cnuas/modbus/orv3"
	"cnuas/modbus/rtu"
)

// ProbeOptions say where to look. The zero value looks for each kind of device
// at the addresses of its register map, at every rate that maps have with its
// parity.
type ProbeOptions struct {
	Lines     []rtu.Line    // these instead, for every kind
	Addresses []uint8       // these only, at each line
	All       bool          // every address, 1 to 247
	Silence   time.Duration // how long an address may take to answer, 0 for 70 ms
	Timeout   time.Duration // likewise of one that has answered, 0 for 300 ms
	Echo      bool          // the adapter hears what it sends
	// Progress is told of each address before it is asked: at a line, done of
	// all that there are.
	Progress func(l rtu.Line, addr uint8, done, all int)
}

// Found is a device that answers.
type Found struct {
	Address  uint8   `json:"address"`
	Line     string  `json:"line"`
	Kind     string  `json:"kind,omitempty"`    // of orv3.Kinds; "": answers, and is none that we know
	Title    string  `json:"title,omitempty"`   // what that is
	Profile  string  `json:"profile,omitempty"` // of orv3.Profiles
	Identity []Value `json:"identity,omitempty"`
	Values   []Value `json:"values,omitempty"`
	Flags    []Value `json:"flags,omitempty"` // alarm registers
	Note     string  `json:"note,omitempty"`  // what went wrong
}

// Value is a register that was read.
type Value struct {
	Register uint16 `json:"register"`
	Name     string `json:"name"`
	Text     string `json:"text"` // with its unit
}

const defaultSilence = 70 * time.Millisecond

// spot is one address to be asked at one line, for the kinds that may be there.
type spot struct {
	line  rtu.Line
	addr  uint8
	kinds []orv3.Kind
}

// Probe asks who is on a bus, emulated or real, and reads what they say of
// themselves. Addresses that stay silent are no error. It returns what it has
// found, in the order of lines and addresses, also when the context ends or the
// port fails in between.
func Probe(ctx context.Context, path string, o ProbeOptions) ([]Found, error) {
	spots := o.spots()
	if len(spots) == 0 {
		return nil, fmt.Errorf("probe %s: no kind of device is looked for at these addresses: ask for all", path)
	}
	p, err := Open(path, spots[0].line)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	pr := &probe{o: o, c: &Client{Port: p, Echo: o.Echo}}
	var found []Found
	for i, s := range spots {
		if err := ctx.Err(); err != nil {
			return found, fmt.Errorf("probe %s: %w", path, err)
		}
		if o.Progress != nil {
			o.Progress(s.line, s.addr, i, len(spots))
		}
		f, err := pr.ask(s)
		if err != nil {
			return found, fmt.Errorf("probe %s: %w", path, err)
		}
		if f != nil {
			found = append(found, *f)
		}
	}
	return found, nil
}

// spots are all addresses to ask, line by line: a line cannot be changed
// without opening the port again.
func (o *ProbeOptions) spots() []spot {
	lines := o.Lines
	kinds := orv3.Kinds()
	if len(lines) == 0 {
		for _, k := range kinds {
			if !slices.Contains(lines, k.Map.Line) {
				lines = append(lines, k.Map.Line)
			}
		}
	}
	there := expected(kinds)
	// A device that is asked for may have been set to another line than its map's.
	anyLine := len(o.Lines) > 0 || len(o.Addresses) > 0 || o.All
	var l []spot
	for _, line := range lines {
		for a := 1; a <= 255; a++ {
			addr := uint8(a)
			s := spot{line: line, addr: addr}
			for _, k := range there[a] {
				// Devices are set to other rates than their map's, but seldom to
				// another parity.
				if anyLine || k.Map.Line.Parity == line.Parity && k.Map.Line.Stop == line.Stop {
					s.kinds = append(s.kinds, k)
				}
			}
			switch asked := slices.Contains(o.Addresses, addr); {
			case asked, len(o.Addresses) == 0 && o.All && a <= 247, len(o.Addresses) == 0 && len(s.kinds) > 0:
				l = append(l, s)
			}
		}
	}
	return l
}

// expected are the kinds that may be at each address: where masters look for
// them, or, where no map says that, where they are in the rack that we know.
func expected(kinds []orv3.Kind) (at [256][]orv3.Kind) {
	known := orv3.Ventura2()
	for _, k := range kinds {
		for a := range at {
			if k.Scanned(uint8(a)) {
				at[a] = append(at[a], k)
			}
		}
		if len(k.Map.Ranges) > 0 {
			continue
		}
		for _, s := range known.Shelves {
			for _, x := range s.Slots {
				if s.Kind == k.Name && !slices.ContainsFunc(at[x.Address], func(o orv3.Kind) bool { return o.Name == k.Name }) {
					at[x.Address] = append(at[x.Address], k)
				}
			}
		}
	}
	return at
}

type probe struct {
	o ProbeOptions
	c *Client
}

// ask looks whether there is anybody, and who.
func (p *probe) ask(s spot) (*Found, error) {
	if err := p.c.Port.SetLine(s.line); err != nil {
		return nil, err
	}
	p.c.Timeout, p.c.Retries = p.o.Silence, 0
	if p.c.Timeout <= 0 {
		p.c.Timeout = defaultSilence
	}
	regs := []uint16{}
	for _, k := range s.kinds {
		if !slices.Contains(regs, k.Map.Probe) {
			regs = append(regs, k.Map.Probe)
		}
	}
	if len(regs) == 0 {
		regs = []uint16{0}
	}
	note := ""
	for try := 0; try < 3; {
		_, err := p.c.ReadRegisters(s.addr, regs[0], 1)
		var ex *ExceptionError
		switch {
		case err == nil, errors.As(err, &ex):
			return p.identify(s), nil
		case errors.Is(err, ErrTimeout):
			if note == "" {
				return nil, nil
			}
		case fatal(err):
			return nil, err
		}
		// Somebody answers, and not well: two of one address, or noise.
		note = err.Error()
		try++
	}
	return &Found{Address: s.addr, Line: s.line.String(), Note: note}, nil
}

// fatal tells errors of the port from those of the bus.
func fatal(err error) bool {
	for _, e := range []error{rtu.ErrShort, rtu.ErrCRC, rtu.ErrAddress, rtu.ErrFunction, rtu.ErrMismatch, ErrTimeout, ErrNoise} {
		if errors.Is(err, e) {
			return false
		}
	}
	var ex *ExceptionError
	return !errors.As(err, &ex)
}

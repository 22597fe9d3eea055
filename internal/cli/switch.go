package cli

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"cnuas/internal/switchd"
	"cnuas/internal/topology"
	"cnuas/internal/tunnel"
	"cnuas/internal/tunnel/udp"
	"cnuas/internal/wire"
	"cnuas/switch/ib"
)

// peers are the values of --peer, by port.
type peers map[int]switchd.Peer

// String implements flag.Value.
func (p peers) String() string { return "" }

// Set implements flag.Value: PORT=HOST:PORT[/END].
func (p peers) Set(s string) error {
	const form = "write 3=127.0.0.1:4793, or 3=127.0.0.1:4793/2 for end 2 there"
	port, at, ok := strings.Cut(s, "=")
	n, err := strconv.Atoi(port)
	if !ok || err != nil || n < 1 || n > ib.MaxPorts {
		return fmt.Errorf("%s", form)
	}
	if _, dup := p[n]; dup {
		return fmt.Errorf("port %d has a peer already", n)
	}
	at, end, given := strings.Cut(at, "/")
	x := switchd.Peer{Num: uint16(n)}
	if given {
		e, err := strconv.ParseUint(end, 10, 16)
		if err != nil || e == 0 {
			return fmt.Errorf("%s", form)
		}
		x.Num = uint16(e)
	}
	if x.Addr, err = udp.Resolve(at); err != nil {
		return fmt.Errorf("%w; %s", err, form)
	}
	p[n] = x
	return nil
}

// switchProcess runs one InfiniBand switch until it is interrupted.
func (a *app) switchProcess(args []string) error {
	fs := flag.NewFlagSet("switch", flag.ContinueOnError)
	kind := fs.String("kind", "ib", "ib: the kind that has links over UDP")
	name := fs.String("name", "switch", "its name, and its node description")
	ports := fs.Int("ports", 36, "number of ports")
	listen := fs.String("listen", fmt.Sprintf("127.0.0.1:%d", tunnel.Port), "UDP socket of all its ports")
	guid := fs.String("guid", "", "node GUID, such as 0x0002c90300a1b2c4; without it one that follows from the name")
	peer := peers{}
	fs.Var(peer, "peer", "PORT=HOST:PORT[/END]: speak first to the neighbour of a port, which has the number END there (default the same number); may be repeated. Other ports wait to be spoken to")
	l := topology.IBLink{}
	fs.IntVar(&l.Width, "width", topology.DefaultIBWidth, "lanes of its links, at most")
	speed := fs.String("speed", string(topology.DefaultIBSpeed), "speed of a lane, at most")
	fs.IntVar(&l.MTU, "mtu", topology.DefaultIBMTU, "bytes of payload of a packet, at most")
	fs.IntVar(&l.VLs, "vls", topology.DefaultIBVLs, "data lanes")
	scale := fs.Float64("scale", 1, "run this many times slower than the wall clock, as the neighbours do")
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	l.Speed = topology.Speed(*speed)
	cfg := switchd.Config{Name: *name, Ports: *ports, Peers: peer, Scale: *scale, Log: a.err}
	switch {
	case len(pos) > 0:
		return usageError("takes no arguments, only options")
	case *kind != "ib":
		return usageError("--kind %q: only ib switches run as processes of their own; Ethernet switches are part of a fabric", *kind)
	case *ports < 1 || *ports > ib.MaxPorts:
		return usageError("--ports %d: a switch has 1 to %d", *ports, ib.MaxPorts)
	case topology.CheckName(*name) != nil:
		return usageError("--name: %v", topology.CheckName(*name))
	}
	if cfg.Listen, err = udp.Resolve(*listen); err != nil {
		return usageError("--listen: %v: write 127.0.0.1:%d", err, tunnel.Port)
	}
	if cfg.Port, err = switchd.PortConfig(l); err != nil {
		return usageError("%v", err)
	}
	if *guid != "" {
		g, err := topology.ParseGUID(*guid)
		if err != nil {
			return usageError("--guid: %v", err)
		}
		cfg.GUID = wire.GUID(g)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return switchd.Run(ctx, cfg, func(at netip.AddrPort) {
		g := cfg.GUID
		if g == 0 {
			g = switchd.GUIDOf(cfg.Name)
		}
		fmt.Fprintf(a.out, "switch %s with %d ports is at udp %v, GUID %#016x; interrupt to end it\n", cfg.Name, cfg.Ports, at, uint64(g))
	})
}

package daemon

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"cnuas/internal/fabric"
	"cnuas/internal/status"
	"cnuas/internal/tunnel"
	"cnuas/internal/tunnel/udp"
)

// listenTunnels makes the UDP socket of the fabric's tunnels; nothing if it has
// none. The default port is for the first fabric of the machine; others get any
// that is free, unless the topology asks for one.
func (d *Daemon) listenTunnels() (*fabric.Tunnels, error) {
	s := d.spec()
	if !s.HasTunnels() {
		return nil, nil
	}
	at := s.TunnelListen
	if !at.IsValid() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), tunnel.Port)
	}
	var err error
	if d.tunnels, err = udp.Listen(at); errors.Is(err, unix.EADDRINUSE) && !s.TunnelListen.IsValid() {
		if d.tunnels, err = udp.Listen(netip.AddrPortFrom(at.Addr(), 0)); err == nil {
			d.logf("tunnels: udp %v is taken, so they are at %v", at, d.tunnels.Addr())
		}
	}
	if err != nil {
		return nil, err
	}
	var b [4]byte
	if _, err := rand.Read(b[:]); err != nil {
		return nil, fmt.Errorf("entropy for the session of tunnels: %w", err)
	}
	return &fabric.Tunnels{Socket: d.tunnels, At: d.tunnels.Addr(), Hub: tunnel.HubConfig{
		Session: binary.BigEndian.Uint32(b[:]) | 1, Heartbeat: fabric.TunnelHeartbeat(d.cfg.Scale), Scale: d.cfg.Scale, Log: d.logf,
	}}, nil
}

// startTunnels puts the socket on the loop.
func (d *Daemon) startTunnels() error {
	if d.tunnels == nil {
		return nil
	}
	return d.tunnels.Start(d.loop, d.fab.Hub(), d.logf)
}

// closeTunnels says goodbye to peers in other processes and closes the socket.
// The loop has ended, or never ran.
func (d *Daemon) closeTunnels() error {
	if d.tunnels == nil {
		return nil
	}
	if d.fab != nil {
		d.fab.Hub().Close()
	}
	return d.tunnels.Close()
}

// tellTunnels adds what the socket has counted. The caller holds the engine.
func (d *Daemon) tellTunnels(s *status.Fabric) {
	if d.tunnels == nil || s.Tunnels == nil {
		return
	}
	st := d.tunnels.Stats()
	s.Tunnels.Overflow, s.Tunnels.Unsent = st.Overflow, st.Unsent
}

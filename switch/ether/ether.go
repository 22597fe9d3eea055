// Package ether is an Ethernet switch: parse, classify, forward by MAC address
// (IEEE 802.1Q) or IP route with ECMP, admit into a shared buffer, mark ECN,
// queue; and priority-based flow control towards the senders.
package ether

import (
	"cnuas/internal/frame"
	"cnuas/internal/link"
	"cnuas/internal/sim"
	switching "cnuas/switch"
)

// Switch implements link.Device and link.LinkWatcher for its ports.
type Switch struct {
	cfg   Config
	eng   *sim.Engine
	pool  *frame.Pool
	ports []*port
}

type port struct {
	link  *link.Port
	count switching.PortCounters
}

// New builds a switch. The error names every problem of the configuration.
func New(e *sim.Engine, pool *frame.Pool, cfg Config) (*Switch, error) {
	s := &Switch{cfg: cfg, eng: e, pool: pool}
	for i, c := range cfg.Ports {
		p := &port{}
		p.link = link.NewPort(e, pool, s, i, c.Name)
		s.ports = append(s.ports, p)
	}
	return s, nil
}

// Port returns port i, counted from 0.
func (s *Switch) Port(i int) *link.Port { return s.ports[i].link }

// Receive implements link.Device.
func (s *Switch) Receive(i int, f *frame.Frame) { s.pool.Put(f) }

// Dequeue implements link.Device.
func (s *Switch) Dequeue(i int) *frame.Frame { return nil }

// Counters returns the counters of port i.
func (s *Switch) Counters(i int) *switching.PortCounters { return &s.ports[i].count }

package rdmacm

import (
	"slices"

	"golang.org/x/sys/unix"

	"cnuas/hca/cm"
)

// Port spaces.
const (
	spaceIPoIB = cm.PortSpaceIPoIB
	spaceTCP   = cm.PortSpaceTCP
	spaceUDP   = cm.PortSpaceUDP
	spaceIB    = cm.PortSpaceIB
)

// sized reads an address for which the program states a size.
func sized(b []byte, size uint16) (a address, err error) {
	if int(size) > sockaddrStorage {
		return a, unix.EINVAL
	}
	a, err = parseAddress(b[:size])
	want := map[uint16]uint16{0: size, unix.AF_INET: sockaddrIn, unix.AF_INET6: sockaddrIn6, afIB: sockaddrIB}
	if err == nil && want[a.family] != size {
		err = unix.EINVAL
	}
	return a, err
}

// bindIP is struct rdma_ucm_bind_ip: 0 response  8 addr  36 id.
func bindIP(c *command) error {
	i, err := c.id(36)
	if err != nil {
		return err
	}
	a, err := parseAddress(c.in[8:36])
	if err != nil || a.family == 0 {
		return unix.EINVAL
	}
	return i.bind(a)
}

// bind is struct rdma_ucm_bind: 0 id  4 addr_size  6 reserved  8 addr.
func bind(c *command) error {
	i, err := c.id(0)
	if err != nil {
		return err
	}
	a, err := sized(c.in[8:], le.Uint16(c.in[4:]))
	if err != nil || a.family == 0 || le.Uint16(c.in[6:]) != 0 {
		return unix.EINVAL
	}
	return i.bind(a)
}

// bind gives the identifier its own address and port: ENODEV if no device has
// the address.
func (i *id) bind(a address) error {
	s := i.svc
	if i.state != stateIdle {
		return unix.EINVAL
	}
	old := i.src
	i.src = a
	if !a.any() {
		if a.family == afIB {
			i.dev, i.sgidIndex = s.ownGID(&a)
		} else {
			i.dev, i.sgidIndex = s.deviceOf(a.ip)
		}
		if i.dev == nil {
			i.src = old
			return unix.ENODEV
		}
	}
	if err := s.takePort(i); err != nil {
		i.src, i.dev = old, nil
		return err
	}
	i.state = stateAddrBound
	return nil
}

// ownGID finds the InfiniBand port that has a GID.
func (s *Service) ownGID(a *address) (*device, uint8) {
	for _, d := range s.devs {
		if d.roce() {
			continue
		}
		if i, ok := d.gidIndex(a.gid); ok {
			return d, i
		}
	}
	return nil, 0
}

// maxBacklog is the most requests that may wait for a listener's program.
const maxBacklog = 1024

// listen is struct rdma_ucm_listen: 0 id  4 backlog.
func listen(c *command) error {
	i, err := c.id(0)
	if err != nil {
		return err
	}
	if i.state == stateIdle {
		if err := i.bind(anyOf(unix.AF_INET)); err != nil {
			return err
		}
	}
	if i.state != stateAddrBound {
		return unix.EINVAL
	}
	if i.reuse { // only one may listen
		i.reuse = false
		if !i.svc.portFree(i, i.src.port) {
			i.reuse = true
			return unix.EADDRINUSE
		}
	}
	i.state = stateListen
	i.svc.listeners++
	i.backlog = int(int32(le.Uint32(c.in[4:])))
	if i.backlog <= 0 || i.backlog > maxBacklog {
		i.backlog = maxBacklog
	}
	if i.src.family == afIB {
		i.svc.native = append(i.svc.native, i)
	}
	return nil
}

// listener finds who listens for a request that came to a device: h is its
// header, nil without one.
func (s *Service) listener(d *device, serviceID uint64, h *cm.IPHeader) *id {
	if space, port, ok := cm.SplitServiceID(serviceID); ok && h != nil {
		var wild *id
		for _, i := range s.ports[portKey(space, port)] {
			switch {
			case i.state != stateListen || i.src.family == afIB || i.dev != nil && i.dev != d:
			case i.src.ip == h.Dst:
				return i
			case i.src.any() && (i.src.ip.BitLen() == h.Dst.BitLen() || i.src.ip.Is6() && !i.afOnly):
				if wild == nil || i.src.ip.BitLen() == h.Dst.BitLen() {
					wild = i
				}
			}
		}
		if wild != nil {
			return wild
		}
	}
	k := slices.IndexFunc(s.native, func(i *id) bool {
		return (i.dev == nil || i.dev == d) && !d.roce() && (i.src.sid^serviceID)&i.src.mask == 0
	})
	if k < 0 {
		return nil
	}
	return s.native[k]
}

package rdmacm

import (
	"slices"

	"golang.org/x/sys/unix"

	"cnuas/hca/cm"
)

// Ports that are given to who does not choose one, as Linux's default
// ip_local_port_range.
const firstEphemeral, lastEphemeral = 32768, 60999

func portKey(space, port uint16) uint32 { return uint32(space)<<16 | uint32(port) }

// takePort binds the identifier to its port, or to a free one if that is 0:
// EADDRINUSE, EADDRNOTAVAIL.
func (s *Service) takePort(i *id) error {
	if i.src.family == afIB && i.space == cm.PortSpaceIB && i.src.mask != ^uint64(0) {
		return nil // a range of services, not a port
	}
	if i.src.port != 0 {
		if !s.portFree(i, i.src.port) {
			return unix.EADDRINUSE
		}
	} else {
		const n = lastEphemeral - firstEphemeral + 1
		start, k := s.rand.IntN(n), 0
		for ; k < n; k++ {
			p := uint16(firstEphemeral + (start+k)%n)
			if len(s.ports[portKey(i.space, p)]) == 0 {
				i.src.port = p
				break
			}
		}
		if k == n {
			return unix.EADDRNOTAVAIL
		}
		if i.src.family == afIB {
			i.src.sid = i.src.sid&^0xffff | uint64(i.src.port)
		}
	}
	k := portKey(i.space, i.src.port)
	s.ports[k] = append(s.ports[k], i)
	i.hasPort = true
	return nil
}

// portFree tells whether nobody that has the port stands in the way.
func (s *Service) portFree(i *id, port uint16) bool {
	for _, x := range s.ports[portKey(i.space, port)] {
		if x == i || x.reuse && i.reuse && x.state != stateListen {
			continue
		}
		if x.src.any() || i.src.any() {
			if x.src.family != i.src.family && (x.afOnly || i.afOnly || x.src.family == afIB || i.src.family == afIB) {
				continue
			}
			return false
		}
		if x.src.family == i.src.family && x.src.ip == i.src.ip && x.src.gid == i.src.gid {
			return false
		}
	}
	return true
}

func (s *Service) givePort(i *id) {
	if !i.hasPort {
		return
	}
	i.hasPort = false
	k := portKey(i.space, i.src.port)
	if l := slices.DeleteFunc(s.ports[k], func(x *id) bool { return x == i }); len(l) > 0 {
		s.ports[k] = l
	} else {
		delete(s.ports, k)
	}
}

package ether

import (
	"cmp"
	"math/bits"
	"slices"

	"cnuas/internal/sim"
)

// fdb is the filtering database of learned addresses (IEEE 802.1Q-2018 clause
// 8.8): open addressing with linear probing, because a map costs three times
// as much for the two look-ups that each bridged frame needs. Entries expire
// when they are looked at; there is no timer, so an idle switch has no events.
type fdb struct {
	slots []fdbSlot // a power of two
	shift uint8
	n     int // slots in use, expired ones included
	max   int
	age   sim.Time

	moves uint64 // a station was seen at another port
	full  uint64 // addresses that were not learned for lack of room
}

type fdbSlot struct {
	key  uint64 // fdbKey; 0: empty
	seen sim.Time
	port int32
}

// fdbKey of a station in a VLAN, which is never 0.
func fdbKey(vid uint16, mac []byte) uint64 {
	_ = mac[5]
	return uint64(vid)<<48 | uint64(mac[0])<<40 | uint64(mac[1])<<32 | uint64(mac[2])<<24 |
		uint64(mac[3])<<16 | uint64(mac[4])<<8 | uint64(mac[5])
}

func (t *fdb) init(max int, age sim.Time) {
	t.max, t.age = max, age
	t.resize(64)
}

func (t *fdb) resize(n int) {
	t.slots = make([]fdbSlot, n)
	t.shift = uint8(64 - bits.Len(uint(n-1)))
	t.n = 0
}

func (t *fdb) at(key uint64) *fdbSlot {
	mask := len(t.slots) - 1
	for i := int(key * 0x9e3779b97f4a7c15 >> t.shift); ; i++ {
		if s := &t.slots[i&mask]; s.key == key || s.key == 0 {
			return s
		}
	}
}

// lookup returns the port behind which the station is; false if unknown.
func (t *fdb) lookup(key uint64, now sim.Time) (int, bool) {
	s := t.at(key)
	if s.key == 0 || now-s.seen > t.age {
		return 0, false
	}
	return int(s.port), true
}

// learn notes that a frame of the station came by a port.
func (t *fdb) learn(key uint64, port int, now sim.Time) {
	s := t.at(key)
	if s.key == 0 {
		if t.n >= t.max || t.n >= len(t.slots)/2 {
			if !t.room(now) {
				t.full++
				return
			}
			s = t.at(key)
		}
		t.n++
		s.key, s.port = key, int32(port)
	} else if s.port != int32(port) {
		s.port = int32(port)
		t.moves++
	}
	s.seen = now
}

// room drops expired entries and grows the table if that was not enough.
func (t *fdb) room(now sim.Time) bool {
	t.rebuild(func(s *fdbSlot) bool { return now-s.seen <= t.age }, len(t.slots))
	if t.n >= t.max {
		return false
	}
	if t.n >= len(t.slots)/4 {
		t.rebuild(func(*fdbSlot) bool { return true }, 2*len(t.slots))
	}
	return true
}

// flush forgets the stations behind a port.
func (t *fdb) flush(port int) {
	t.rebuild(func(s *fdbSlot) bool { return s.port != int32(port) }, len(t.slots))
}

func (t *fdb) rebuild(keep func(*fdbSlot) bool, size int) {
	old := t.slots
	t.resize(size)
	for i := range old {
		if o := &old[i]; o.key != 0 && keep(o) {
			*t.at(o.key) = *o
			t.n++
		}
	}
}

// FDBEntry is a learned address.
type FDBEntry struct {
	VID  uint16
	MAC  [6]byte
	Port int      // index
	Seen sim.Time // last frame from the station
}

// FDB returns the learned addresses that have not expired, by VLAN and address.
func (s *Switch) FDB() []FDBEntry {
	var all []FDBEntry
	now := s.eng.Now()
	for _, e := range s.fdb.slots {
		if e.key == 0 || now-e.seen > s.fdb.age {
			continue
		}
		x := FDBEntry{VID: uint16(e.key >> 48), Port: int(e.port), Seen: e.seen}
		for i := range x.MAC {
			x.MAC[i] = byte(e.key >> (40 - 8*i))
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b FDBEntry) int {
		return cmp.Or(cmp.Compare(a.VID, b.VID), slices.Compare(a.MAC[:], b.MAC[:]))
	})
	return all
}

package topology

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// MAC is an Ethernet address.
type MAC [6]byte

// String prints the address as 02:00:00:00:01:00.
func (m MAC) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}

// ParseMAC reads six hexadecimal bytes with colons between.
func ParseMAC(s string) (MAC, error) {
	var m MAC
	f := strings.Split(s, ":")
	if len(f) != len(m) {
		return m, fmt.Errorf("%q is not a MAC address of the form 02:00:00:00:01:00", s)
	}
	for i, x := range f {
		v, err := strconv.ParseUint(x, 16, 8)
		if err != nil || len(x) != 2 {
			return MAC{}, fmt.Errorf("%q is not a MAC address of the form 02:00:00:00:01:00", s)
		}
		m[i] = byte(v)
	}
	return m, nil
}

// Multicast tells whether the group bit is set (IEEE 802 §8.2.2).
func (m MAC) Multicast() bool { return m[0]&1 != 0 }

// MarshalText implements encoding.TextMarshaler.
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *MAC) UnmarshalText(b []byte) (err error) {
	*m, err = ParseMAC(string(b))
	return err
}

// PrioritySet is a set of priorities 0-7: bit n for priority n.
type PrioritySet uint8

// Has tells whether the set holds priority n.
func (s PrioritySet) Has(n int) bool { return s&(1<<n) != 0 }

// List returns the priorities, ascending.
func (s PrioritySet) List() []int {
	l := []int{}
	for i := range 8 {
		if s.Has(i) {
			l = append(l, i)
		}
	}
	return l
}

// MarshalJSON writes the set as a list.
func (s PrioritySet) MarshalJSON() ([]byte, error) { return json.Marshal(s.List()) }

// UnmarshalJSON reads a list.
func (s *PrioritySet) UnmarshalJSON(b []byte) error {
	var l []int
	if err := json.Unmarshal(b, &l); err != nil {
		return err
	}
	*s = 0
	for _, n := range l {
		if n < 0 || n > 7 {
			return fmt.Errorf("priority %d is not in 0-7", n)
		}
		*s |= 1 << n
	}
	return nil
}

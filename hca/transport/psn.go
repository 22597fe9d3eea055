package transport

// PSNMask is the range of a packet sequence number (IBTA vol. 1 §9.7.1).
const PSNMask = 1<<24 - 1

// Diff returns a-b for sequence numbers that lie less than 2^23 apart:
// negative when a is before b.
func Diff(a, b uint32) int32 { return int32((a-b)<<8) >> 8 }

// Add returns a+n, wrapped.
func Add(a, n uint32) uint32 { return (a + n) & PSNMask }

// Packets is the number of packets of a message of n bytes: at least one.
func Packets(n, mtu uint32) uint32 {
	if n <= mtu {
		return 1
	}
	return (n-1)/mtu + 1
}

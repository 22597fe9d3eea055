package transport

import "cnuas/internal/sim"

// rnr are the RNR NAK timer values in units of 10 us (IBTA vol. 1 §9.7.5.2.8,
// table 46).
var rnr = [32]sim.Time{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// RNRTime returns the time that a timer code, of which five bits count, stands
// for: 10 us to 655.36 ms.
func RNRTime(code uint8) sim.Time { return rnr[code&31] * 10 * sim.Microsecond }

// AckTimeout returns the local ACK timeout 4.096 us x 2^code (IBTA vol. 1
// §9.7.6.1.3); 0, for code 0, means that there is none.
func AckTimeout(code uint8) sim.Time {
	if code &= 31; code == 0 {
		return 0
	}
	return 4096 * sim.Nanosecond << code
}

// MTUBytes returns the bytes of an MTU code: 1 for 256 to 5 for 4096.
func MTUBytes(code uint8) uint32 { return 128 << code }

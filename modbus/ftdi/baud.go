package ftdi

// Clocks of the baud rate generator, in Hz: 48 MHz / 16, and since the H series
// 120 MHz / 10.
const (
	clock48  = 3_000_000
	clock120 = 12_000_000
)

// eighths are the fractions that the three bits of a divisor's code mean
// (AN_120, 3.1).
var eighths = [8]int64{0, 4, 2, 1, 3, 5, 6, 7}

// divisor is a divisor as request 3 brings it.
type divisor struct {
	code    uint16 // bits 0 to 13 the integer part, 14 and 15 the fraction's low bits
	high    bool   // the fraction's third bit
	fastest bool   // the clock is clock120
}

// of reads a divisor from the value and the high byte of the index.
func divisorOf(value uint16, high uint8) divisor {
	return divisor{code: value, high: high&1 != 0, fastest: high&2 != 0}
}

// rate is the baud rate as a fraction: clock * 8 / eighths. The codes 0 and 1
// stand for the divisors 1 and 1.5 (AN_120, 3.1).
func (d divisor) rate() (num, den int64) {
	num = clock48 * 8
	if d.fastest {
		num = clock120 * 8
	}
	fraction := d.code >> 14
	if d.high {
		fraction |= 4
	}
	n := int64(d.code & 0x3fff)
	switch {
	case n == 0 && fraction == 0:
		return num, 8
	case n == 1 && fraction == 0:
		return num, 12
	}
	den = n*8 + eighths[fraction]
	// Divisors between 0 and 2 are no others: the counter cannot do them.
	return num, max(den, 8)
}

// Baud is the exact rate, in bits per second.
func (d divisor) Baud() float64 {
	num, den := d.rate()
	return float64(num) / float64(den)
}

// rounded is the rate to the nearest bit per second.
func (d divisor) rounded() int {
	num, den := d.rate()
	return int((num + den/2) / den)
}

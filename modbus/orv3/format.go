package orv3

import (
	"fmt"
	"math"
	"strings"
)

// Format is how the words of a register are to be understood.
type Format uint8

// Formats of the tables. A word is 16 bits, high byte first on the wire.
const (
	Raw     Format = iota // no meaning given
	String                // ASCII, two characters a word, high byte first, NUL-padded
	Integer               // two's complement or unsigned, high word first
	Float                 // fixed point: integer / 2^Precision * Scale + Shift
	Flags                 // bit 0 is the least significant of the whole
	Float32               // IEEE 754 single precision, high word first
)

var formatNames = [...]string{"RAW", "STRING", "INTEGER", "FLOAT", "FLAGS", "FLOAT32"}

// String names the format as the tables do.
func (f Format) String() string {
	if int(f) < len(formatNames) {
		return formatNames[f]
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

func parseFormat(s string) (Format, error) {
	switch s {
	case "STRING", "String":
		return String, nil
	case "INTEGER", "Integer", "LONG":
		return Integer, nil
	case "FLOAT", "FixedPoint":
		return Float, nil
	case "FLAGS", "Flags":
		return Flags, nil
	case "Float32", "FLOAT32":
		return Float32, nil
	case "RAW", "":
		return Raw, nil
	}
	return 0, fmt.Errorf("format %q: want RAW, STRING, INTEGER, LONG, FLOAT or FLAGS", s)
}

// Flag is one bit of a register.
type Flag struct {
	Bit  uint8 // 0 is the least significant bit of the register's last word
	Name string
}

// Register describes one register of a map.
type Register struct {
	Addr   uint16 // of its first word
	Words  uint16 // 1 to 125
	Name   string
	Format Format
	Little bool  // INTEGER of low word first, each word with its bytes swapped
	Signed bool  // INTEGER and FLOAT: two's complement
	Bits   uint8 // FLOAT: fraction bits ("precision")
	Scale  float64
	Shift  float64
	Flags  []Flag // FLAGS
	Unit   string // of the value; "" if it has none

	src  source  // what the value comes from
	lsb  float64 // of the number by the tables in Unit; 0: 1
	zero float64 // value in Unit of the number 0
	cond []bit   // FLAGS: what sets each of Flags
}

// End is the address after the last word.
func (r *Register) End() int { return int(r.Addr) + int(r.Words) }

// Resolution is the step between two values that the register can tell apart,
// in its unit; 0 for text.
func (r *Register) Resolution() float64 {
	switch r.Format {
	case Float:
		return math.Abs(r.scale()) / float64(uint64(1)<<r.Bits) * r.unit()
	case String:
		return 0
	}
	return r.unit()
}

func (r *Register) scale() float64 {
	if r.Scale == 0 {
		return 1
	}
	return r.Scale
}

// unit is what one step of the tables' value is in the unit of the model: the
// tables leave it open for integers.
func (r *Register) unit() float64 {
	if r.lsb == 0 {
		return 1
	}
	return r.lsb
}

// Encode writes v into w, which has at least Words words. A value beyond what
// the register holds saturates, as the registers of real devices do.
func (r *Register) Encode(w []uint16, v float64) {
	w = w[:r.Words]
	switch r.Format {
	case Float32:
		if !math.IsInf(v, 0) {
			v = min(max(v, -math.MaxFloat32), math.MaxFloat32)
		}
		b := math.Float32bits(float32(v))
		clear(w)
		w[0] = uint16(b >> 16)
		if len(w) > 1 {
			w[1] = uint16(b)
		}
		return
	case Float:
		v = (v/r.unit() - r.Shift) / r.scale() * float64(uint64(1)<<r.Bits)
	default:
		v = (v - r.zero) / r.unit()
	}
	r.putRaw(w, saturate(math.RoundToEven(v), int(r.Words), r.Signed))
}

func saturate(v float64, words int, signed bool) uint64 {
	bits := min(words*16, 64)
	switch {
	case v != v: // NaN: a sensor that is not there reads 0
		return 0
	case signed:
		top := math.Ldexp(1, bits-1)
		switch {
		case v >= top:
			return uint64(1)<<(bits-1) - 1
		case v < -top:
			return uint64(1) << (bits - 1)
		}
		return uint64(int64(v))
	case v <= 0:
		return 0
	case v >= math.Ldexp(1, bits):
		return ^uint64(0) >> (64 - bits)
	}
	return uint64(v)
}

func (r *Register) putRaw(w []uint16, x uint64) {
	n := len(w)
	for i := range w {
		shift := 16 * (n - 1 - i)
		if r.Little {
			shift = 16 * i
		}
		var v uint16
		if shift < 64 {
			v = uint16(x >> shift)
		}
		if r.Little {
			v = v<<8 | v>>8
		}
		w[i] = v
	}
}

// Uint is the register as one unsigned number, of its last four words if it is
// longer.
func (r *Register) Uint(w []uint16) uint64 {
	var x uint64
	for i := range r.Words {
		if r.Little {
			v := w[r.Words-1-i]
			x = x<<16 | uint64(v<<8|v>>8)
			continue
		}
		x = x<<16 | uint64(w[i])
	}
	return x
}

// Decode is the number in w; FLAGS and RAW give their bits, STRING 0.
func (r *Register) Decode(w []uint16) float64 {
	x := r.Uint(w)
	switch r.Format {
	case String:
		return 0
	case Float32:
		if r.Words < 2 {
			return 0
		}
		return float64(math.Float32frombits(uint32(w[0])<<16 | uint32(w[1])))
	case Integer, Float:
		v := float64(x)
		if r.Signed {
			s := 64 - min(int(r.Words)*16, 64)
			v = float64(int64(x<<s) >> s)
		}
		if r.Format == Float {
			return (v/float64(uint64(1)<<r.Bits)*r.scale() + r.Shift) * r.unit()
		}
		return v*r.unit() + r.zero
	}
	return float64(x)
}

// EncodeString writes s into w, cut to what fits and padded with NUL: masters
// compare identities after removing NULs, so blanks would count.
func (r *Register) EncodeString(w []uint16, s string) {
	for i := range r.Words {
		var v uint16
		if j := 2 * int(i); j < len(s) {
			v = uint16(s[j]) << 8
			if j+1 < len(s) {
				v |= uint16(s[j+1])
			}
		}
		w[i] = v
	}
}

// DecodeString is the text in w up to the first NUL.
func (r *Register) DecodeString(w []uint16) string {
	var b strings.Builder
	for i := range r.Words {
		for _, c := range [2]byte{byte(w[i] >> 8), byte(w[i])} {
			if c == 0 {
				return b.String()
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}

// FlagByName is the bit of a flag, compared without regard to case and to what
// is not a letter or digit.
func (r *Register) FlagByName(name string) (Flag, bool) {
	want := plain(name)
	for _, f := range r.Flags {
		if plain(f.Name) == want {
			return f, true
		}
	}
	return Flag{}, false
}

// plain is a name as people may type it: small letters, digits and single
// underscores.
func plain(s string) string {
	var b strings.Builder
	gap := false
	for _, c := range s {
		switch {
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		default:
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte('_')
			gap = false
		}
		b.WriteRune(c)
	}
	return b.String()
}

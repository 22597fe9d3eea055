package mad

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"cnuas/internal/wire"
)

// Field is where one field of an attribute lies. Bit 0 is the most significant
// of its byte; a field wider than 8 bits goes on in the following bytes.
type Field struct {
	Name       string
	Byte       int
	Bit        int
	Width      int    // bits
	Components uint64 // bits of a ComponentMask that mean it, if the attribute is an SA record
	Reserved   bool
}

// Attribute is what every attribute, record and message of this package is: a
// struct with a layout, for Decode, Encode, Fields and Text.
type Attribute interface {
	// layout names each field once, with its place; it begins with size.
	layout(c *codec)
}

// Decode reads a from b. It reports false, and changes nothing, if b is too
// short. It allocates nothing, since it is small enough to be inlined, which
// makes the call of layout a direct one; so does Encode.
func Decode(a Attribute, b []byte) bool {
	c := codec{b: b}
	a.layout(&c)
	return !c.short
}

// Encode writes a into the first bytes of b, which has to have them. Reserved
// bits become 0.
func Encode(a Attribute, b []byte) {
	c := codec{mode: modeEncode, b: b}
	a.layout(&c)
}

// Fields lists where the fields of a are.
func Fields(a Attribute) []Field {
	c := codec{mode: modeFields}
	a.layout(&c)
	return c.list
}

// Len is the length of a in bytes.
func Len(a Attribute) int {
	c := codec{mode: modeFields}
	a.layout(&c)
	return c.len
}

// codec follows a layout method. Which way the bits go is its mode; a layout
// names each field once.
type codec struct {
	mode  codecMode
	b     []byte
	off   int // of the embedded attribute that is being followed
	comp  int // component of the next field
	span  int // components of the next field besides one
	elem  int // number of the array element that is being followed, +1
	len   int // bytes of the attribute
	short bool
	list  []Field
	text  []byte
}

type codecMode uint8

const (
	modeDecode codecMode = iota
	modeEncode
	modeFields
	modeText
)

// size begins a layout of n bytes. It reports whether to go on.
func (c *codec) size(n int) bool {
	c.len = max(c.len, c.off+n)
	switch {
	case c.mode == modeDecode && len(c.b) < c.off+n:
		c.short = true
		return false
	case c.mode == modeEncode && c.off == 0:
		clear(c.b[:n])
	}
	return true
}

// Text lists the fields of a that are not zero as name=value, separated by
// blanks.
func Text(a Attribute) string {
	c := codec{mode: modeText}
	a.layout(&c)
	return string(c.text)
}

func (c *codec) add(name string, at, bit, width int) {
	if c.elem > 0 {
		name = fmt.Sprintf("%s%d", name, c.elem-1)
	}
	f := Field{Name: name, Byte: c.off + at + bit/8, Bit: bit % 8, Width: width, Reserved: name == ""}
	for range c.span + 1 {
		if c.comp < 64 {
			f.Components |= 1 << c.comp
		}
		c.comp++
	}
	c.span = 0
	c.list = append(c.list, f)
}

func (c *codec) say(name string, v any) {
	if len(c.text) > 0 {
		c.text = append(c.text, ' ')
	}
	c.text = append(c.text, name...)
	if c.elem > 0 {
		c.text = fmt.Append(c.text, c.elem-1)
	}
	c.text = append(c.text, '=')
	c.text = fmt.Append(c.text, v)
}

// comps says that the next field has n bits in the ComponentMask.
func (c *codec) comps(n int) { c.span = n - 1 }

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// bits is a field of up to 64 bits.
func bits[T unsigned](c *codec, name string, at, bit, width int, v *T) {
	switch c.mode {
	case modeDecode:
		*v = T(getBits(c.b[c.off+at:], bit, width))
	case modeEncode:
		putBits(c.b[c.off+at:], bit, width, uint64(*v))
	case modeFields:
		c.add(name, at, bit, width)
	case modeText:
		if *v != 0 {
			c.say(name, *v)
		}
	}
}

// bit is a field of one bit.
func bit(c *codec, name string, at, bit int, v *bool) {
	switch c.mode {
	case modeDecode:
		*v = c.b[c.off+at]&(0x80>>bit) != 0
	case modeEncode:
		if *v {
			c.b[c.off+at] |= 0x80 >> bit
		}
	case modeFields:
		c.add(name, at, bit, 1)
	case modeText:
		if *v {
			c.say(name, 1)
		}
	}
}

// resv is a reserved field, for the sake of its component.
func resv(c *codec, at, bit, width int) {
	if c.mode == modeFields {
		c.add("", at, bit, width)
	}
}

// blob is a field of whole bytes that is no number.
func blob(c *codec, name string, at int, v []byte) {
	switch c.mode {
	case modeDecode:
		copy(v, c.b[c.off+at:])
	case modeEncode:
		copy(c.b[c.off+at:], v)
	case modeFields:
		c.add(name, at, 0, 8*len(v))
	case modeText:
		n := len(v)
		for n > 0 && v[n-1] == 0 {
			n--
		}
		if n > 0 {
			c.say(name, hex.EncodeToString(v[:n])) // does not let v escape
		}
	}
}

// gid is a field that holds a GID.
func gid(c *codec, name string, at int, v *wire.GID) {
	if c.mode != modeText {
		blob(c, name, at, v[:])
	} else if *v != (wire.GID{}) {
		c.say(name, *v)
	}
}

// array is a row of fields of the same width.
func array[T unsigned](c *codec, name string, at, bit, width int, v []T) {
	for i := range v {
		c.elem = i + 1
		n := bit + i*width
		bits(c, name, at+n/8, n%8, width, &v[i])
	}
	c.elem = 0
}

// getBits reads width bits, at most 64, from bit on. A field that does not
// begin a byte has at most 57.
func getBits(b []byte, bit, width int) uint64 {
	if bit == 0 {
		switch width {
		case 8:
			return uint64(b[0])
		case 16:
			return uint64(binary.BigEndian.Uint16(b))
		case 32:
			return uint64(binary.BigEndian.Uint32(b))
		case 64:
			return binary.BigEndian.Uint64(b)
		}
	}
	n := (bit + width + 7) / 8
	var v uint64
	for _, x := range b[:n] {
		v = v<<8 | uint64(x)
	}
	return v >> (8*n - bit - width) & (1<<width - 1)
}

// putBits writes width bits into b, of which those bits are 0.
func putBits(b []byte, bit, width int, v uint64) {
	if bit == 0 {
		switch width {
		case 8:
			b[0] = byte(v)
			return
		case 16:
			binary.BigEndian.PutUint16(b, uint16(v))
			return
		case 32:
			binary.BigEndian.PutUint32(b, uint32(v))
			return
		case 64:
			binary.BigEndian.PutUint64(b, v)
			return
		}
	}
	n := (bit + width + 7) / 8
	v = v & (1<<width - 1) << (8*n - bit - width)
	for i := n - 1; i >= 0; i-- {
		b[i] |= byte(v)
		v >>= 8
	}
}

// Match tells whether two encoded records agree in the components that mask
// names (IBTA vol. 1 §15.2.4.1). f are the record's Fields; a and b have its
// Len. Selectors are not understood: take MTU, rate and lifetime out of the
// mask and compare them with Selector.
func Match(f []Field, mask uint64, a, b []byte) bool {
	for i := range f {
		x := &f[i]
		if x.Components&mask == 0 || x.Reserved {
			continue
		}
		if x.Bit == 0 && x.Width%8 == 0 {
			n := x.Byte + x.Width/8
			if string(a[x.Byte:n]) != string(b[x.Byte:n]) {
				return false
			}
		} else if getBits(a[x.Byte:], x.Bit, x.Width) != getBits(b[x.Byte:], x.Bit, x.Width) {
			return false
		}
	}
	return true
}

// Component returns the bits of the ComponentMask of the named fields, 0 for
// names that the record does not have.
func Component(f []Field, names ...string) (mask uint64) {
	for i := range f {
		for _, n := range names {
			if f[i].Name == n {
				mask |= f[i].Components
			}
		}
	}
	return mask
}

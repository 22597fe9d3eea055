package topology

import (
	"strconv"
	"strings"
)

// quoted reads a string of any of TOML's four kinds and returns its value,
// which matters only for quoted keys.
func (l *locator) quoted() string {
	q := l.s[l.i : l.i+1]
	triple := strings.HasPrefix(l.s[l.i:], q+q+q)
	end := q
	if triple {
		end = q + q + q
	}
	l.i += len(end)
	start := l.i
	for l.i < len(l.s) && !strings.HasPrefix(l.s[l.i:], end) {
		switch {
		case l.s[l.i] == '\\' && q == `"` && l.i+1 < len(l.s):
			l.i++
			if l.s[l.i] == '\n' {
				l.line++
			}
		case l.s[l.i] == '\n':
			l.line++
		}
		l.i++
	}
	text := l.s[start:l.i]
	l.i = min(l.i+len(end), len(l.s))
	// Up to two more quotes belong to the string: """a""""" is a"".
	for n := 0; triple && n < 2 && l.peek() == q[0]; n++ {
		l.i++
	}
	if q == `"` && !triple {
		return unescape(text)
	}
	return text
}

// unescape replaces the escapes of TOML's basic strings.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		digits := 0
		switch s[i] {
		case 'b':
			b.WriteByte('\b')
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'f':
			b.WriteByte('\f')
		case 'r':
			b.WriteByte('\r')
		case 'e':
			b.WriteByte(0x1b)
		case 'x':
			digits = 2
		case 'u':
			digits = 4
		case 'U':
			digits = 8
		default:
			b.WriteByte(s[i])
		}
		if digits > 0 && i+digits < len(s) {
			v, _ := strconv.ParseUint(s[i+1:i+1+digits], 16, 32)
			b.WriteRune(rune(v))
			i += digits
		}
	}
	return b.String()
}

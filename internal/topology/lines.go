package topology

import (
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// lines maps each key of a TOML document to its line, arrays counted from 0:
// "node[2].ip[0]". The TOML package keeps positions to itself and forgets
// which element of an array a key was in, so the keys are found again here.
//
// locate reads only what the TOML package has accepted: it need not find
// errors, but it must end on any input.
type lines map[string]int

// locator walks the text once.
type locator struct {
	s      string
	i      int
	line   int
	out    lines
	arrays map[string]int // arrays of tables: number of elements so far
}

func locate(data string) lines {
	data = strings.TrimPrefix(data, "\xef\xbb\xbf")
	l := &locator{s: data, line: 1, out: lines{}, arrays: map[string]int{}}
	table := ""
	for {
		l.space()
		if l.i >= len(l.s) {
			return l.out
		}
		at := l.i
		if l.s[l.i] == '[' {
			table = l.header()
		} else {
			l.pair(table)
		}
		if l.i == at {
			l.i++
		}
	}
}

// of returns the line of a key, or that of the nearest table around it.
func (l lines) of(key string) int {
	for key != "" {
		if n, ok := l[key]; ok {
			return n
		}
		cut := strings.LastIndexAny(key, ".[")
		if cut < 0 {
			return 0
		}
		key = key[:cut]
	}
	return 0
}

// join appends a key to a path as the TOML package prints it.
func join(path, key string) string {
	key = toml.Key{key}.String()
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func (l *locator) mark(path string) {
	if _, ok := l.out[path]; !ok {
		l.out[path] = l.line
	}
}

func (l *locator) peek() byte {
	if l.i < len(l.s) {
		return l.s[l.i]
	}
	return 0
}

// space skips blanks, newlines and comments.
func (l *locator) space() {
	for l.i < len(l.s) {
		switch c := l.s[l.i]; c {
		case ' ', '\t', '\r':
		case '\n':
			l.line++
		case '#':
			for l.i < len(l.s) && l.s[l.i] != '\n' {
				l.i++
			}
			continue
		default:
			return
		}
		l.i++
	}
}

// header reads [a.b] or [[a.b]] and returns the path of the table.
func (l *locator) header() string {
	l.i++
	array := l.peek() == '['
	if array {
		l.i++
	}
	parts := l.key()
	for l.i < len(l.s) && l.s[l.i] == ']' {
		l.i++
	}
	path := ""
	for i, p := range parts {
		path = join(path, p)
		last := i == len(parts)-1
		if last && array {
			l.mark(path)
			l.arrays[path]++
		}
		if n := l.arrays[path]; n > 0 {
			path = index(path, n-1)
		}
		l.mark(path)
	}
	return path
}

// key reads a dotted key.
func (l *locator) key() []string {
	var parts []string
	for l.i < len(l.s) {
		l.blank()
		switch c := l.peek(); {
		case c == '"' || c == '\'':
			parts = append(parts, l.quoted())
		default:
			start := l.i
			for l.i < len(l.s) && bare(l.s[l.i]) {
				l.i++
			}
			parts = append(parts, l.s[start:l.i])
		}
		l.blank()
		if l.peek() != '.' {
			break
		}
		l.i++
	}
	return parts
}

func (l *locator) blank() {
	for l.peek() == ' ' || l.peek() == '\t' {
		l.i++
	}
}

func bare(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c >= 0x80
}

// pair reads key = value inside the table.
func (l *locator) pair(table string) {
	path := table
	for _, p := range l.key() {
		path = join(path, p)
		l.mark(path)
	}
	l.blank()
	if l.peek() != '=' {
		return
	}
	l.i++
	l.value(path)
}

// value reads a value; keys and elements inside it are marked.
func (l *locator) value(path string) {
	l.space()
	l.mark(path)
	switch l.peek() {
	case '"', '\'':
		l.quoted()
	case '[':
		l.i++
		for n := 0; ; n++ {
			l.space()
			if c := l.peek(); c == ']' || c == 0 {
				break
			}
			at := l.i
			l.value(index(path, n))
			l.space()
			if l.peek() == ',' {
				l.i++
			}
			if l.i == at {
				l.i++
			}
		}
		l.i++
	case '{':
		l.i++
		for {
			l.space()
			if c := l.peek(); c == '}' || c == 0 {
				break
			}
			at := l.i
			l.pair(path)
			l.space()
			if l.peek() == ',' {
				l.i++
			}
			if l.i == at {
				l.i++
			}
		}
		l.i++
	default:
		for l.i < len(l.s) && !strings.ContainsRune(",]}\n#", rune(l.s[l.i])) {
			l.i++
		}
	}
}

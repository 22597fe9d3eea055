package topology

import (
	"fmt"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

const everyNotation = "\xef\xbb\xbf" + `# comment with = and [
a = 1 # tail
"b c" = 'x # not a comment'
d.e."f.g" = "\" ] } #"
list = [ 1, # one
  [ 2, "]" ],
  { k = 3, m.n = [4] }, ]
multi = """
line 9 \"""
"""""
raw = '''
[not.a.table]
it''s'''

[t] # header
x = { y = { z = 1 }, w = [ { v = 2 } ] }
[t.u."v.w"]
k = 1979-05-27T07:32:00Z
[[n]]
name = "one"
  [[n.p]]
  q = 1
  [[n.p]]
  q = 2
  [n.sub]
  r = -inf
[[n]]
[[n.p]]
q = 3
[ "quoted \u0041" . bare ]
last = true`

func TestLocate(t *testing.T) {
	var m map[string]any
	if _, err := toml.Decode(everyNotation, &m); err != nil {
		t.Fatal(err)
	}
	want := lines{
		"a": 2, `"b c"`: 3, "d": 4, "d.e": 4, `d.e."f.g"`: 4,
		"list": 5, "list[0]": 5, "list[1]": 6, "list[1][0]": 6, "list[1][1]": 6,
		"list[2]": 7, "list[2].k": 7, "list[2].m": 7, "list[2].m.n": 7, "list[2].m.n[0]": 7,
		"multi": 8, "raw": 11,
		"t": 15, "t.x": 16, "t.x.y": 16, "t.x.y.z": 16, "t.x.w": 16, "t.x.w[0]": 16, "t.x.w[0].v": 16,
		"t.u": 17, `t.u."v.w"`: 17, `t.u."v.w".k`: 18,
		"n": 19, "n[0]": 19, "n[0].name": 20, "n[0].p": 21, "n[0].p[0]": 21, "n[0].p[0].q": 22,
		"n[0].p[1]": 23, "n[0].p[1].q": 24, "n[0].sub": 25, "n[0].sub.r": 26,
		"n[1]": 27, "n[1].p": 28, "n[1].p[0]": 28, "n[1].p[0].q": 29,
		`"quoted A"`: 30, `"quoted A".bare`: 30, `"quoted A".bare.last`: 31,
	}
	if d := cmp.Diff(want, locate(everyNotation)); d != "" {
		t.Error(d)
	}
	if n := want.of("n[0].p[1].absent"); n != 23 {
		t.Errorf("an absent key is looked for in line %d", n)
	}
	if n := want.of("absent"); n != 0 {
		t.Errorf("a key of nowhere is in line %d", n)
	}
}

// everyKey calls f with the path of each key and element of a document.
func everyKey(path string, v any, f func(string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			f(join(path, k))
			everyKey(join(path, k), x, f)
		}
	case []map[string]any:
		for i, x := range v {
			f(index(path, i))
			everyKey(index(path, i), x, f)
		}
	case []any:
		for i, x := range v {
			f(index(path, i))
			everyKey(index(path, i), x, f)
		}
	}
}

// Whatever the TOML package accepts, each key of it is found, in a line of the
// file.
func FuzzLocate(f *testing.F) {
	f.Add(everyNotation)
	f.Add("a = [\n\n1,\r\n2]\n[b]\nc = 'd'")
	f.Add("[[a.b]]\n[a.b.c]\nd={e=[{},{f=\"\"\"\n\"\"\"}]}")
	f.Add("ſ.é = 1 # keys beyond ASCII")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		found := locate(text) // must end even if the text is no TOML
		var m map[string]any
		if _, err := toml.Decode(text, &m); err != nil {
			return
		}
		everyKey("", m, func(path string) {
			if n := found[path]; n < 1 || n > len(text)+1 {
				t.Errorf("%s is in line %d of\n%s\nfound: %v", path, n, text, fmt.Sprint(found))
			}
		})
	})
}

package topology

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// attr is a value of the file and the key it came from; unset if the file does
// not give it or gives a bad one.
type attr[T any] struct {
	v   T
	set bool
	key string
}

// or returns the attribute that is set first among a and the others.
func (a attr[T]) or(others ...attr[T]) attr[T] {
	for _, o := range others {
		if a.set {
			break
		}
		a = o
	}
	return a
}

// get returns the value, or def if there is none.
func (a attr[T]) get(def T) T {
	if a.set {
		return a.v
	}
	return def
}

// reader collects what is wrong while a document is read and checked.
type reader struct {
	file     string
	lines    lines
	problems Problems
	keys     map[string]bool // every key that was asked for, for the test of the documentation
}

func (r *reader) errorf(key, remedy, format string, args ...any) {
	r.add(false, key, remedy, format, args)
}

func (r *reader) warnf(key, remedy, format string, args ...any) {
	r.add(true, key, remedy, format, args)
}

func (r *reader) add(warning bool, key, remedy, format string, args []any) {
	line := r.lines.of(key)
	if strings.HasPrefix(key, string(lineKey)) {
		key = ""
	}
	r.problems = append(r.problems, Problem{
		File: r.file, Line: line, Key: key,
		Msg: fmt.Sprintf(format, args...), Remedy: remedy, Warning: warning,
	})
}

// table reads the keys of one TOML table. Every getter notes the key, so that
// done can tell which keys of the file nobody knows.
type table struct {
	r     *reader
	path  string
	m     map[string]any
	known []string
}

func (r *reader) table(path string, m map[string]any) *table {
	return &table{r: r, path: path, m: m}
}

func (t *table) key(k string) string { return join(t.path, k) }

func (t *table) lookup(k string) (any, bool) {
	t.known = append(t.known, k)
	if t.r.keys != nil {
		t.r.keys[k] = true
	}
	v, ok := t.m[k]
	return v, ok
}

// done reports the unknown keys.
func (t *table) done() {
	known := slices.Clone(t.known)
	sort.Strings(known)
	for _, k := range slices.Sorted(maps.Keys(t.m)) {
		if !slices.Contains(t.known, k) {
			t.r.errorf(t.key(k), suggest(k, known), "unknown key %q", k)
		}
	}
}

// want reports a value of the wrong type.
func (t *table) want(key string, v any, form, remedy string) {
	t.r.errorf(key, remedy, "%s where %s is expected", kind(v), form)
}

func kind(v any) string {
	switch v := v.(type) {
	case string:
		return "string " + strconv.Quote(v)
	case int64:
		return "integer " + strconv.FormatInt(v, 10)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if decimal(s) {
			s += ".0"
		}
		return "number " + s
	case bool:
		return "boolean " + strconv.FormatBool(v)
	case []any:
		return "a list"
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "a list of tables"
	}
	return "a date"
}

// get reads key k by conv, whose error becomes a problem with the remedy.
func get[T, V any](t *table, k, form, remedy string, conv func(V) (T, error)) attr[T] {
	var a attr[T]
	raw, ok := t.lookup(k)
	if !ok {
		return a
	}
	v, ok := raw.(V)
	if !ok {
		t.want(t.key(k), raw, form, remedy)
		return a
	}
	x, err := conv(v)
	if err != nil {
		t.r.errorf(t.key(k), remedy, "%v", err)
		return a
	}
	return attr[T]{v: x, set: true, key: t.key(k)}
}

func same[T any](v T) (T, error) { return v, nil }

func (t *table) str(k string) attr[string] {
	return get(t, k, `a string in quotes`, "", same[string])
}

func (t *table) bool(k string) attr[bool] {
	return get(t, k, "true or false", "", same[bool])
}

// name reads a name by the rules of checkName.
func (t *table) name(k string) attr[string] {
	return get(t, k, `a string in quotes`, nameRemedy, func(s string) (string, error) { return s, checkName(s) })
}

// int reads an integer of lo to hi.
func (t *table) int(k string, lo, hi int64) attr[int64] {
	form := fmt.Sprintf("an integer of %d to %d", lo, hi)
	return get(t, k, form, "", func(v int64) (int64, error) {
		if v < lo || v > hi {
			return 0, fmt.Errorf("%d where %s is expected", v, form)
		}
		return v, nil
	})
}

// float reads a number that ok accepts.
func (t *table) float(k, form string, ok func(float64) bool) attr[float64] {
	t.promote(k)
	return get(t, k, form, "", func(v float64) (float64, error) {
		if !ok(v) { // false for NaN too, as every comparison is
			return 0, fmt.Errorf("%g where %s is expected", v, form)
		}
		return v, nil
	})
}

// promote lets "1" stand for "1.0".
func (t *table) promote(k string) {
	if v, ok := t.m[k].(int64); ok {
		t.m[k] = float64(v)
	}
}

// sub reads a table; nil if there is none.
func (t *table) sub(k string) *table {
	a := get(t, k, "a table", "", same[map[string]any])
	if !a.set {
		return nil
	}
	return t.r.table(a.key, a.v)
}

// tables reads an array of tables in either of TOML's two notations.
func (t *table) tables(k string) []*table {
	raw, ok := t.lookup(k)
	if !ok {
		return nil
	}
	var out []*table
	switch v := raw.(type) {
	case []map[string]any:
		for i, m := range v {
			out = append(out, t.r.table(index(t.key(k), i), m))
		}
	case []any:
		for i, x := range v {
			key := index(t.key(k), i)
			if m, ok := x.(map[string]any); ok {
				out = append(out, t.r.table(key, m))
			} else {
				t.want(key, x, "a table", "")
			}
		}
	default:
		t.want(t.key(k), raw, "[["+k+"]]", "")
	}
	return out
}

// list reads a list, or a single value that stands for a list of one. Bad
// elements are reported and left out. set tells that the key is there.
func list[T, V any](t *table, k, form, remedy string, conv func(V) (T, error)) (out []attr[T], set bool) {
	raw, ok := t.lookup(k)
	if !ok {
		return nil, false
	}
	elems, isList := raw.([]any)
	if !isList {
		elems = []any{raw}
	}
	for i, e := range elems {
		key := t.key(k)
		if isList {
			key = index(key, i)
		}
		v, ok := e.(V)
		if !ok {
			t.want(key, e, form, remedy)
			continue
		}
		x, err := conv(v)
		if err != nil {
			t.r.errorf(key, remedy, "%v", err)
			continue
		}
		out = append(out, attr[T]{v: x, set: true, key: key})
	}
	return out, true
}

// numbered reads a table whose keys and values are integers: { 26 = 3 }.
func (t *table) numbered(k, what string, maxKey, lo, hi int64) map[int]int64 {
	s := t.sub(k)
	if s == nil {
		return nil
	}
	out := map[int]int64{}
	for _, name := range slices.SortedFunc(maps.Keys(s.m), compareNames) {
		n, err := strconv.ParseInt(name, 10, 32)
		if err != nil || n < 0 || n > maxKey {
			t.r.errorf(s.key(name), fmt.Sprintf("use 0 to %d", maxKey), "%q is not a %s", name, what)
			continue
		}
		if v := s.int(name, lo, hi); v.set {
			if _, dup := out[int(n)]; dup { // "3" and "03"
				t.r.errorf(s.key(name), "give it once", "%s %d is given twice", what, n)
			}
			out[int(n)] = v.v
		}
	}
	return out
}

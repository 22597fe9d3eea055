package ibport

import (
	"reflect"
	"testing"
)

// Add and Sub take every counter.
func TestSums(t *testing.T) {
	var a, b Counters
	v := reflect.ValueOf(&a).Elem()
	n := uint64(1)
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Array {
			for k := range f.Len() {
				f.Index(k).SetUint(n)
				n++
			}
		} else {
			f.SetUint(n)
			n++
		}
	}
	b.Add(&a)
	if a != b {
		t.Error("Add misses a counter")
	}
	b.Sub(&a)
	if b != (Counters{}) {
		t.Error("Sub misses a counter")
	}
}

package vm

import (
	"errors"
	"testing"
)

func TestBootAgain(t *testing.T) {
	stale := &stalePatchError{errors.New("panic")}
	other := errors.New("no such kernel")
	tests := []struct {
		name  string
		boots []error // what each boot ends with
		want  error
		tries int
	}{
		{"good", []error{nil}, nil, 1},
		{"one fault of the emulator", []error{stale, nil}, nil, 2},
		{"two", []error{stale, stale, nil}, nil, 3},
		{"too many", []error{stale, stale, stale, nil}, stale, 3},
		{"a fault of ours is not repeated", []error{other, nil}, other, 1},
		{"nor after one of the emulator", []error{stale, other, nil}, other, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tries, said := 0, 0
			_, err := again(func(string, ...any) { said++ }, func() (*Machine, error) {
				tries++
				return nil, tt.boots[tries-1]
			})
			if err != tt.want || tries != tt.tries || said != tt.tries-1 {
				t.Errorf("error %v after %d boots with %d words; want %v after %d", err, tries, said, tt.want, tt.tries)
			}
		})
	}
}

func TestStalePatch(t *testing.T) {
	for console, want := range map[string]bool{
		"[ 2.2] Oops: int3: 0000 [#2] SMP NOPTI\n":             true,
		"[ 2.2] Oops: 0002 [#1] SMP NOPTI\n":                   false,
		"Kernel panic - not syncing: No working init found.\n": false,
		"": false,
	} {
		if got := stalePatch(console); got != want {
			t.Errorf("stalePatch(%q) = %v", console, got)
		}
	}
}

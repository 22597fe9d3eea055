package cli

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestUntilEscape(t *testing.T) {
	for in, want := range map[string]string{
		"ls\n":            "ls\n",
		"ls\n\x1dmore":    "ls\n",
		"\x1d":            "",
		"a\x1d\x1db":      "a",
		"\x1bOA\x03\x04x": "\x1bOA\x03\x04x",
	} {
		for _, r := range []io.Reader{strings.NewReader(in), iotest.OneByteReader(strings.NewReader(in))} {
			if b, err := io.ReadAll(&untilEscape{r: r}); string(b) != want || err != nil {
				t.Errorf("%q: %q %v, want %q", in, b, err, want)
			}
		}
	}
}

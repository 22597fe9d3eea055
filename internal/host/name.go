package host

import (
	"fmt"
	"regexp"
)

// MaxName is the longest name of a namespace. It leaves room in the interface
// alias that marks the namespace, and in paths of sockets (108 bytes).
const MaxName = 63

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// ValidName tells whether name can be a namespace: letters, digits, '_', '.'
// and '-', at most MaxName, beginning with a letter or digit, so that it is a
// file name and no option of a command.
func ValidName(name string) error {
	if len(name) > MaxName {
		return fmt.Errorf("namespace name %.20q... has %d characters, at most %d are possible", name, len(name), MaxName)
	}
	if !nameForm.MatchString(name) {
		return fmt.Errorf("namespace name %q: use letters, digits, '_', '.' and '-', beginning with a letter or digit", name)
	}
	return nil
}

// ValidIfName tells whether name can be an interface: 1 to 15 bytes, no '/',
// ':', '%' or space, and not "." or ".." (Linux dev_valid_name).
func ValidIfName(name string) error {
	if name == "" || len(name) > 15 || name == "." || name == ".." {
		return fmt.Errorf("interface name %q: 1 to 15 characters are possible", name)
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c == '/' || c == ':' || c == '%' || c >= 0x7f {
			return fmt.Errorf("interface name %q: character %q is not possible", name, c)
		}
	}
	return nil
}

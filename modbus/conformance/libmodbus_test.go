//go:build conformance

package conformance

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

// Words of libmodbus.
const (
	exIllegalFunction = "Illegal function"
	exIllegalAddress  = "Illegal data address"
	exIllegalValue    = "Illegal data value"
	timedOut          = "Connection timed out"
)

// count is n numbers from first on, in decimal; a list for both directions.
func count(first, n int) string {
	l := make([]string, n)
	for i := range l {
		l[i] = fmt.Sprint(first + i)
	}
	return strings.Join(l, " ")
}

// each is s, n times.
func each(s string, n int) string { return strings.TrimSpace(strings.Repeat(s+" ", n)) }

var libmodbusCases = []kase{
	{"serve", "10 01 0 10", each("0", 10)},
	{"serve", "10 05 3 1", "written"},
	{"serve", "10 01 0 10", "0 0 0 1 0 0 0 0 0 0"},
	{"serve", "10 05 3 0", "written"},
	{"serve", "10 02 0 7", "1 0 0 1 0 0 1"},
	{"serve", "10 02 0 2000", strings.TrimSpace(strings.Repeat("1 0 0 ", 667)[:3999])},
	{"serve", "10 03 80 4", count(0x1050, 4)},
	{"serve", "10 03 0 125", count(0x1000, 125)},
	{"serve", "10 04 0 10", count(0x2000, 10)},
	{"serve", "10 06 17 4711", "written"},
	{"serve", "10 03 16 3", "4112 4711 4114"},
	{"serve", "10 0f 19 1 0 1 1 0 0 1 1 1 0", "10 written"},
	{"serve", "10 01 18 12", "0 1 0 1 1 0 0 1 1 1 0 0"},
	{"serve", "10 0f 0 " + each("1", 1968), "1968 written"},
	{"serve", "10 01 0 2000", each("1", 1968) + " " + each("0", 32)},
	{"serve", "10 10 100 1 2 65535", "3 written"},
	{"serve", "10 03 99 5", "4195 1 2 65535 4199"},
	{"serve", "10 10 100 " + count(7000, 123), "123 written"},
	{"serve", "10 03 100 123", count(7000, 123)},
	{"plain", "11 03 80 2", count(0x1050, 2)},
	{"plain", "11 06 80 1", "written"},
	{"plain", "11 10 80 2 3", "2 written"},
	{"plain", "11 03 80 2", "2 3"},
	{"plain", "11 01 0 1", exIllegalFunction},
	{"plain", "11 02 0 1", exIllegalFunction},
	{"plain", "11 04 0 1", exIllegalFunction},
	{"plain", "11 05 0 1", exIllegalFunction},
	{"plain", "11 0f 0 1 1", exIllegalFunction},
	{"plain", "11 11", exIllegalFunction},
	{"plain", "11 16 0 1 1", exIllegalFunction},
	{"plain", "11 17 0 1 0 1", exIllegalFunction},
	{"broadcast", "0 06 5 4711", timedOut},
	{"broadcast", "10 03 5 1", "4711"},
	{"broadcast", "13 03 5 1", "4711"},
	{"broadcast", "0 10 6 1 2", timedOut},
	{"broadcast", "13 03 6 2", "1 2"},
	{"broadcast", "0 05 2499 1", timedOut},
	{"broadcast", "13 01 2498 2", "0 1"},
	{"broadcast", "0 0f 2490 1 1 1", timedOut},
	{"broadcast", "10 01 2489 4", "0 1 1 1"},
	{"broadcast", "0 03 5 1", timedOut},
	{"silence", "12 03 0 1", timedOut},
	{"function", "10 raw 07", "0a 87 01"},
	{"function", "10 raw 18 00 00", "0a 98 01"},
	{"address", "10 01 2500 1", exIllegalAddress},
	{"address", "10 02 1999 2", exIllegalAddress},
	{"address", "10 03 300 1", exIllegalAddress},
	{"address", "10 03 299 2", exIllegalAddress},
	{"address", "10 04 9 2", exIllegalAddress},
	{"address", "10 05 2500 1", exIllegalAddress},
	{"address", "10 06 400 1", exIllegalAddress},
	{"address", "10 0f 2499 1 1", exIllegalAddress},
	{"address", "10 10 299 1 2", exIllegalAddress},
	{"address", "10 03 65535 2", exIllegalAddress},
	{"quantity", "10 raw 03 00 00 00 7e", "0a 83 03"},
	{"quantity", "10 raw 03 00 00 00 00", "0a 83 03"},
	{"quantity", "10 raw 05 00 00 00 01", "0a 85 03"},
	{"exceptions", "10 03 1001 1", exIllegalFunction},
	{"exceptions", "10 03 1002 1", exIllegalAddress},
	{"exceptions", "10 03 1003 1", exIllegalValue},
	{"exceptions", "10 03 1004 1", "Slave device or server failure"},
	{"exceptions", "10 03 1005 1", "Acknowledge"},
	{"exceptions", "10 03 1006 1", "Slave device or server is busy"},
	{"exceptions", "10 03 1007 1", "Negative acknowledge"},
	{"exceptions", "10 03 1008 1", "Memory parity error"},
	{"exceptions", "10 03 1010 1", "Gateway path unavailable"},
	{"exceptions", "10 03 1011 1", "Target device failed to respond"},
	{"exceptions", "10 06 1004 1", "Slave device or server failure"},
	{"exceptions", "10 10 1006 1 2", "Slave device or server is busy"},
	{"exceptions", "10 16 1007 1 2", "Negative acknowledge"},
	{"exceptions", "10 17 0 1 1008 7", "Memory parity error"},
	{"16", "10 06 4 0x12", "written"},
	{"16", "10 16 4 0xf2 0x25", "written"},
	{"16", "10 03 4 1", "23"},
	{"16", "10 16 300 0xf2 0x25", exIllegalAddress},
	{"17", "10 17 3 3 4 7 8", "4099 7 8"},
	{"17", "10 17 100 125 100 " + count(1, 121), count(1, 121) + " " + count(7121, 2) + " 4319 4320"},
	{"17", "10 17 300 1 4 9", exIllegalAddress},
	{"17", "10 17 4 1 300 9", exIllegalAddress},
	{"17", "10 03 4 1", "7"},
	{"0B 0C 11", "10 11", "42 ff 50 53 55"},
	{"2B", "10 raw 2b 0d 00 00", "0a ab 01"},
}

// build compiles the client; what it needs is in packages of Debian.
func buildLibmodbus(t testing.TB) string {
	t.Helper()
	gcc := simtest.Need(t, "gcc")
	bin := filepath.Join(t.TempDir(), "client")
	out, err := exec.Command(gcc, "-Wall", "-Werror", "-O1", "-I/usr/include/modbus", "-o", bin, "testdata/client.c", "-lmodbus").CombinedOutput()
	if err != nil && strings.Contains(string(out), "modbus.h: No such file") {
		simtest.Missing(t, "the header of libmodbus is not installed", "apt-get install libmodbus-dev")
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

func TestLibmodbus(t *testing.T) {
	t.Parallel()
	bin := buildLibmodbus(t)
	g := newRig(t)
	a := startAsker(t, exec.Command(bin, g.TTY("bus0"), "19200", "E", "800"))
	play(t, "libmodbus", libmodbusCases, a.ask)
}

package bmc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cnuas/internal/simtest"
	"cnuas/internal/vm/agent"
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		size int64
		want string
	}{
		{32 << 20, "mx25l25635e"}, {32<<20 + 1, "mx66u51235f"}, {64 << 20, "mx66u51235f"}, {100 << 20, "mx66l1g45g"}, {128 << 20, "mx66l1g45g"},
		{256 << 20, "mt25qu02g"}, {1 << 20, "mx25l12805d"}, {1<<20 - 1, ""}, {256<<20 + 1, ""},
	} {
		f, err := fit(c.size)
		if f.model != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%d bytes: %+v, %v, want %s", c.size, f, err, c.want)
		}
	}
}

// TestCopyFlash: the copy has the size of the flash, ends erased, and the image
// stays as it was.
func TestCopyFlash(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "image")
	data := bytes.Repeat([]byte("obmc"), 9<<20/4)
	os.WriteFile(path, data, 0o444)
	f, fl, err := copyFlash(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]byte, fl.size)
	if n, err := f.ReadAt(got, 0); err != nil || n != 16<<20 || !bytes.Equal(got[:len(data)], data) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if bytes.Count(got[len(data):], []byte{0xff}) != len(got)-len(data) {
		t.Error("the rest is not erased")
	}
	if st, _ := f.Stat(); st.Size() != fl.size {
		t.Errorf("the copy has %d bytes", st.Size())
	}
	f.WriteAt([]byte("guest"), 0)
	if b, _ := os.ReadFile(path); !bytes.Equal(b, data) {
		t.Error("the guest writes into the user's image")
	}
	os.WriteFile(filepath.Join(dir, "small"), data[:1000], 0o644)
	os.WriteFile(filepath.Join(dir, "packed"), append([]byte("\xfd7zXZ\x00"), data...), 0o644)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"pipe": "is not a file", "small": "whole flash", "packed": "unpack it first", ".": "is not a file", "none": "no such file"} {
		if _, _, err := copyFlash(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestParseMachines(t *testing.T) {
	const help = `Supported machines are:
akita                Sharp SL-C1000 (Akita) PDA (PXA270)
ast1030-evb          Aspeed AST1030 MiniBMC (Cortex-M4)
ast2600-evb          Aspeed AST2600 EVB (Cortex-A7)
kudo-bmc             Kudo BMC (Cortex-A9)
palmetto-bmc         OpenPOWER Palmetto BMC (ARM926EJ-S)
none                 empty machine
`
	if got := parseMachines(help); !slices.Equal(got, []string{"ast2600-evb", "palmetto-bmc"}) {
		t.Errorf("%q", got)
	}
}

func TestArguments(t *testing.T) {
	c := Config{Name: "bmc", Dir: "/d", Machine: "fuji-bmc", Image: "/i", MAC: "02:02:01:00:00:01", Bridges: 2}
	got := strings.Join(arguments(&c, files{console: 3, flash: 4, net: 5}, flashes[3]), " ")
	for _, want := range []string{
		"-M fuji-bmc,fmc-model=mx66l1g45g", "file=/proc/self/fd/4,if=mtd,format=raw", "socket,id=console,fd=3 -serial chardev:console",
		"-nic socket,fd=5,mac=02:02:01:00:00:01", "path=/d/usb0,server=on,wait=off", "chardev=usb0,bus=usb-bus.0,port=1", "chardev=usb1,bus=usb-bus.0,port=2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	if strings.Contains(got, "-kernel") || strings.Contains(got, "-m ") {
		t.Error(got)
	}
	c = Config{Name: "bmc", Dir: "/d", Machine: StandInMachine, Addr: netip.MustParsePrefix("192.168.7.3/24"), Net: os.Stdin}
	got = strings.Join(arguments(&c, files{console: 3, initrd: 4, shell: 5, net: 6}, flash{}), " ")
	for _, want := range []string{"-initrd /proc/self/fd/4", "cnuas.name=bmc cnuas.addr=192.168.7.3/24", "fd=5 -serial chardev:shell"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks %s", got, want)
		}
	}
	c.Net = nil
	got = strings.Join(arguments(&c, files{console: 3, initrd: 4, shell: 5}, flash{}), " ")
	if !strings.Contains(got, "-nic none") || strings.Contains(got, "cnuas.addr") {
		t.Error(got)
	}
}

func TestConfigErrors(t *testing.T) {
	simtest.Need(t, qemuName)
	t.Setenv("CNUAS_CACHE_DIR", t.TempDir())
	for want, c := range map[string]Config{
		"cnuas bmc fetch":             {},
		"name a flash image":          {Machine: "fuji-bmc"},
		"QEMU has none of that name":  {Machine: "no-such-board", Image: "/i"},
		"up to 3":                     {Bridges: 4},
		"too long for a socket":       {Dir: "/" + strings.Repeat("d", 110)},
		"no such file":                {Image: "/no/such/image"},
		"it has ast2500-evb, ast2600": {Machine: "virt", Image: "/i"},
	} {
		if c.Dir == "" {
			c.Dir = t.TempDir()
		}
		c.Name = "bmc"
		if g, err := Start(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
			if g != nil {
				g.Close()
			}
		}
	}
}

func TestRemedy(t *testing.T) {
	for said, want := range map[string]string{
		"-device usb-redir: 'usb-redir' is not a valid device model name": "apt-get install",
		"Bus 'usb-bus.0' not found":                                       "--machine",
		"failed to read the initial flash content":                        "--machine",
		"something else": "",
	} {
		if got := remedy(said); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", said, got)
		}
	}
}

func TestQuote(t *testing.T) {
	simtest.Need(t, "sh")
	argv := []string{"printf", "%s|", "a b", "it's", "$HOME", "", "`x`", "\\", "new\nline"}
	line := quote(agent.Command{Argv: argv, Env: []string{"A=b c"}, Dir: "/"})
	out, err := exec.Command("sh", "-c", line).Output()
	if want := strings.Join(argv[2:], "|") + "|"; err != nil || string(out) != want {
		t.Errorf("%s: %q %v, want %q", line, out, err, want)
	}
	if out, err := exec.Command("sh", "-c", quote(agent.Command{Argv: []string{"sh", "-c", `echo "$A"; pwd`}, Env: []string{"A=b c"}, Dir: "/usr"})).Output(); err != nil || string(out) != "b c\n/usr\n" {
		t.Errorf("%q %v", out, err)
	}
}

// zImage is one in the ways that matter, with a stream that xz makes.
func zImage(t *testing.T, code []uint32, kernel []byte) []byte {
	t.Helper()
	simtest.Need(t, "xz")
	c := exec.Command("xz", "--stdout", "--check=crc32")
	c.Stdin = bytes.NewReader(kernel)
	packed, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	z := make([]byte, 0x40)
	binary.LittleEndian.PutUint32(z[0x24:], 0x016f2818)
	for _, w := range code {
		z = binary.LittleEndian.AppendUint32(z, w)
	}
	z = append(z, "\xfd7zXZ\x00\x00\x00XZ decompressor"...)
	return append(append(z, packed...), "trailer"...)
}

func TestUnpackKernel(t *testing.T) {
	dir := t.TempDir()
	kernel := bytes.Repeat([]byte{1, 2, 3, 4, 5}, 50_000)
	from, to := filepath.Join(dir, "z"), filepath.Join(dir, "u")
	for _, c := range []struct {
		name string
		code []uint32
		at   uint32 // 0: cannot be unpacked
	}{
		{"Debian 12", []uint32{0xe2844004, 0xe2844982, 0xe2844001}, 0x80208000},
		{"twice the same", []uint32{0xe2844902, 0xe2844902}, 0x80008000},
		{"two of them", []uint32{0xe2844902, 0xe2844982}, 0},
		{"none", []uint32{0xe2844004, 0xe2833902}, 0},
	} {
		os.WriteFile(from, zImage(t, c.code, kernel), 0o644)
		os.Remove(to)
		err := unpackKernel(context.Background(), from, to)
		u, _ := os.ReadFile(to)
		if c.at == 0 {
			if !errors.Is(err, errNotUnpackable) || u != nil {
				t.Errorf("%s: %v, %d bytes", c.name, err, len(u))
			}
			continue
		}
		if err != nil || !bytes.Equal(u[64:], kernel) || binary.BigEndian.Uint32(u[16:]) != c.at || binary.BigEndian.Uint32(u[20:]) != c.at ||
			binary.BigEndian.Uint32(u[12:]) != uint32(len(kernel)) || binary.BigEndian.Uint32(u) != 0x27051956 {
			t.Errorf("%s: %v, %d bytes", c.name, err, len(u))
		}
	}
	for _, bad := range []string{"", "MZ", strings.Repeat("x", 100)} {
		os.WriteFile(from, []byte(bad), 0o644)
		if err := unpackKernel(context.Background(), from, to); !errors.Is(err, errNotUnpackable) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

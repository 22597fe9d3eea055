// Package umad plays the kernel's user MAD ABI to unmodified programs: the
// files umadN, through which they send and receive management datagrams, and
// issmN, by which a subnet manager announces itself. It plugs into the sessions
// of package uverbs and stands on package hca/mad.
//
// A program's descriptor is one end of a pair of sockets that keep messages
// apart: what it writes and reads are whole user MADs and no system call of it
// is trapped but ioctl and reads of 320 bytes, which a long message does not
// fit. Errors of a write therefore come back as a MAD with a status.
//
// Read include/uapi/rdma/ib_user_mad.h and drivers/infiniband/core/user_mad.c
// of Linux before editing.
package umad

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/hca/uverbs"
)

// Device is an InfiniBand port as the programs of a node see it.
type Device struct {
	HCA  *hca.Device
	Name string      // of the verbs device: "rxe0"
	MADs *mads.Table // of the port
}

// Config of a Kind.
type Config struct {
	// Do runs f on the calling goroutine while the engine stands still, as
	// uverbs.Config.Do.
	Do func(f func())
	// Log receives one line per event that a user may want to know; nil
	// discards them. It must not wait.
	Log func(format string, args ...any)

	Devices []Device // device i is umad<i> and issm<i>
}

// MaxFiles is how many files the programs of a node may have open.
const MaxFiles = 1024

// Kind is the files umadN and issmN of a node. It implements uverbs.SysfsKind.
type Kind struct {
	cfg   Config
	ports []*port
	files int // open ones; engine held
}

// port is what the files of one device share.
type port struct {
	Device
	num int
	sm  *issm // who has issm open; engine held
}

// New returns the files of a node's InfiniBand ports.
func New(cfg Config) (*Kind, error) {
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	k := &Kind{cfg: cfg}
	for i, d := range cfg.Devices {
		if d.HCA == nil || d.HCA.IB() == nil || d.MADs == nil {
			return nil, fmt.Errorf("umad%d: device %q has no InfiniBand port with a MAD layer", i, d.Name)
		}
		k.ports = append(k.ports, &port{Device: d, num: i})
	}
	return k, nil
}

// Files is how many files programs have open. The engine is held.
func (k *Kind) Files() int { return k.files }

// Serves implements uverbs.Kind.
func (k *Kind) Serves(name string) bool {
	p, _ := k.port(name)
	return p != nil
}

// port finds the device of a file, and whether it is issmN.
func (k *Kind) port(name string) (p *port, sm bool) {
	number, ok := strings.CutPrefix(name, "umad")
	if !ok {
		if number, sm = strings.CutPrefix(name, "issm"); !sm {
			return nil, false
		}
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(k.ports) || strconv.Itoa(n) != number {
		return nil, false
	}
	return k.ports[n], sm
}

// Sysfs implements uverbs.SysfsKind. Each port is a device of its own to
// programs, with a port 1.
func (k *Kind) Sysfs(add func(path, text string)) {
	if len(k.ports) == 0 {
		return
	}
	add("infiniband_mad/abi_version", "5")
	for _, p := range k.ports {
		for name, dev := range map[string]string{"umad": "1:3", "issm": "231:" + strconv.Itoa(64+p.num)} {
			d := "infiniband_mad/" + name + strconv.Itoa(p.num) + "/"
			add(d+"ibdev", p.Name)
			add(d+"port", "1")
			add(d+"dev", dev)
		}
	}
}

// Open implements uverbs.Kind.
func (k *Kind) Open(t *uverbs.Syscall, name string) {
	p, sm := k.port(name)
	if p == nil {
		t.Reply(0, unix.ENODEV)
		return
	}
	if sm {
		k.openSM(t, p)
		return
	}
	f := &file{k: k, p: p}
	if e := k.open(t, &f.conn, f); e != 0 {
		t.Reply(0, e)
		return
	}
	f.conn.start(f.drain, f.close)
	if t.Op != uverbs.OpOpen { // the first call on it
		f.Trapped(t)
	}
}

// open makes the pair of sockets and gives the program one end of it.
func (k *Kind) open(t *uverbs.Syscall, c *conn, f uverbs.File) unix.Errno {
	full := false
	k.cfg.Do(func() {
		if full = k.files >= MaxFiles; !full {
			k.files++
		}
	})
	e := unix.Errno(unix.EMFILE)
	if !full {
		if e = c.open(t, f); e == 0 {
			return 0
		}
		k.cfg.Do(func() { k.files-- })
	}
	return e
}

package bmc

import (
	"crypto/ed25519"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/ssh"

	"cnuas/internal/vm"
)

//go:embed init.sh
var initScript []byte

// modules of the stand-in beside those that they need. The NIC's driver gives up
// for good where the bus of its PHY is not there.
var modules = []string{"mdio_aspeed", "ftgmac100", "ehci_platform", "ftdi_sio"}

// programs of the stand-in beside busybox, by their paths in the packages.
var programs = []string{"/usr/bin/mbpoll", "/usr/sbin/dropbear", "/usr/bin/dbclient"}

// password is that of root in OpenBMC images: 0penBmc (MD5, as crypt(3) has it;
// the emulated processor takes a second for slower ones).
const password = "$1$cnuas$yB1k0lv/K/G3Pu5m6L9.D."

const inittab = `ttyS4::respawn:/sbin/getty -L 115200 ttyS4 vt100
::ctrlaltdel:/sbin/reboot -f
::shutdown:/bin/true
`

// keys are those of one boot.
type keys struct {
	host   ssh.PublicKey // of the guest
	client ssh.Signer    // ours
}

// makeKeys also returns the guest's private key as dropbear keeps it: the name
// of the kind, and seed and public key as one string.
func makeKeys() (k *keys, dropbear []byte, err error) {
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	k = &keys{}
	if k.host, err = ssh.NewPublicKey(pub); err != nil {
		return nil, nil, err
	}
	_, own, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if k.client, err = ssh.NewSignerFromKey(own); err != nil {
		return nil, nil, err
	}
	for _, s := range [][]byte{[]byte(ssh.KeyAlgoED25519), priv} {
		dropbear = append(binary.BigEndian.AppendUint32(dropbear, uint32(len(s))), s...)
	}
	return k, dropbear, nil
}

// writeRoot writes the initramfs of the stand-in: busybox, mbpoll and an SSH
// server with their libraries, the kernel's modules, and the keys of this boot.
func writeRoot(w io.Writer, tree string) (*keys, error) {
	k, hostKey, err := makeKeys()
	if err != nil {
		return nil, err
	}
	m := vm.NewImage(w)
	for _, f := range []struct {
		path string
		mode fs.FileMode
		data []byte
	}{
		{"/init", 0o755, initScript},
		{"/etc/dropbear/host", 0o600, hostKey},
		{"/root/.ssh/authorized_keys", 0o600, ssh.MarshalAuthorizedKey(k.client.PublicKey())},
		{"/etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\n")},
		{"/etc/group", 0o644, []byte("root:x:0:\n")},
		{"/etc/shadow", 0o600, []byte("root:" + password + ":19000:0:99999:7:::\n")},
		{"/etc/inittab", 0o644, []byte(inittab)},
	} {
		if err := m.File(f.path, f.mode, f.data); err != nil {
			return nil, err
		}
	}
	if err := addPrograms(m, tree); err != nil {
		return nil, err
	}
	if err := addModules(m, tree); err != nil {
		return nil, err
	}
	return k, m.Close()
}

// addPrograms copies the programs, and all libraries of the packages: a few
// megabytes, and their links.
func addPrograms(m *vm.Image, tree string) error {
	for _, p := range append([]string{"/bin/busybox"}, programs...) {
		b, err := os.ReadFile(filepath.Join(tree, p))
		if err != nil {
			return err
		}
		if err := m.File(p, 0o755, b); err != nil {
			return err
		}
	}
	if err := m.Symlink("/bin/sh", "busybox"); err != nil {
		return err
	}
	libs := filepath.Join(tree, "usr/lib")
	return filepath.WalkDir(libs, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.Join("/lib", strings.TrimPrefix(p, libs))
		switch {
		case d.IsDir():
			// Of directories only those of the architecture have libraries.
			if p != libs && filepath.Dir(p) == libs && !strings.HasPrefix(d.Name(), "arm-linux-") || d.Name() == "gconv" {
				return fs.SkipDir
			}
			return nil
		case !strings.Contains(d.Name(), ".so"):
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			if err != nil {
				return err
			}
			return m.Symlink(name, to)
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		return m.File(name, 0o755, b)
	})
}

// addModules copies the modules and writes in which order they are loaded.
func addModules(m *vm.Image, tree string) error {
	release, err := os.ReadFile(filepath.Join(tree, releaseFile))
	if err != nil {
		return err
	}
	d, err := vm.ReadModules(filepath.Join(tree, "lib/modules", strings.TrimSpace(string(release))))
	if err != nil {
		return err
	}
	order, missing := d.Closure(modules...)
	if len(missing) > 0 {
		return fmt.Errorf("Linux %s lacks modules that the stand-in needs: %s", strings.TrimSpace(string(release)), strings.Join(missing, ", "))
	}
	for _, name := range order {
		b, err := d.Read(name)
		if err != nil {
			return err
		}
		if err := m.File("/modules/"+name+".ko", 0o644, b); err != nil {
			return err
		}
	}
	return m.File("/modules/order", 0o644, []byte(strings.Join(order, "\n")+"\n"))
}

// errNotFetched tells how to get the stand-in.
var errNotFetched = errors.New("the stand-in's packages are not here; run: cnuas bmc fetch, or name a flash image: cnuas bmc up --image FILE")

package bmc

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// flash is a size of the boot flash that QEMU has a model of.
type flash struct {
	size  int64
	model string // fmc-model of an aspeed machine
}

// flashes by ascending size. The model is named in any case: what a machine has
// by default may be of another size than the image, which QEMU refuses.
var flashes = []flash{
	{16 << 20, "mx25l12805d"},
	{32 << 20, "mx25l25635e"},
	{64 << 20, "mx66u51235f"},
	{128 << 20, "mx66l1g45g"},
	{256 << 20, "mt25qu02g"},
}

// minImage is less than any boot loader with a kernel has, in bytes.
const minImage = 1 << 20

// fit chooses the flash for an image of so many bytes.
func fit(size int64) (flash, error) {
	if size < minImage {
		return flash{}, fmt.Errorf("%d bytes are no flash image; take the one for the whole flash (image-bmc, *.static.mtd), not a part of it", size)
	}
	for _, f := range flashes {
		if size <= f.size {
			return f, nil
		}
	}
	return flash{}, fmt.Errorf("%d MB are more than the largest flash there is, of %d MB; an image for eMMC does not boot here", size>>20, flashes[len(flashes)-1].size>>20)
}

// copyFlash makes a private copy of an image, of the size of the flash: what is
// beyond the image is erased, FFh. The guest may write to it; it has no name and
// is gone with the guest.
func copyFlash(path string) (*os.File, flash, error) {
	in, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // a named pipe would wait for its writer
	if err != nil {
		return nil, flash{}, fmt.Errorf("flash image: %w", err)
	}
	defer in.Close()
	st, err := in.Stat()
	if err != nil {
		return nil, flash{}, fmt.Errorf("flash image: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, flash{}, fmt.Errorf("flash image %s: is not a file", path)
	}
	f, err := fit(st.Size())
	if err != nil {
		return nil, flash{}, fmt.Errorf("flash image %s: %w", path, err)
	}
	var head [8]byte
	if _, err := in.ReadAt(head[:], 0); err == nil {
		if kind := packed(head[:]); kind != "" {
			return nil, flash{}, fmt.Errorf("flash image %s: is packed (%s); unpack it first", path, kind)
		}
	}
	fd, err := unix.Open("/var/tmp", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, flash{}, fmt.Errorf("flash image: a copy in /var/tmp: %w", err)
	}
	out := os.NewFile(uintptr(fd), "flash")
	_, err = io.Copy(out, in)
	blank := make([]byte, 64<<10)
	for i := range blank {
		blank[i] = 0xff
	}
	for at := st.Size(); err == nil && at < f.size; at += int64(len(blank)) {
		_, err = out.WriteAt(blank[:min(int64(len(blank)), f.size-at)], at)
	}
	if err != nil {
		out.Close()
		return nil, flash{}, fmt.Errorf("flash image: a copy in /var/tmp: %w", err)
	}
	return out, f, nil
}

// packed names what a file that begins like this is packed as, or "".
func packed(head []byte) string {
	for _, m := range []struct{ magic, name string }{
		{"\x1f\x8b", "gzip"}, {"\xfd7zXZ\x00", "xz"}, {"\x28\xb5\x2f\xfd", "zstd"}, {"BZh", "bzip2"}, {"PK\x03\x04", "zip"},
	} {
		if len(head) >= len(m.magic) && string(head[:len(m.magic)]) == m.magic {
			return m.name
		}
	}
	return ""
}

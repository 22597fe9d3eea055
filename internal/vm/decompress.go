package vm

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// maxUnpacked bounds what comes out of a compressed file, in bytes: a kernel
// with debugging information has some hundred megabytes.
const maxUnpacked = 1 << 30

// decompress unpacks gzip, xz or zstd, which it knows by their first bytes; what
// is none of them it returns as it is.
func decompress(b []byte) ([]byte, error) {
	var r io.Reader
	var err error
	switch {
	case bytes.HasPrefix(b, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(bytes.NewReader(b))
	case bytes.HasPrefix(b, []byte("\xfd7zXZ\x00")):
		r, err = xz.NewReader(bytes.NewReader(b))
	case bytes.HasPrefix(b, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		var d *zstd.Decoder
		if d, err = zstd.NewReader(bytes.NewReader(b)); err == nil {
			defer d.Close()
			r = d
		}
	default:
		return b, nil
	}
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(r, maxUnpacked+1))
	if err == nil && n > maxUnpacked {
		err = fmt.Errorf("more than %d bytes unpacked", maxUnpacked)
	}
	return out.Bytes(), err
}

var errNotUnpackable = errors.New("no kernel that can be unpacked here")

// extractVMLinux unpacks the kernel proper from a bzImage (Linux
// Documentation/arch/x86/boot.rst, "The real-mode kernel header"). Only one
// with an entry for PVH is returned: QEMU cannot start others.
func extractVMLinux(image []byte) ([]byte, error) {
	const setupSects, magic, payloadOffset, payloadLength = 0x1f1, 0x202, 0x248, 0x24c
	if len(image) < 0x250 || string(image[magic:magic+4]) != "HdrS" {
		return nil, errNotUnpackable
	}
	sects := int(image[setupSects])
	if sects == 0 {
		sects = 4
	}
	start := int64(sects+1)*512 + int64(binary.LittleEndian.Uint32(image[payloadOffset:]))
	length := int64(binary.LittleEndian.Uint32(image[payloadLength:]))
	if length < 8 || start+length > int64(len(image)) {
		return nil, errNotUnpackable
	}
	// The last four bytes are the length of what is packed, added by the
	// kernel's build; gzip has them as part of its format.
	p := image[start : start+length]
	if !bytes.HasPrefix(p, []byte{0x1f, 0x8b}) {
		p = p[:len(p)-4]
	}
	v, err := decompress(p)
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errNotUnpackable, err)
	}
	if !hasPVH(v) {
		return nil, errNotUnpackable
	}
	return v, nil
}

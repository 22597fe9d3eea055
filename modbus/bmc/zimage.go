package bmc

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"
	"os"
	"path/filepath"

	"cnuas/internal/vm"
)

// memoryBase is where the memory of an AST2600 begins.
const memoryBase = 0x8000_0000

var errNotUnpackable = errors.New("no zImage that can be unpacked here")

// textOffset finds where in memory the unpacked kernel is to be. The zImage's
// own unpacker computes it: "add r4, r4, #TEXT_OFFSET" after r4 was cut to a
// multiple of 128 MiB (Linux, arch/arm/boot/compressed/head.S). Small constants
// are added in many places, such a large one in this only.
func textOffset(code []byte) (uint32, error) {
	const addR4 = 0xe2844 // the upper 20 bits of add r4, r4, #constant
	found := uint32(0)
	for i := 0; i+4 <= len(code); i += 4 {
		w := binary.LittleEndian.Uint32(code[i:])
		if w>>12 != addR4 {
			continue
		}
		// The constant is 8 bits, rotated right by twice the 4 bits before.
		v := bits.RotateLeft32(w&0xff, -2*int(w>>8&0xf))
		if v >= 0x8000 && v < 1<<25 && v&0xfff == 0 {
			if found != 0 && found != v {
				return 0, errNotUnpackable
			}
			found = v
		}
	}
	if found == 0 {
		return 0, errNotUnpackable
	}
	return found, nil
}

// uImage wraps a kernel for QEMU, which loads it where the header says and jumps
// there with the device tree in place (U-Boot, include/image.h).
func uImage(kernel []byte, at uint32) []byte {
	const (
		magic          = 0x27051956
		linux, arm     = 5, 2
		kernelType, no = 2, 0 // not compressed
	)
	h := binary.BigEndian.AppendUint32(nil, magic)
	h = binary.BigEndian.AppendUint32(h, 0) // sum of the header
	h = binary.BigEndian.AppendUint32(h, 0) // time
	h = binary.BigEndian.AppendUint32(h, uint32(len(kernel)))
	h = binary.BigEndian.AppendUint32(h, at) // load
	h = binary.BigEndian.AppendUint32(h, at) // entry
	h = binary.BigEndian.AppendUint32(h, crc32.ChecksumIEEE(kernel))
	h = append(h, linux, arm, kernelType, no)
	h = append(h, make([]byte, 32)...) // name
	binary.BigEndian.PutUint32(h[4:], crc32.ChecksumIEEE(h))
	return append(h, kernel...)
}

// unpackKernel writes the kernel of a zImage as a uImage. An emulated processor
// needs as long for unpacking as for all else of a boot. errNotUnpackable: start
// the zImage, the long way.
func unpackKernel(ctx context.Context, zImage, to string) error {
	z, err := os.ReadFile(zImage)
	if err != nil {
		return err
	}
	const magicAt, magic = 0x24, 0x016f2818 // Linux, Documentation/arch/arm/booting
	if len(z) < 0x40 || binary.LittleEndian.Uint32(z[magicAt:]) != magic {
		return errNotUnpackable
	}
	// The name of the format stands in the unpacker's messages, too.
	xz := []byte("\xfd7zXZ\x00")
	for at := bytes.Index(z, xz); at >= 0; {
		k, err := unxz(ctx, filepath.Dir(to), z[at:])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil && len(k) > len(z) {
			offset, err := textOffset(z[:at])
			if err != nil {
				return err
			}
			return os.WriteFile(to, uImage(k, memoryBase+offset), 0o644)
		}
		next := bytes.Index(z[at+1:], xz)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return errNotUnpackable
}

// unxz unpacks one stream; what follows it does not matter. The kernel's has a
// filter for ARM code, which the program knows.
func unxz(ctx context.Context, dir string, b []byte) ([]byte, error) {
	f, err := os.CreateTemp(dir, "packed-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := vm.RunTool(ctx, f, &out, "xz", "xz-utils", "--decompress", "--stdout", "--single-stream"); err != nil {
		return nil, fmt.Errorf("%w: %v", errNotUnpackable, err)
	}
	return out.Bytes(), nil
}

package vm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"io"
)

// notePVH is the Xen ELF note with the kernel's 32-bit entry point
// (XEN_ELFNOTE_PHYS32_ENTRY, xen/include/public/elfnote.h).
const notePVH = 18

// hasPVH tells whether a kernel can be entered directly. QEMU then needs
// neither the boot loader's protocol nor the unpacking stage.
func hasPVH(vmlinux []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(vmlinux))
	if err != nil || f.Machine != elf.EM_X86_64 {
		return false
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > 1<<20 {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err != nil {
			continue
		}
		for len(b) >= 12 {
			name, desc := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
			typ := binary.LittleEndian.Uint32(b[8:])
			size := 12 + (name+3)&^3 + (desc+3)&^3
			if name < 0 || desc < 0 || size > len(b) {
				break
			}
			if typ == notePVH && string(b[12:12+name]) == "Xen\x00" {
				return true
			}
			b = b[size:]
		}
	}
	return false
}

package bmc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

var errDeviceTree = errors.New("no device tree blob, or a damaged one")

// enable sets the status of the named node to "okay" in a flattened device tree
// (Devicetree Specification v0.4, 5), in place: the string that is there has to
// be as long, as "disabled" is.
func enable(dtb []byte, node string) error {
	const (
		magic                             = 0xd00dfeed
		beginNode, endNode, property, nop = 1, 2, 3, 4
		structAt, stringsAt, structSize   = 8, 12, 36
		header                            = 40
	)
	u32 := func(at int) int { return int(binary.BigEndian.Uint32(dtb[at:])) }
	if len(dtb) < header || u32(0) != magic {
		return errDeviceTree
	}
	at, names := u32(structAt), u32(stringsAt)
	end := at + u32(structSize)
	if at < header || end > len(dtb) || end < at || names > len(dtb) {
		return errDeviceTree
	}
	in := false // the node's own properties
	for at+4 <= end {
		token := u32(at)
		at += 4
		switch token {
		case beginNode:
			n := bytes.IndexByte(dtb[at:end], 0)
			if n < 0 {
				return errDeviceTree
			}
			in = string(dtb[at:at+n]) == node
			at += (n + 4) &^ 3
		case endNode:
			in = false
		case property:
			if at+8 > end {
				return errDeviceTree
			}
			n, name := u32(at), names+u32(at+4)
			at += 8
			if n > end-at || name >= len(dtb) {
				return errDeviceTree
			}
			if in && bytes.HasPrefix(dtb[name:], []byte("status\x00")) {
				if n < len("okay\x00") {
					return errDeviceTree
				}
				copy(dtb[at:at+n], append([]byte("okay"), make([]byte, n-4)...))
				return nil
			}
			at += (n + 3) &^ 3
		case nop:
		default: // the end
			return fmt.Errorf("the device tree has no node %s with a status", node)
		}
	}
	return errDeviceTree
}

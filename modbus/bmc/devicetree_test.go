package bmc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// blob makes a device tree with a serial node and one inside of another.
func blob() []byte {
	var s []byte
	word := func(v uint32) { s = binary.BigEndian.AppendUint32(s, v) }
	text := func(t string) {
		s = append(s, t...)
		s = append(s, make([]byte, 4-len(t)%4)...)
	}
	prop := func(name uint32, v string) {
		word(3)
		word(uint32(len(v)))
		word(name)
		s = append(s, v...)
		for len(s)%4 != 0 {
			s = append(s, 0)
		}
	}
	word(1)
	text("")
	prop(7, "root\x00") // model
	word(4)
	for _, n := range []string{"serial@1", "serial@2"} {
		word(1)
		text(n)
		prop(0, "disabled\x00")
		word(2)
	}
	word(1)
	text("bus")
	word(1)
	text("usb@3")
	prop(0, "okay\x00")
	word(2)
	word(1)
	text("none@4")
	word(2)
	word(2)
	word(2)
	word(9)
	strings := "status\x00model\x00"
	h := make([]byte, 40)
	for i, v := range []int{0xd00dfeed, 40 + len(s) + len(strings), 40, 40 + len(s), 0, 17, 16, 0, len(strings), len(s)} {
		binary.BigEndian.PutUint32(h[4*i:], uint32(v))
	}
	return append(append(h, s...), strings...)
}

func TestEnable(t *testing.T) {
	dtb := blob()
	if err := enable(dtb, "serial@2"); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(dtb, []byte("disabled")); n != 1 || len(dtb) != len(blob()) {
		t.Errorf("%d nodes are disabled", n)
	}
	if i, j := bytes.Index(dtb, []byte("serial@2")), bytes.Index(dtb, []byte("okay\x00\x00\x00\x00\x00")); j < i {
		t.Errorf("the status is at %d, the node at %d", j, i)
	}
	if err := enable(dtb, "usb@3"); err != nil || !bytes.Contains(dtb, []byte("okay\x00")) {
		t.Error(err)
	}
	for _, node := range []string{"serial@3", "none@4", "bus"} {
		if err := enable(blob(), node); err == nil || !strings.Contains(err.Error(), node) {
			t.Errorf("%s: %v", node, err)
		}
	}
	for i := range len(dtb) {
		enable(blob()[:i], "none@4") // no panic
	}
	if err := enable([]byte("no tree"), "x"); !errors.Is(err, errDeviceTree) {
		t.Error(err)
	}
}

func FuzzEnable(f *testing.F) {
	f.Add(blob(), "serial@2")
	f.Fuzz(func(t *testing.T, b []byte, node string) {
		before := bytes.Clone(b)
		if enable(b, node) != nil && !bytes.Equal(b, before) {
			t.Error("changed in vain")
		}
	})
}

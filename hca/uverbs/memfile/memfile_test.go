package memfile

import (
	"testing"
	"unsafe"
)

func newDirectory() Directory {
	words := make([]uint64, DirectorySize/8)
	return NewDirectory(unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), DirectorySize))
}

func TestDirectory(t *testing.T) {
	d := newDirectory()
	if _, ok := d.CQ(0); ok {
		t.Error("an empty directory has a CQ")
	}
	cq := Queue{Offset: 5 << 32, Slots: 256, Elem: 64}
	qp := QP{Num: 0x123456, SQ: Queue{1 << 38, 128, 512}, RQ: Queue{4096, 2, 64}, SendCQ: 7, RecvCQ: MaxCQ - 1}
	d.SetCQ(MaxCQ-1, cq)
	d.SetQP(0, qp)
	d.SetQP(MaxQP-1, qp)
	if got, ok := d.CQ(MaxCQ - 1); !ok || got != cq {
		t.Errorf("CQ %+v %v, want %+v", got, ok, cq)
	}
	for _, i := range []int{0, MaxQP - 1} {
		if got, ok := d.QP(i); !ok || got != qp {
			t.Errorf("QP %d: %+v %v, want %+v", i, got, ok, qp)
		}
	}
	d.ClearQP(0)
	d.ClearCQ(MaxCQ - 1)
	if _, ok := d.QP(0); ok {
		t.Error("a removed QP is still there")
	}
	if _, ok := d.CQ(MaxCQ - 1); ok {
		t.Error("a removed CQ is still there")
	}
	if _, ok := d.QP(MaxQP - 1); !ok {
		t.Error("removing one QP removed another")
	}
}

func TestOutsideTheDirectory(t *testing.T) {
	d := newDirectory()
	for _, i := range []int{-1, MaxCQ, MaxQP, 1 << 30} {
		if _, ok := d.CQ(i); ok {
			t.Errorf("CQ %d exists", i)
		}
	}
	for _, i := range []int{-1, MaxQP} {
		if _, ok := d.QP(i); ok {
			t.Errorf("QP %d exists", i)
		}
	}
}

func TestLayout(t *testing.T) {
	if DirectoryOffset+DirectorySize > LogOffset || QueueSpace > DirectoryOffset || DirectoryOffset%4096 != 0 {
		t.Error("the parts of the file overlap")
	}
}

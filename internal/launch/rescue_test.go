package launch

import (
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/hca/ring"
	"cnuas/hca/uverbs/memfile"
)

// device is a memory file with one queue pair and one completion queue, as a
// dead daemon leaves it.
type device struct {
	fd         int
	dir        memfile.Directory
	sq, rq, cq *ring.Ring
}

func newDevice(t *testing.T, cqe int) *device {
	t.Helper()
	fd, err := unix.MemfdCreate("uverbs", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Ftruncate(fd, memfile.Size); err != nil {
		t.Fatal(err)
	}
	d := &device{fd: fd}
	mapped := func(off int64, size int) []byte {
		mem, err := unix.Mmap(fd, off, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Munmap(mem) })
		return mem
	}
	t.Cleanup(func() { unix.Close(fd) })
	d.dir = memfile.NewDirectory(mapped(memfile.DirectoryOffset, memfile.DirectorySize))
	queue := func(off int64, slots, elem int) (*ring.Ring, memfile.Queue) {
		r, err := ring.New(mapped(off, 1<<16), slots, elem)
		if err != nil {
			t.Fatal(err)
		}
		return r, memfile.Queue{Offset: off, Slots: uint32(slots), Elem: uint32(elem)}
	}
	var sq, rq, cq memfile.Queue
	d.sq, sq = queue(0, 16, 256)
	d.rq, rq = queue(1<<16, 16, 64)
	d.cq, cq = queue(2<<16, ring.Slots(cqe), 64)
	d.dir.SetCQ(3, cq)
	d.dir.SetQP(9, memfile.QP{Num: 77, SQ: sq, RQ: rq, SendCQ: 3, RecvCQ: 3})
	return d
}

func (d *device) post(id uint64, opcode uint32) {
	p := d.sq.Producer()
	ring.SendWQE(d.sq.At(p)).Encode(&ring.Send{ID: id, Opcode: opcode})
	d.sq.SetProducer(p + 1)
}

func (d *device) poll() (list []ring.CQE) {
	for i := d.cq.Consumer(); i != d.cq.Producer(); i = d.cq.Next(i) {
		var c ring.CQE
		c.Decode(d.cq.At(i))
		list = append(list, c)
		d.cq.SetConsumer(d.cq.Next(i))
	}
	return list
}

// TestTreat: the first send fails with "retry exceeded", everything else is
// flushed, also what is posted later, and no more than the program takes.
func TestTreat(t *testing.T) {
	d := newDevice(t, 3)
	p, err := newPatient(d.fd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	d.post(1, ring.OpRDMAWrite)
	d.post(2, ring.OpSend)
	d.post(3, ring.OpRDMARead)
	ring.RecvWQE(d.rq.At(0)).Encode(50, nil)
	d.rq.SetProducer(1)
	want := []ring.CQE{
		{ID: 1, Status: uint32(hca.StatusRetryExcErr), Opcode: ring.WCRDMAWrite, QPN: 77, Port: 1},
		{ID: 2, Status: uint32(hca.StatusWRFlushErr), Opcode: ring.WCSend, QPN: 77, Port: 1},
		{ID: 3, Status: uint32(hca.StatusWRFlushErr), Opcode: ring.WCRDMARead, QPN: 77, Port: 1},
		{ID: 50, Status: uint32(hca.StatusWRFlushErr), Opcode: ring.WCRecv, QPN: 77, Port: 1},
		{ID: 4, Status: uint32(hca.StatusWRFlushErr), Opcode: ring.WCFetchAdd, QPN: 77, Port: 1},
	}
	p.treat()
	p.treat()
	got := d.poll()
	if len(got) != 3 {
		t.Fatalf("%d completions in a queue of 3: %+v", len(got), got)
	}
	p.treat()
	got = append(got, d.poll()...)
	d.post(4, ring.OpFetchAdd)
	p.treat()
	got = append(got, d.poll()...)
	if len(got) != len(want) {
		t.Fatalf("%d completions, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("completion %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// TestTreatNonsense: a directory that the program has overwritten does no harm.
func TestTreatNonsense(t *testing.T) {
	d := newDevice(t, 3)
	d.post(1, ring.OpSend)
	good, _ := d.dir.QP(9)
	for i, q := range []memfile.Queue{
		{Offset: -4096, Slots: 16, Elem: 256}, {Offset: 4095, Slots: 16, Elem: 256}, {Offset: memfile.QueueSpace, Slots: 16, Elem: 256},
		{Offset: 0, Slots: 15, Elem: 256}, {Offset: 0, Slots: 1 << 31, Elem: 256}, {Offset: 0, Slots: 16, Elem: 1 << 31},
		{Offset: 0, Slots: 16, Elem: 64}, {Offset: 0, Slots: 1, Elem: 256}, {Offset: 1<<63 - 1, Slots: 16, Elem: 256},
	} {
		bad := good
		bad.SQ, bad.RQ = q, q
		d.dir.SetQP(20+i, bad)
		bad = good
		bad.SendCQ, bad.RecvCQ = uint32(100+i), 1<<32-1
		d.dir.SetQP(50+i, bad)
		d.dir.SetCQ(100+i, q)
	}
	p, err := newPatient(d.fd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	p.treat()
	if got := d.poll(); len(got) == 0 || got[0].ID != 1 {
		t.Errorf("the good queue pair got %+v", got)
	}
}

func FuzzTreat(f *testing.F) {
	f.Add(uint32(1), uint64(0), uint32(16), uint32(256), uint32(3))
	f.Fuzz(func(t *testing.T, num uint32, off uint64, slots, elem, cq uint32) {
		d := newDevice(t, 3)
		d.post(1, num)
		q := memfile.Queue{Offset: int64(off), Slots: slots, Elem: elem}
		d.dir.SetCQ(4, q)
		d.dir.SetQP(1, memfile.QP{Num: num, SQ: q, RQ: q, SendCQ: cq, RecvCQ: 4})
		d.dir.SetQP(2, memfile.QP{Num: num, SQ: q, SendCQ: 4, RecvCQ: cq})
		p, err := newPatient(d.fd)
		if err != nil {
			t.Fatal(err)
		}
		defer p.close()
		p.treat()
	})
}

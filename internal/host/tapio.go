package host

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// TAPCounters are counted by Read and Write.
type TAPCounters struct {
	RxFrames, RxBytes uint64 // read: sent by the node's kernel
	TxFrames, TxBytes uint64 // written: received by it

	TxFull  uint64 // not written: the kernel is out of buffers (EAGAIN, ENOBUFS, ENOMEM)
	TxDown  uint64 // not written: the interface is down (EIO)
	TxError uint64 // not written for another reason, such as a frame below 14 bytes
	RxError uint64 // reads that failed
}

// Counters returns a copy of the counters.
func (t *TAP) Counters() TAPCounters { return t.c }

// Read reads one frame, without FCS, into b, which has room for MTU+18 bytes
// (an Ethernet header and a VLAN tag). It never blocks: 0 means that there is
// none now. An error means that the interface is gone.
func (t *TAP) Read(b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(t.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			t.c.RxFrames++
			t.c.RxBytes += uint64(n)
			return int(n), nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		default:
			t.c.RxError++
			return 0, errno
		}
	}
}

// Sink receives what ReadBatch reads.
type Sink interface {
	// Buffer returns n bytes to read a frame into.
	Buffer(n int) []byte
	// Frame takes the frame in the first n bytes of the last Buffer. False
	// ends the batch: there is no room for another.
	Frame(n int) bool
	// Unused takes the last Buffer back: there was no frame for it.
	Unused()
}

// ReadBatch reads up to limit frames. It reports whether there may be more.
func (t *TAP) ReadBatch(s Sink, limit int) (more bool, err error) {
	size := t.cfg.MTU + 18
	for range limit {
		n, err := t.Read(s.Buffer(size))
		if n == 0 {
			s.Unused()
			return false, err
		}
		if !s.Frame(n) {
			return true, nil
		}
	}
	return true, nil
}

// Write gives the node's kernel one frame, without FCS. It never blocks; false
// means that the kernel did not take it, and a counter says why.
func (t *TAP) Write(b []byte) bool {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(t.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
		switch errno {
		case 0:
			t.c.TxFrames++
			t.c.TxBytes += uint64(len(b))
			return true
		case unix.EINTR:
			continue
		case unix.EAGAIN, unix.ENOBUFS, unix.ENOMEM:
			t.c.TxFull++
		case unix.EIO:
			t.c.TxDown++
		default:
			t.c.TxError++
		}
		return false
	}
}

// KernelStats are the kernel's own counters of the interface.
type KernelStats struct {
	TxPackets, TxBytes uint64 // sent by the node's kernel
	TxDropped          uint64 // dropped by the driver before the fabric read them: the ring was full
	QdiscDropped       uint64 // dropped by the qdisc in front of the ring; it never goes back
	RxPackets, RxBytes uint64
	RxDropped          uint64
}

// Lost is the number of frames that the node's kernel sent and no emulated
// device saw: above zero, the run is not faithful.
func (s KernelStats) Lost() uint64 { return s.TxDropped + s.QdiscDropped }

// Kernel asks the kernel for its counters.
func (t *TAP) Kernel() (KernelStats, error) {
	l, err := t.ns.nl.LinkByIndex(t.index)
	if err != nil {
		return KernelStats{}, t.wrap(err)
	}
	s := l.Attrs().Statistics
	if s == nil {
		return KernelStats{}, nil
	}
	return KernelStats{
		TxPackets: s.TxPackets, TxBytes: s.TxBytes, TxDropped: s.TxDropped + s.TxErrors, QdiscDropped: t.qdiscDropped(l),
		RxPackets: s.RxPackets, RxBytes: s.RxBytes, RxDropped: s.RxDropped + s.RxErrors,
	}, nil
}

package umad

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	mads "cnuas/hca/mad"
	"cnuas/hca/uverbs"
	"cnuas/internal/wire/mad"
)

// Requests of the files, include/uapi/rdma/rdma_user_ioctl.h.
const (
	registerAgent   = 0xc01c1b01
	unregisterAgent = 0x40041b02
	enablePKey      = 0x1b03
	registerAgent2  = 0xc0281b04
)

// userRMPP is the flag of registerAgent2 by which a program runs RMPP itself.
const userRMPP = 1

var le = binary.LittleEndian

// ioctl executes a request.
func (f *file) ioctl(t *uverbs.Syscall) (e unix.Errno) {
	switch t.Request {
	case enablePKey:
		f.k.cfg.Do(func() {
			if f.used {
				e = unix.EINVAL
			} else {
				f.header = headerLen
			}
		})
		return e
	case unregisterAgent:
		var b [4]byte
		if t.Read(t.Addr, b[:]) != nil || !t.Valid() {
			return unix.EFAULT
		}
		id := le.Uint32(b[:])
		f.k.cfg.Do(func() {
			if id >= maxAgents || f.agents[id] == nil {
				e = unix.EINVAL
				return
			}
			f.agents[id].Close()
			f.agents[id] = nil
		})
		return e
	case registerAgent:
		var b [28]byte
		if t.Read(t.Addr, b[:]) != nil || !t.Valid() {
			return unix.EFAULT
		}
		r := mads.Registration{QP: uint32(b[20]), Class: mad.Class(b[21]), Version: b[22], OUI: [3]byte(b[23:26]),
			Methods: [2]uint64{le.Uint64(b[4:]), le.Uint64(b[12:])}}
		return f.register(t, r, b[26], 0)
	case registerAgent2:
		return f.register2(t)
	}
	return unix.ENOTTY
}

func (f *file) register2(t *uverbs.Syscall) unix.Errno {
	var b [40]byte
	if t.Read(t.Addr, b[:]) != nil || !t.Valid() {
		return unix.EFAULT
	}
	flags, oui := le.Uint32(b[12:]), le.Uint32(b[32:])
	if flags&^userRMPP != 0 {
		le.PutUint32(b[:], userRMPP) // what there is
		if t.Write(t.Addr+12, b[:4]) != nil {
			return unix.EFAULT
		}
		return unix.EINVAL
	}
	if oui>>24 != 0 {
		return unix.EINVAL
	}
	r := mads.Registration{QP: le.Uint32(b[4:]), Class: mad.Class(b[8]), Version: b[9], OUI: [3]byte{byte(oui >> 16), byte(oui >> 8), byte(oui)},
		Methods: [2]uint64{le.Uint64(b[16:]), le.Uint64(b[24:])}}
	return f.register(t, r, b[36], flags)
}

// register makes an agent and tells the program its number, which is the
// first field of both requests.
func (f *file) register(t *uverbs.Syscall, r mads.Registration, rmpp uint8, flags uint32) unix.Errno {
	if rmpp > mad.RMPPVersion || r.QP > 1 {
		return unix.EINVAL
	}
	r.RMPP = rmpp != 0 && flags&userRMPP == 0
	if r.Class == 0 { // responses only
		r.Methods = [2]uint64{}
	} else if rmpp != 0 && !r.Class.HasRMPP() {
		return unix.EINVAL
	}
	id, e := -1, unix.Errno(0)
	f.k.cfg.Do(func() {
		if f.closed {
			e = unix.EIO
			return
		}
		for i, a := range f.agents {
			if a == nil {
				id = i
				break
			}
		}
		if id < 0 {
			e = unix.ENOMEM
			return
		}
		a, err := f.p.MADs.Register(r, &agent{f: f, id: uint32(id)})
		if err != nil {
			e = registerErrno(err)
			return
		}
		f.agents[id] = a
		f.used = true
		if f.header == 0 {
			f.header = oldHeaderLen
		}
	})
	if e != 0 {
		return e
	}
	if t.Write(t.Addr, le.AppendUint32(nil, uint32(id))) != nil {
		f.k.cfg.Do(func() {
			if a := f.agents[id]; a != nil {
				a.Close()
				f.agents[id] = nil
			}
		})
		return unix.EFAULT
	}
	return 0
}

// registerErrno is what ib_umad_reg_agent would return.
func registerErrno(err error) unix.Errno {
	switch {
	case errors.Is(err, mads.ErrNoMemory):
		return unix.ENOMEM
	case errors.Is(err, mads.ErrNoQP):
		return unix.EPROTONOSUPPORT
	}
	return unix.EINVAL
}

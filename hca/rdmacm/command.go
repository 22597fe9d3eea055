package rdmacm

import (
	"errors"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/hca/uverbs"
	"cnuas/internal/seccomp"
)

// command is one write of a program. Its functions run with the engine held
// and leave the answer in out.
type command struct {
	f   *file
	in  []byte // behind the header, padded with zeros to what the struct has
	out int    // bytes of room for the answer

	answer []byte
	addr   uint64 // where the answer goes
	undo   func() // takes back what the command did, should the answer not be deliverable

	other fileID // file that a descriptor in the command is, if any
}

// header is struct rdma_ucm_cmd_hdr: command, length of what follows, room for
// the answer.
const headerLen = 8

// kinds of commands: lengths of struct rdma_ucm_* in bytes, and the least that
// a program has to say and to have room for.
type kind struct {
	name     string
	len, min int
	out      int
	response int // offset of the address of the answer; -1: there is none
	run      func(c *command) error
}

// kinds by number (RDMA_USER_CM_CMD_*).
var kinds = [...]kind{
	0:  {"CREATE_ID", 24, 24, 4, 8, createID},
	1:  {"DESTROY_ID", 16, 16, 4, 0, destroyID},
	2:  {"BIND_IP", 40, 40, 0, -1, bindIP},
	3:  {"RESOLVE_IP", 64, 64, 0, -1, resolveIP},
	4:  {"RESOLVE_ROUTE", 8, 8, 0, -1, resolveRoute},
	5:  {"QUERY_ROUTE", 16, 16, 200, 0, queryRoute},
	6:  {"CONNECT", 288, 280, 0, -1, connect},
	7:  {"LISTEN", 8, 8, 0, -1, listen},
	8:  {"ACCEPT", 296, 288, 0, -1, accept},
	9:  {"REJECT", 264, 264, 0, -1, reject},
	10: {"DISCONNECT", 4, 4, 0, -1, disconnect},
	11: {"INIT_QP_ATTR", 16, 16, qpAttrLen, 0, initQPAttr},
	12: {"GET_EVENT", 8, 8, eventMinLen, 0, nil},
	13: {}, // GET_OPTION
	14: {"SET_OPTION", 24, 24, 0, -1, nil},
	15: {"NOTIFY", 8, 8, 0, -1, notify},
	16: {"JOIN_IP_MCAST", 48, 48, 4, 0, joinIP},
	17: {"LEAVE_MCAST", 16, 16, 4, 0, leaveGroup},
	18: {"MIGRATE_ID", 16, 16, 4, 0, migrate},
	19: {"QUERY", 16, 16, 8, 0, query},
	20: {"BIND", 136, 136, 0, -1, bind},
	21: {"RESOLVE_ADDR", 272, 272, 0, -1, resolveAddr},
	22: {"JOIN_MCAST", 152, 152, 4, 0, join},
}

const (
	cmdGetEvent  = 12
	cmdSetOption = 14
	cmdMigrate   = 18
)

// maxCommand bounds what a write may be; the longest command has 304 bytes.
const maxCommand = 4096

// parse checks a header against the length of the write. c.in has room for what
// the program sends and for all of the struct.
func (f *file) parse(hdr []byte, count uint64) (n uint32, in int, c *command, e unix.Errno) {
	n, in = le.Uint32(hdr[0:]), int(le.Uint16(hdr[4:]))
	room := int(le.Uint16(hdr[6:]))
	switch {
	case n >= uint32(len(kinds)), uint64(in)+headerLen > count, in > maxCommand:
		return n, in, nil, unix.EINVAL
	case kinds[n].name == "":
		return n, in, nil, unix.ENOSYS
	case in < kinds[n].min:
		return n, in, nil, unix.EINVAL
	case room < kinds[n].out:
		return n, in, nil, unix.ENOSPC
	}
	return n, in, &command{f: f, in: make([]byte, max(in, kinds[n].len)), out: room}, 0
}

// run carries out a command that has been read. option is the value of
// SET_OPTION.
func (f *file) run(n uint32, c *command, option []byte) (err error) {
	f.svc.cfg.Do(func() {
		switch {
		case f.closed:
			err = unix.EIO
		case n == cmdSetOption:
			err = setOption(c, option)
		default:
			err = kinds[n].run(c)
		}
	})
	return err
}

// write carries out a command.
func (f *file) write(t *uverbs.Syscall) {
	var hdr [headerLen]byte
	if t.Count < headerLen {
		t.Reply(0, unix.EINVAL)
		return
	}
	if err := t.Read(t.Addr, hdr[:]); err != nil {
		t.Reply(0, unix.EFAULT)
		return
	}
	n, in, c, e := f.parse(hdr[:], t.Count)
	if e != 0 {
		t.Reply(0, e)
		return
	}
	if err := t.Read(t.Addr+headerLen, c.in[:in]); err != nil {
		t.Reply(0, unix.EFAULT)
		return
	}
	if at := kinds[n].response; at >= 0 {
		c.addr = le.Uint64(c.in[at:])
	}
	var option []byte
	switch n {
	case cmdMigrate:
		var st unix.Stat_t
		if err := t.Stat(int(int32(le.Uint32(c.in[12:]))), &st); err != nil {
			t.Reply(0, unix.ENOENT)
			return
		}
		c.other = fileID{uint64(st.Dev), st.Ino}
	case cmdSetOption:
		if option, e = readOption(t, c.in); e != 0 {
			t.Reply(0, e)
			return
		}
	}
	if !t.Valid() {
		t.Reply(0, unix.ESRCH)
		return
	}
	if n == cmdGetEvent {
		f.getEvent(t, c)
		return
	}
	err := f.run(n, c, option)
	if err == nil && c.answer != nil {
		if t.Write(c.addr, c.answer[:min(len(c.answer), c.out)]) != nil {
			if c.undo != nil {
				f.svc.cfg.Do(c.undo)
			}
			err = unix.EFAULT
		}
	}
	if f.pending.Load() == 0 { // a command may have taken events away
		f.tty.sync(f.readable)
	}
	t.Reply(int64(t.Count), errno(err))
}

// errno is what a program is told of an error.
func errno(err error) unix.Errno {
	var e unix.Errno
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e
	case errors.Is(err, hca.ErrInvalid), errors.Is(err, hca.ErrState), errors.Is(err, hca.ErrNoGID):
		return unix.EINVAL
	case errors.Is(err, hca.ErrNoMemory), errors.Is(err, mads.ErrNoMemory):
		return unix.ENOMEM
	case errors.Is(err, hca.ErrBusy):
		return unix.EADDRINUSE
	case errors.Is(err, mads.ErrTimeout):
		return unix.ETIMEDOUT
	case errors.Is(err, seccomp.ErrGone):
		return unix.ESRCH
	}
	return unix.EIO
}

// id finds the identifier whose handle is at an offset of the command.
func (c *command) id(off int) (*id, error) { return c.f.id(le.Uint32(c.in[off:])) }

// busy tells that the program does not fetch its events: commands that make
// more fail.
func (c *command) busy() error {
	if len(c.f.events) >= c.f.svc.cfg.Limits.Events {
		return unix.ENOMEM
	}
	return nil
}

// createID is struct rdma_ucm_create_id: 0 uid  8 response  16 ps  18 qp_type.
func createID(c *command) error {
	space, typ := le.Uint16(c.in[16:]), hca.QPType(c.in[18])
	switch space {
	case spaceTCP:
		typ = hca.RC
	case spaceUDP, spaceIPoIB:
		typ = hca.UD
	case spaceIB:
		if typ != hca.RC && typ != hca.UC && typ != hca.UD {
			return unix.EINVAL
		}
	default:
		return unix.EINVAL
	}
	i, err := c.f.svc.newID(c.f, le.Uint64(c.in), space, typ)
	if err != nil {
		return err
	}
	c.answer = le.AppendUint32(nil, i.handle)
	c.undo = i.destroy
	return nil
}

// destroyID is struct rdma_ucm_destroy_id: 0 response  8 id.
func destroyID(c *command) error {
	i, err := c.id(8)
	if err != nil {
		return err
	}
	i.destroy()
	c.answer = le.AppendUint32(nil, i.reported)
	return nil
}

// migrate is struct rdma_ucm_migrate_id: 0 response  8 id  12 fd of the file
// that it is in. The events come along.
func migrate(c *command) error {
	from := c.f.svc.files[c.other]
	if from == nil {
		return unix.EINVAL
	}
	i, err := from.id(le.Uint32(c.in[8:]))
	if err != nil {
		return err
	}
	if from != c.f {
		if c.f.ids >= c.f.svc.cfg.Limits.IDs {
			return unix.ENOMEM
		}
		from.ids--
		c.f.ids++
		i.file = c.f
		var moved []*event
		from.dropEvents(func(e *event) bool {
			if e.owner == i {
				moved = append(moved, e)
			}
			return e.owner == i
		})
		for _, e := range moved {
			if e.request != nil && e.request.file == from {
				e.request.file = c.f
				from.ids--
				c.f.ids++
			}
			c.f.deliver(e)
		}
	}
	c.answer = le.AppendUint32(nil, i.reported)
	return nil
}

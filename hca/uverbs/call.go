package uverbs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// environment is the calling program as a call sees it.
type environment interface {
	Read(addr uint64, b []byte) error
	Write(addr uint64, b []byte) error
	// Valid tells that the caller still waits, so that what was read was its own.
	Valid() bool
	// AddFD gives the program a descriptor and returns its number there.
	AddFD(fd int) (int, error)
	// FileID identifies one of the program's descriptors.
	FileID(fd int) (fileID, error)
	// TGID is the process that the caller belongs to.
	TGID() (int, error)
	// CheckRange tells whether the process may read, or also write, the range.
	CheckRange(start, length uint64, write bool) error
}

// Layout of struct ib_uverbs_ioctl_hdr and ib_uverbs_attr.
const (
	hdrLen   = 24
	attrLen  = 16
	maxAttrs = (4096 - hdrLen) / attrLen

	flagMandatory   = 1 << 0
	flagValidOutput = 1 << 1
)

// value is one attribute of a call.
type value struct {
	spec  *attrSpec
	len   uint16
	flags uint16
	data  uint64
	addr  uint64 // of the attribute in the program

	in     []byte // attrIn and attrConst: the bytes, padded with zeros to spec.max
	obj    *object
	ch     *channel
	fileID fileID

	result []byte // attrOut: bytes to store
	newVal uint64 // attrNew, attrNewFD
	set    bool   // there is something to store
}

// call is one ioctl in the making.
type call struct {
	ctx  *context
	env  environment
	m    *method
	vals []value

	handle uint32 // of INVOKE_WRITE's queue pair and the like, once looked up
	mac    [6]byte
	macOK  bool
	undo   func() // takes back what run made, should the answer not be deliverable
}

// decode reads and checks an ioctl's argument at addr. All reading of the
// program's memory happens here, each byte once.
func decode(c *context, env environment, addr uint64) (*call, error) {
	var hdr [hdrLen]byte
	if err := env.Read(addr, hdr[:]); err != nil {
		return nil, unix.EFAULT
	}
	length, n := int(le.Uint16(hdr[0:])), int(le.Uint16(hdr[6:]))
	if n > maxAttrs || length != hdrLen+n*attrLen {
		return nil, unix.EINVAL
	}
	if le.Uint64(hdr[8:]) != 0 || le.Uint32(hdr[20:]) != 0 {
		return nil, unix.EPROTONOSUPPORT
	}
	k := &call{ctx: c, env: env, m: methodOf(kind(le.Uint16(hdr[2:])), le.Uint16(hdr[4:]))}
	if k.m == nil {
		return nil, unix.EPROTONOSUPPORT
	}
	raw := make([]byte, n*attrLen)
	if err := env.Read(addr+hdrLen, raw); err != nil {
		return nil, unix.EFAULT
	}
	for i := range n {
		if err := k.attribute(raw[i*attrLen:], addr+hdrLen+uint64(i*attrLen)); err != nil {
			return nil, err
		}
	}
	for i := range k.m.attrs {
		if s := &k.m.attrs[i]; !s.optional && k.get(s.id) == nil {
			return nil, unix.EINVAL
		}
	}
	if !env.Valid() {
		return nil, unix.ESRCH
	}
	return k, nil
}

// attribute checks one attribute and reads what it points to.
func (k *call) attribute(b []byte, addr uint64) error {
	v := value{len: le.Uint16(b[2:]), flags: le.Uint16(b[4:]), data: le.Uint64(b[8:]), addr: addr}
	id := le.Uint16(b)
	v.spec = k.m.spec(id)
	if v.spec == nil {
		if v.flags&flagMandatory != 0 {
			return unix.EPROTONOSUPPORT
		}
		return nil
	}
	if k.get(id) != nil || le.Uint16(b[6:]) != 0 {
		return unix.EINVAL
	}
	switch s := v.spec; s.kind {
	case attrIn, attrConst:
		if v.len < s.min {
			return unix.EINVAL
		}
		if s.kind == attrConst && v.len != 4 && v.len != 8 {
			return unix.EINVAL
		}
		if err := k.read(&v); err != nil {
			return err
		}
	case attrOut:
		if v.len < s.min {
			return unix.EINVAL
		}
	case attrObject, attrNew:
		if v.len != 0 || v.data>>32 != 0 {
			return unix.EINVAL
		}
	case attrFD:
		if v.len != 0 || int64(v.data) < 0 || v.data > 1<<30 {
			return unix.EINVAL
		}
		f, err := k.env.FileID(int(v.data))
		if err != nil {
			return unix.EBADF
		}
		v.fileID = f
	case attrNewFD:
		if v.len != 0 {
			return unix.EINVAL
		}
	}
	k.vals = append(k.vals, v)
	return nil
}

// read fetches the bytes of an input attribute. Bytes beyond what the method
// knows must be zero: a newer program asks for something we cannot do.
func (k *call) read(v *value) error {
	v.in = make([]byte, max(v.len, v.spec.max, 8))
	if v.len <= 8 {
		le.PutUint64(v.in, v.data)
		clear(v.in[v.len:])
	} else if err := k.env.Read(v.data, v.in[:v.len]); err != nil {
		return unix.EFAULT
	}
	for _, b := range v.in[min(int(v.spec.max), len(v.in)):] {
		if b != 0 {
			return unix.EOPNOTSUPP
		}
	}
	return nil
}

// lookup finds the objects and channels that the call names. The context is
// locked.
func (k *call) lookup() error {
	for i := range k.vals {
		v := &k.vals[i]
		switch v.spec.kind {
		case attrObject:
			if v.obj = k.ctx.find(v.spec.object, uint32(v.data)); v.obj == nil {
				return unix.ENOENT
			}
		case attrFD:
			if v.ch = k.ctx.channels[v.fileID]; v.ch == nil {
				return unix.EBADF
			}
		}
	}
	return nil
}

// finish executes a decoded call and stores its results.
func (k *call) finish() error {
	if k.m.prepare != nil {
		if err := k.m.prepare(k); err != nil {
			return err
		}
	}
	c := k.ctx
	c.mu.Lock()
	err := k.execute()
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if err = k.store(); err != nil && k.undo != nil {
		c.mu.Lock()
		if !c.closed {
			k.undo()
		}
		c.mu.Unlock()
	}
	return err
}

func (k *call) execute() error {
	if k.ctx.closed {
		return ErrClosed
	}
	if err := k.lookup(); err != nil {
		return err
	}
	return k.m.run(k)
}

// store writes the results into the program.
func (k *call) store() error {
	for i := range k.vals {
		v := &k.vals[i]
		if !v.set {
			continue
		}
		var b [8]byte
		if v.spec.kind == attrOut {
			n := min(int(v.len), len(v.result))
			if err := k.env.Write(v.data, v.result[:n]); err != nil {
				return unix.EFAULT
			}
		} else {
			le.PutUint64(b[:], v.newVal)
			if err := k.env.Write(v.addr+8, b[:]); err != nil {
				return unix.EFAULT
			}
		}
		le.PutUint16(b[:], v.flags|flagValidOutput)
		if err := k.env.Write(v.addr+4, b[:2]); err != nil {
			return unix.EFAULT
		}
	}
	return nil
}

func (k *call) get(id uint16) *value {
	for i := range k.vals {
		if k.vals[i].spec.id == id {
			return &k.vals[i]
		}
	}
	return nil
}

// u64 is a number of up to 8 bytes; 0 if the attribute is absent.
func (k *call) u64(id uint16) uint64 {
	if v := k.get(id); v != nil {
		return le.Uint64(v.in)
	}
	return 0
}

// u32 is a number that has to fit 32 bits; larger ones become the largest,
// which no method accepts.
func (k *call) u32(id uint16) uint32 { return uint32(min(k.u64(id), 1<<32-1)) }

func (k *call) obj(id uint16) *object {
	if v := k.get(id); v != nil {
		return v.obj
	}
	return nil
}

// out sets the bytes of a result; what the program has no room for is cut off.
func (k *call) out(id uint16, b []byte) {
	if v := k.get(id); v != nil {
		v.result, v.set = b, true
	}
}

func (k *call) out32(id uint16, x uint32) {
	k.out(id, le.AppendUint32(nil, x))
}

// setNew sets the handle or the descriptor that was made.
func (k *call) setNew(id uint16, x uint64) {
	if v := k.get(id); v != nil {
		v.newVal, v.set = x, true
	}
}

// name of the call for messages.
func (k *call) name() string {
	if k.m.object == kindDevice && k.m.id == 0 {
		return fmt.Sprintf("write command %#x", k.u32(2))
	}
	return k.m.name
}

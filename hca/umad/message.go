package umad

import (
	"encoding/binary"
	"errors"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// Lengths of struct ib_user_mad_hdr with and without P_Key index, and of a MAD.
const (
	headerLen    = 64
	oldHeaderLen = 56
	madLen       = mad.PacketLen
	rmppLen      = 36 // MAD and RMPP header: the least that can be written
)

// Offsets in the header of a user MAD. Numbers are the machine's but where it
// says big-endian.
const (
	offID       = 0
	offStatus   = 4
	offTimeout  = 8 // ms
	offRetries  = 12
	offLength   = 16
	offQPN      = 20 // big-endian, as the next two
	offQKey     = 24
	offLID      = 28
	offSL       = 30
	offPathBits = 31
	offGRH      = 32 // present
	offGIDIndex = 33
	offHopLimit = 34
	offTClass   = 35
	offGID      = 36
	offFlow     = 52 // big-endian
	offPKey     = 56
)

// maxTimeout bounds timeouts: a program cannot mean more.
const maxTimeout = 24 * 3600 * 1000

var be = binary.BigEndian

// agent is a Handler for one agent of a file.
type agent struct {
	f  *file
	id uint32
}

// write takes what the program has written: a user MAD. The engine is held.
func (f *file) write(b []byte) {
	if f.closed {
		return
	}
	h := f.header
	if h == 0 {
		h = oldHeaderLen
	}
	if len(b) < h+rmppLen { // too short to be answered
		return
	}
	id := le.Uint32(b[offID:])
	var a *mads.Agent
	if id < maxAgents {
		a = f.agents[id]
	}
	if a == nil {
		f.refuse(b, h, unix.EINVAL)
		return
	}
	m := mads.Message{Addr: hca.MADAddress{
		QPN: be.Uint32(b[offQPN:]) & 0xffffff, QKey: be.Uint32(b[offQKey:]), LID: wire.LID(be.Uint16(b[offLID:])),
		SL: b[offSL] & 15, PathBits: b[offPathBits], GRH: b[offGRH] != 0, SGIDIndex: b[offGIDIndex], HopLimit: b[offHopLimit],
		TrafficClass: b[offTClass], GID: hca.GID(b[offGID : offGID+16]), FlowLabel: be.Uint32(b[offFlow:]) & 0xfffff,
	}, Data: b[h:]}
	if h == headerLen {
		m.Addr.PKeyIndex = le.Uint16(b[offPKey:])
	}
	if ms := le.Uint32(b[offTimeout:]); int32(ms) > 0 {
		m.Timeout = sim.Time(min(ms, maxTimeout)) * sim.Millisecond
	}
	m.Retries = int(min(le.Uint32(b[offRetries:]), 1024))
	switch {
	case a.Registration().RMPP && m.Packet().Class().HasRMPP() && mad.RMPP(m.Data).Flags()&mad.RMPPActive != 0:
		// Programs set the flag and leave the rest of the header to the kernel.
		m.Data[24], m.Data[25] = mad.RMPPVersion, byte(mad.RMPPData)
	case len(m.Data) < madLen: // filled up with zeros
		m.Data = append(make([]byte, 0, madLen), m.Data...)[:madLen]
	}
	if err := a.Send(&m); err != nil {
		f.refuse(b, h, sendErrno(err))
	}
}

func sendErrno(err error) unix.Errno {
	if errors.Is(err, mads.ErrNoMemory) {
		return unix.ENOMEM
	}
	return unix.EINVAL
}

// refuse gives a user MAD back to the program, as one that got no response but
// with another status.
func (f *file) refuse(b []byte, h int, e unix.Errno) {
	r := make([]byte, h+mad.HeaderLen)
	copy(r, b)
	le.PutUint32(r[offStatus:], uint32(e))
	le.PutUint32(r[offLength:], uint32(len(r)))
	f.deliver(r)
}

// ReceiveMAD implements mads.Handler.
func (a *agent) ReceiveMAD(_ *mads.Agent, m *mads.Message) {
	f := a.f
	b := f.message(a.id, m, len(m.Data))
	copy(b[f.header:], m.Data)
	f.deliver(b)
}

// SendDone implements mads.Handler: the program gets the MAD back, its header
// at least, with a status.
func (a *agent) SendDone(_ *mads.Agent, m *mads.Message, err error) {
	if err == nil {
		return
	}
	f := a.f
	b := f.message(a.id, m, mad.HeaderLen)
	le.PutUint32(b[offStatus:], uint32(unix.ETIMEDOUT))
	le.PutUint32(b[offTimeout:], uint32(m.Timeout/sim.Millisecond))
	le.PutUint32(b[offRetries:], uint32(m.Retries))
	copy(b[f.header:], m.Data[:mad.HeaderLen])
	f.deliver(b)
}

// message makes a user MAD with room for n bytes.
func (f *file) message(id uint32, m *mads.Message, n int) []byte {
	b := make([]byte, f.header+n)
	le.PutUint32(b[offID:], id)
	le.PutUint32(b[offLength:], uint32(len(b)))
	a := &m.Addr
	be.PutUint32(b[offQPN:], a.QPN)
	be.PutUint32(b[offQKey:], a.QKey)
	be.PutUint16(b[offLID:], uint16(a.LID))
	b[offSL], b[offPathBits] = a.SL, a.PathBits
	if a.GRH {
		b[offGRH], b[offGIDIndex], b[offHopLimit], b[offTClass] = 1, a.SGIDIndex, a.HopLimit, a.TrafficClass
		copy(b[offGID:], a.GID[:])
		be.PutUint32(b[offFlow:], a.FlowLabel)
	}
	if f.header == headerLen {
		le.PutUint16(b[offPKey:], a.PKeyIndex)
	}
	return b
}

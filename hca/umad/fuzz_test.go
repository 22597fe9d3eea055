package umad

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire/mad"
)

// echoPort gives back as a response, later, what is sent.
type echoPort struct {
	sink hca.MADSink
	proc *sim.Proc
	sent [][]byte
}

func (p *echoPort) SetMADSink(s hca.MADSink) { p.sink = s }
func (p *echoPort) IB() *ibport.Port         { return new(ibport.Port) }

func (p *echoPort) SendMAD(qp uint32, _ *hca.MADAddress, m []byte) error {
	if len(m) != mad.PacketLen || len(p.sent) > 2000 {
		return hca.ErrInvalid
	}
	p.sent = append(p.sent, append([]byte{byte(qp)}, m...))
	p.proc.At(p.proc.Now()+sim.Microsecond, p, 0, uint64(len(p.sent)-1))
	return nil
}

// HandleEvent delivers.
func (p *echoPort) HandleEvent(_ sim.Time, _ uint32, i uint64) {
	m := mad.Packet(append([]byte(nil), p.sent[i][1:]...))
	m.SetMethod(m.Method() ^ mad.MethodResponse)
	p.sink.ReceiveMAD(uint32(p.sent[i][0]), &hca.MADAddress{QPN: 1, LID: 1, GRH: i&1 == 0}, m)
}

// FuzzWrite gives a file arbitrary messages of a program: nothing panics, what
// comes back has the form of a user MAD, and when the file is closed nothing of
// it is left.
func FuzzWrite(f *testing.F) {
	for _, c := range []mad.Class{0x81, 0x03, 0x04, 0x32} {
		b := make([]byte, headerLen+madLen+100)
		h := mad.Header{Class: c, Method: mad.MethodGet, TID: 7}
		h.Encode(mad.Packet(b[headerLen:]))
		b[offTimeout] = 10
		f.Add(b, uint8(c&3), true)
		b[headerLen+26] = 1 // RMPP
		f.Add(append([]byte(nil), b...), uint8(c&3), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, id uint8, pkey bool) {
		e := sim.NewEngine(1)
		echo := &echoPort{proc: e.NewProc()}
		tab := mads.New(echo, e.NewProc())
		k := &Kind{cfg: Config{Do: func(f func()) { f() }, Log: func(string, ...any) {}}}
		fl := &file{k: k, p: &port{Device: Device{MADs: tab}}, header: oldHeaderLen}
		if pkey {
			fl.header = headerLen
		}
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(pair[1])
		fl.conn.fd, fl.conn.file, fl.conn.release = pair[0], os.NewFile(uintptr(pair[0]), "umad"), func() {}
		if fl.conn.raw, err = fl.conn.file.SyscallConn(); err != nil {
			t.Fatal(err)
		}
		for i, c := range []mad.Class{0x81, 0x03, 0x04, 0x32} {
			r := mads.Registration{QP: 1, Class: c, Version: c.Version(), RMPP: c.HasRMPP(), OUI: [3]byte{0, 0x14, 5}, Methods: [2]uint64{^uint64(0)}}
			if c.Subn() {
				r.QP = 0
			}
			a, err := tab.Register(r, &agent{f: fl, id: uint32(i)})
			if err != nil {
				t.Fatal(err)
			}
			fl.agents[i] = a
		}
		for n := range 4 {
			if len(b) > 0 {
				b[0] = id & 3
			}
			fl.write(b)
			e.RunUntil(e.Now() + sim.Time(n)*20*sim.Second)
		}
		buf := make([]byte, 1<<16)
		for {
			n, err := unix.Read(pair[1], buf)
			if err != nil {
				break
			}
			if n < fl.header+mad.HeaderLen || int(le.Uint32(buf[offLength:])) != n {
				t.Fatalf("a message of %d bytes: % x", n, buf[:min(n, 64)])
			}
		}
		fl.close()
		if tab.Agents() != 0 || tab.InFlight() != 0 || tab.Receives() != 0 {
			t.Errorf("left: %d agents, %d sends, %d messages", tab.Agents(), tab.InFlight(), tab.Receives())
		}
	})
}

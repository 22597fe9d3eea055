package fabric

import (
	"errors"
	"strings"
	"testing"

	"cnuas/hca"
	mads "cnuas/hca/mad"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// user is a program of MADs: opensm, saquery.
type user struct {
	got  []byte
	from hca.MADAddress
	err  error
}

func (u *user) ReceiveMAD(_ *mads.Agent, m *mads.Message) {
	u.got, u.from = append([]byte(nil), m.Data...), m.Addr
}

func (u *user) SendDone(_ *mads.Agent, _ *mads.Message, err error) { u.err = err }

// TestSubnetManagerConflicts: a port has room for one subnet manager, ours or a
// program's, as the kernel's MAD layer says.
func TestSubnetManagerConflicts(t *testing.T) {
	f := buildIB(t, load(t, "ib-fat-tree"), Options{})
	bringUp(t, f)
	opensm := mads.Registration{QP: wire.QP0, Class: mad.ClassSubnLID, Version: 1, Methods: methods(mad.MethodGet, mad.MethodSet)}
	h1, h2 := f.Node("h1").ibs[0], f.Node("h2").ibs[0]
	if _, err := f.MADs(h1.Device()).Register(opensm, &user{}); !errors.Is(err, mads.ErrInUse) {
		t.Errorf("opensm beside ours: %v", err)
	}
	a, err := f.MADs(h2.Device()).Register(opensm, &user{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.StartSM("h2", SMOptions{}); err == nil || !strings.Contains(err.Error(), "opensm") || h2.Port().CapMask()&mad.CapIsSM != 0 {
		t.Errorf("ours beside opensm: %v", err)
	}
	a.Close()
	if _, err := f.StartSM("h2", SMOptions{}); err != nil {
		t.Error(err)
	}
	if err := f.StopSM("h1"); err != nil {
		t.Error(err)
	}
	if a, err = f.MADs(h1.Device()).Register(opensm, &user{}); err != nil {
		t.Errorf("opensm after ours: %v", err)
	}
	if f.MADs(h1.Device()).Agents() != 1 {
		t.Errorf("%d agents are left", f.MADs(h1.Device()).Agents()-1)
	}
}

// askNodes asks subnet administration for all NodeRecords.
func askNodes(a *mads.Agent, lid wire.LID) error {
	q := make([]byte, mad.PacketLen)
	k := mad.Packet(q)
	k[0], k[1], k[2] = mad.BaseVersion, byte(mad.ClassSubnAdm), 2
	k.SetMethod(mad.MethodGetTable)
	k.SetAttr(mad.AttrNodeRecord)
	k.SetTID(7)
	return a.Send(&mads.Message{Data: q, Addr: hca.MADAddress{QPN: wire.QP1, QKey: wire.QP1QKey, LID: lid}, Timeout: sim.Second})
}

// TestEarlyQuery: who asks as soon as its port is Active, before the first sweep
// has ended, is answered when it has.
func TestEarlyQuery(t *testing.T) {
	f := buildIB(t, load(t, "ib-fat-tree"), Options{})
	u, p := &user{}, f.Node("h2").ibs[0]
	a, err := f.MADs(p.Device()).Register(mads.Registration{QP: wire.QP1, Class: mad.ClassSubnAdm, Version: 2, RMPP: true}, u)
	if err != nil {
		t.Fatal(err)
	}
	asked := false
	p.Port().Watch(func(_, to mad.PortState) {
		if to != mad.PortActive || asked {
			return
		}
		asked = true
		if f.sms[0].m.Subnet() != nil {
			t.Error("the sweep has ended: this is not early")
		}
		smLID, _ := p.Port().SMLID()
		if err := askNodes(a, smLID); err != nil {
			t.Error(err)
		}
	})
	if !until(f, 100*sim.Millisecond, func() bool { return u.got != nil }) || !asked || len(u.got) < 12*108 {
		t.Errorf("asked %v, %d bytes of an answer", asked, len(u.got))
	}
	if x := f.MADs(p.Device()).Count.Retries; x != 0 {
		t.Errorf("asked %d times", x+1)
	}
}

// TestSubnetAdministration asks for all nodes: an answer of several segments
// over the fabric.
func TestSubnetAdministration(t *testing.T) {
	f := buildIB(t, load(t, "ib-fat-tree"), Options{})
	bringUp(t, f)
	u := &user{}
	p := f.Node("h7").ibs[0]
	a, err := f.MADs(p.Device()).Register(mads.Registration{QP: wire.QP1, Class: mad.ClassSubnAdm, Version: 2, RMPP: true}, u)
	if err != nil {
		t.Fatal(err)
	}
	smLID, _ := p.Port().SMLID()
	if err := askNodes(a, smLID); err != nil {
		t.Fatal(err)
	}
	if !until(f, 2*sim.Second, func() bool { return u.got != nil || u.err != nil }) || u.err != nil {
		t.Fatalf("no answer: %v", u.err)
	}
	s := mad.SA(u.got)
	if n := len(u.got) - 56; s.Packet().Status() != mad.StatusOK || n < 12*108 || u.from.LID != smLID {
		t.Errorf("%d bytes, status %v, from LID %d", n, s.Packet().Status(), u.from.LID)
	}
	for _, name := range []string{"h1", "h8", "leaf2", "spine1"} {
		if !strings.Contains(string(u.got), name+"\x00") {
			t.Errorf("no record of %s", name)
		}
	}
	if x := f.sms[0].sa.Stats(); x.Segments < 5 || x.Aborted != 0 {
		t.Errorf("%+v", x)
	}
	f.Engine.RunUntil(f.Engine.Now() + sim.Second)
	if n := f.Pool.Live(); n != 0 {
		t.Errorf("%d frames are alive", n)
	}
}

func TestSnake(t *testing.T) {
	for in, want := range map[string]string{
		"MADsSent": "mads_sent", "SMPs": "smps", "CNPSent": "cnp_sent", "RxAccessNAKs": "rx_access_naks", "TxBytes": "tx_bytes", "QP1Dropped": "qp1_dropped", "Busy": "busy",
	} {
		if got := snake(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

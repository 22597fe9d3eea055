package uverbs

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/hca"
	"cnuas/internal/ibport"
	"cnuas/internal/sim"
	"cnuas/internal/wire"
	"cnuas/internal/wire/mad"
)

// newIBUser is a user of a port of an InfiniBand adapter, cabled to another and
// set up by hand: LIDs 6 and 7, subnet manager at LID 9.
func newIBUser(t *testing.T) (*user, *hca.CA) {
	t.Helper()
	u := &user{fakeProgram: &fakeProgram{mem: make([]byte, 1<<16)}, t: t, r: newRig(t, Limits{})}
	ca := func(guid wire.GUID) *hca.CA {
		c, err := hca.NewCA(u.r.eng, u.r.pool, nil, hca.CAConfig{Info: mad.NodeInfo{NodeGUID: guid, SystemImageGUID: guid + 1}, Desc: "h1 rxe0",
			Ports: []hca.CAPortConfig{{Config: hca.Config{Name: "rxe0"}, Port: ibport.Config{Name: "h1:ib0", PKeys: 4, GUIDs: 2,
				CapMask: mad.CapTrap, SpeedsExt: mad.SpeedEDR, MTU: mad.MTU4096}}}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	a, b := ca(0x1000), ca(0x2000)
	if err := ibport.Connect(a.Port(1), b.Port(1), sim.Nanosecond); err != nil {
		t.Fatal(err)
	}
	u.r.eng.RunUntil(10 * sim.Millisecond)
	for i, c := range []*hca.CA{a, b} {
		p := c.Port(1)
		for _, s := range []mad.PortState{mad.PortNoChange, mad.PortArmed, mad.PortActive} {
			x := p.Info()
			x.LID, x.LMC, x.MasterSMLID, x.MasterSMSL, x.NeighborMTU = [...]wire.LID{6, 22}[i], 1, 9, 3, mad.MTU2048
			x.PortState, x.PortPhysicalState, x.LinkDownDefaultState = s, 0, 0
			x.LinkWidthEnabled, x.LinkSpeedEnabled, x.LinkSpeedExtEnabled = 0, 0, 0
			if st := p.Set(&x); st != mad.StatusOK {
				t.Fatalf("Set %v: %v", s, st)
			}
			u.r.eng.RunUntil(u.r.eng.Now() + sim.Millisecond)
		}
	}
	n, err := u.r.srv.AddNode(NodeConfig{Name: "ib", Devices: []Device{{HCA: a.Device(1), Name: "rxe0"}}})
	if err != nil {
		t.Fatal(err)
	}
	u.r.node, u.r.dev = n, a.Device(1)
	u.r.sess = &session{srv: u.r.srv, node: n, noteDone: true}
	u.c = u.r.open(t)
	t.Cleanup(func() { u.c.close(); u.fakeProgram.close() })
	return u, a
}

func TestIBQueryPort(t *testing.T) {
	u, ca := newIBUser(t)
	if err := u.c.do(u.fakeProgram, u.request(kindDevice, 2, attr{id: 0, len: 1, data: 1}, attr{id: 1, len: 48, data: base + 8192})); err != nil {
		t.Fatal(err)
	}
	b := u.mem[8192:][:48]
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"capabilities", le.Uint32(b), uint32(ca.Port(1).CapMask())},
		{"GIDs", le.Uint32(b[16:]), uint32(2)},
		{"P_Keys", le.Uint16(b[20:]), uint16(4)},
		{"LID", le.Uint16(b[22:]), uint16(6)},
		{"SM LID", le.Uint16(b[24:]), uint16(9)},
		{"state", b[26], byte(4)},
		{"largest MTU", b[27], byte(5)},
		{"active MTU", b[28], byte(4)},
		{"LMC", b[29], byte(1)},
		{"SM SL", b[31], byte(3)},
		{"width", b[34], byte(2)},
		{"speed", b[35], byte(32)},
		{"physical state", b[36], byte(5)},
		{"link layer", b[37], byte(1)},
		{"GRH required", b[38], byte(0)},
		{"speed, extended", le.Uint32(b[44:]), uint32(32)},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", c.what, c.got, c.want)
		}
	}
	// The GID is of type InfiniBand and has no network device.
	if err := u.c.do(u.fakeProgram, u.request(kindDevice, 6, attr{id: 0, len: 4, data: 1}, attr{id: 1, len: 4}, attr{id: 3, len: 32, data: base + 8192})); err != nil {
		t.Fatal(err)
	}
	if b := u.mem[8192:][:32]; b[0] != 0xfe || le.Uint32(b[20:]) != 1 || le.Uint64(b[24:]) != 0 {
		t.Errorf("GID 0: % x", b)
	}
	if err := u.c.do(u.fakeProgram, u.request(kindDevice, 0, attr{id: 2, len: 8, data: 1}, attr{id: 0, len: 8}, attr{id: 1, len: 176, data: base + 8192})); err != nil {
		t.Fatal(err)
	}
	out := u.mem[8192:]
	if got := be64(out[8:]); got != 0x1000 {
		t.Errorf("node GUID %#x", got)
	}
}

func be64(b []byte) (v uint64) {
	for _, x := range b[:8] {
		v = v<<8 | uint64(x)
	}
	return v
}

func TestIBSysfs(t *testing.T) {
	u, _ := newIBUser(t)
	var f files
	s := u.r.node.cfg.Devices[0].portState()
	f.device(0, &u.r.node.cfg.Devices[0], "h1", &s)
	have := map[string]string{}
	for _, x := range f {
		have[x.path] = strings.TrimSuffix(x.text, "\n")
	}
	for path, want := range map[string]string{
		"node_guid": "0000:0000:0000:1000", "sys_image_guid": "0000:0000:0000:1001", "node_desc": "h1 rxe0",
		"ports/1/state": "4: ACTIVE", "ports/1/phys_state": "5: LinkUp", "ports/1/rate": "100 Gb/sec (4X EDR)",
		"ports/1/lid": "0x6", "ports/1/lid_mask_count": "1", "ports/1/sm_lid": "0x9", "ports/1/sm_sl": "3",
		"ports/1/link_layer": "InfiniBand", "ports/1/pkeys/0": "0xffff", "ports/1/pkeys/3": "0x0000",
		"ports/1/gids/1": "0000:0000:0000:0000:0000:0000:0000:0000", "ports/1/gid_attrs/types/0": "IB/RoCE v1",
		"ports/1/counters/VL15_dropped": "0",
	} {
		if got, ok := have["infiniband/rxe0/"+path]; !ok || got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// TestIBAddresses: what MODIFY_QP and CREATE_AH make of addresses, and what
// QUERY_QP says of them.
func TestIBAddresses(t *testing.T) {
	u, _ := newIBUser(t)
	pd, cq := u.pd(), u.cq(10)
	ah := func(dlid uint16, sl, bits, global byte) []uint32 {
		w := make([]uint32, 14)
		w[4] = pd
		w[12] = uint32(dlid) | uint32(sl)<<16 | uint32(bits)<<24
		w[13] = uint32(global)<<8 | 1<<16
		return w
	}
	if _, driver := u.must(cmdCreateAH, ah(22, 2, 1, 0)...); le.Uint32(driver) == 0 {
		t.Error("an address handle without a number: the provider would look for an Ethernet address")
	}
	u.errno(unix.EINVAL, cmdCreateAH, ah(0, 0, 0, 0)...)
	u.errno(unix.EINVAL, cmdCreateAH, ah(22, 0, 2, 0)...)     // beyond the LMC
	u.errno(unix.EINVAL, cmdCreateAH, ah(22, 16, 0, 0)...)    // no such SL
	u.errno(unix.EINVAL, cmdCreateAH, ah(0xffff, 0, 0, 0)...) // permissive
	u.errno(unix.EINVAL, cmdCreateAH, ah(0xc000, 0, 0, 0)...) // a group without GID

	q := u.qp(hca.RC, pd, cq)
	modify := func(mask hca.AttrMask, f func(b []byte)) []uint32 {
		b := make([]byte, modifyLen)
		le.PutUint32(b[64:], q.handle)
		le.PutUint32(b[68:], uint32(mask))
		b[104] = 1
		f(b)
		w := make([]uint32, len(b)/4)
		for i := range w {
			w[i] = le.Uint32(b[4*i:])
		}
		return w
	}
	init := hca.AttrState | hca.AttrPKeyIndex | hca.AttrPort | hca.AttrAccessFlags
	u.errno(unix.EINVAL, cmdModifyQP, modify(init, func(b []byte) { b[96] = byte(hca.Init); b[92] = 4 })...) // no such P_Key index
	u.must(cmdModifyQP, modify(init, func(b []byte) { b[96] = byte(hca.Init) })...)
	rtr := hca.AttrState | hca.AttrAV | hca.AttrPathMTU | hca.AttrDestQPN | hca.AttrRQPSN | hca.AttrMaxDestRdAtomic | hca.AttrMinRNRTimer
	u.must(cmdModifyQP, modify(rtr, func(b []byte) {
		b[96], b[98] = byte(hca.RTR), 4
		le.PutUint16(b[20:], 22)
		b[27], b[28] = 2, 1
	})...)
	out, _ := u.must(0x19, 0, 0, q.handle, 0)
	if le.Uint16(out[20:]) != 22 || out[27] != 2 || out[28] != 1 || out[30] != 0 {
		t.Errorf("QUERY_QP: % x", out[:32])
	}
	// A group needs a LID of one.
	ud := u.qp(hca.UD, pd, cq)
	group := func(lid uint32) []uint32 { return []uint32{0x12ff, 0, 0, 1, ud.handle, lid} }
	u.errno(unix.EINVAL, 0x1e, group(5)...)
	u.errno(unix.EINVAL, 0x1e, group(0xffff)...)
	u.must(0x1e, group(0xc001)...)
	u.must(0x1f, group(0xc001)...)
}

// TestIBEvents: a program is told of what the subnet manager does.
func TestIBEvents(t *testing.T) {
	u, ca := newIBUser(t)
	if err := u.c.do(u.fakeProgram, u.request(kindAsync, 0, attr{id: 0})); err != nil {
		t.Fatal(err)
	}
	x := ca.Port(1).Info()
	x.LID, x.MasterSMLID, x.ClientReregister, x.PortState, x.PortPhysicalState = 10, 11, true, 0, 0
	x.LinkWidthEnabled, x.LinkSpeedEnabled, x.LinkSpeedExtEnabled, x.LinkDownDefaultState = 0, 0, 0, 0
	u.r.srv.do(func() {
		if st := ca.Port(1).Set(&x); st != mad.StatusOK {
			t.Error(st)
		}
	})
	b := make([]byte, 16*asyncEventLen)
	n, err := unix.Read(u.fds[0], b)
	var got []string
	for ; n >= asyncEventLen; n, b = n-asyncEventLen, b[asyncEventLen:] {
		got = append(got, fmt.Sprint(le.Uint32(b[8:]), "@", le.Uint64(b)))
	}
	if want := "[11@1 13@1 17@1]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v %v, want %v", got, err, want)
	}
}

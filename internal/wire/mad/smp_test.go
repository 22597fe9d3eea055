package mad

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"testing"

	"cnuas/internal/wire"
)

// The views of the headers read what mad_fields.tsv says.
func TestHeaderFields(t *testing.T) {
	read := map[string]func(Packet) uint64{
		"MadMethod":       func(p Packet) uint64 { return uint64(p.Method() &^ MethodResponse) },
		"MadIsResponse":   func(p Packet) uint64 { return uint64(p.Method() >> 7) },
		"MadClassVersion": func(p Packet) uint64 { return uint64(p.ClassVersion()) },
		"MadMgmtClass":    func(p Packet) uint64 { return uint64(p.Class()) },
		"MadBaseVersion":  func(p Packet) uint64 { return uint64(p.BaseVersion()) },
		"MadStatus":       func(p Packet) uint64 { return uint64(p.Header().Status) },
		"MadTRID":         func(p Packet) uint64 { return p.TID() },
		"MadAttr":         func(p Packet) uint64 { return uint64(p.Attr()) },
		"MadModifier":     func(p Packet) uint64 { return uint64(p.Modifier()) },
		"DrSmpHopCnt":     func(p Packet) uint64 { return uint64(SMP(p).HopCount()) },
		"DrSmpHopPtr":     func(p Packet) uint64 { return uint64(SMP(p).HopPointer()) },
		"DrSmpStatus":     func(p Packet) uint64 { return uint64(p.Header().Status & 0x7fff) },
		"DrSmpDirection": func(p Packet) uint64 {
			if SMP(p).Returning() {
				return 1
			}
			return 0
		},
		"DrSmpDLID":    func(p Packet) uint64 { return uint64(SMP(p).DrDLID()) },
		"DrSmpSLID":    func(p Packet) uint64 { return uint64(SMP(p).DrSLID()) },
		"DrSmpPath":    func(p Packet) uint64 { return binary.BigEndian.Uint64(SMP(p).InitialPath()) },
		"DrSmpRetPath": func(p Packet) uint64 { return binary.BigEndian.Uint64(SMP(p).ReturnPath()) },
		"MadMkey":      func(p Packet) uint64 { return SMP(p).MKey() },
		"SaSMkey":      func(p Packet) uint64 { return SA(p).SMKey() },
		"CC_Key":       func(p Packet) uint64 { return CC(p).Key() },
	}
	raw, err := os.ReadFile(testdata + "mad_fields.tsv")
	if err != nil {
		t.Fatal(err)
	}
	p := make(Packet, PacketLen)
	for i := range p {
		p[i] = byte(i*151 + 77)
	}
	n := 0
	for _, l := range strings.Split(string(raw), "\n") {
		c := strings.Split(l, "\t")
		if len(c) < 5 || !strings.Contains(c[0], "header") && !strings.Contains(c[0], "SMP") {
			continue
		}
		f := read[c[1]]
		if f == nil {
			t.Errorf("%s is not read", c[1])
			continue
		}
		num := func(i int) int { v, _ := strconv.Atoi(c[i]); return v }
		if got, want := f(p), getBits(p[num(2):], num(3), min(num(4), 64)); got != want {
			t.Errorf("%s: %#x, want %#x", c[1], got, want)
		}
		n++
	}
	if n < 18 {
		t.Errorf("%d fields", n)
	}
}

func request(path ...uint8) SMP {
	s := make(SMP, PacketLen)
	(&Header{Class: ClassSubnDirected, Method: MethodGet, TID: 7, Attr: AttrNodeInfo}).Encode(Packet(s))
	s.SetPath(path...)
	return s
}

func step(t *testing.T, s SMP, in uint8, want DRAction, port, pointer uint8) {
	t.Helper()
	if a, out := s.Step(in); a != want || out != port || s.HopPointer() != pointer {
		t.Fatalf("came in by %d: %v by %d, hop pointer %d; want %v by %d, %d", in, a, out, s.HopPointer(), want, port, pointer)
	}
}

// Requester, two switches, responder, and back (IBTA vol. 1 §14.2.2).
func TestDirectedRoute(t *testing.T) {
	s := request(1, 5, 2)
	step(t, s, 0, DRForward, 1, 1) // the source
	step(t, s, 3, DRForward, 5, 2) // first switch
	step(t, s, 8, DRForward, 2, 3) // second switch
	step(t, s, 1, DRLocal, 0, 4)   // responder
	if r := s.ReturnPath(); r[1] != 3 || r[2] != 8 || r[3] != 1 {
		t.Fatalf("return path %v", r[:5])
	}
	s.Respond(StatusOK)
	if p := s.Packet(); p.Method() != MethodGetResp || !s.Returning() || s.HopPointer() != 4 || p.Status() != 0 || p.Header().Status != 0x8000 {
		t.Fatalf("response %s", Line(p))
	}
	step(t, s, 0, DRForward, 1, 3)
	step(t, s, 2, DRForward, 8, 2)
	step(t, s, 5, DRForward, 3, 1)
	step(t, s, 1, DRSource, 0, 0)
}

// A request to one's own agent.
func TestDirectedRouteLocal(t *testing.T) {
	s := request()
	step(t, s, 0, DRLocal, 0, 1)
	s.Respond(StatusBadMethodAttr)
	if s.Packet().Status() != StatusBadMethodAttr || s.HopPointer() != 1 {
		t.Fatal(Line(s.Packet()))
	}
	step(t, s, 0, DRSource, 0, 0)
}

// A LID-routed part behind the directed one, and one in front: ibportstate asks
// a peer so.
func TestDirectedRouteMixed(t *testing.T) {
	s := request(4)
	s.SetDrDLID(12)
	step(t, s, 0, DRForward, 4, 1)
	step(t, s, 9, DRRouteLID, 0, 2)
	step(t, s, 3, DRLocal, 0, 2) // arrives LID-routed

	s = request(4) // LID-routed to a switch, which is where the route begins
	s.SetDrSLID(1)
	step(t, s, 7, DRForward, 4, 1)
	step(t, s, 2, DRLocal, 0, 2)
	s.Respond(StatusOK)
	step(t, s, 0, DRForward, 2, 1)
	step(t, s, 4, DRRouteLID, 0, 0)
	step(t, s, 1, DRSource, 0, 0)
}

func TestDirectedRouteDiscard(t *testing.T) {
	s := request(1, 2)
	s.SetHopPointer(4)
	step(t, s, 1, DRDiscard, 0, 4)
	s.SetReturning(true)
	step(t, s, 1, DRDiscard, 0, 4)
	s.SetReturning(false)
	s.SetHopPointer(0)
	s.SetHopCount(64)
	step(t, s, 1, DRDiscard, 0, 0)
	if len(s.Path()) != MaxHops {
		t.Errorf("path of %d", len(s.Path()))
	}
}

func TestRespondLID(t *testing.T) {
	s := make(SMP, PacketLen)
	(&Header{Class: ClassSubnLID, Method: MethodSet, Attr: AttrPortInfo, Modifier: 3}).Encode(Packet(s))
	s.SetMKey(5)
	s.Respond(StatusInvalidField)
	if p := s.Packet(); p.Method() != MethodGetResp || p.Header().Status != StatusInvalidField || s.HopPointer() != 0 || s.MKey() != 5 || s.Directed() {
		t.Error(Line(p))
	}
}

func TestOtherViews(t *testing.T) {
	p := make(Packet, PacketLen)
	(&Header{Class: ClassPing, Method: MethodGet}).Encode(p)
	Vendor(p).SetOUI(OUIOpenIB)
	if v := Vendor(p); !v.Valid() || v.OUI() != 0x001405 || len(v.Data()) != 216 || len(p.Data()) != 216 || p[37] != 0 || p[39] != 5 {
		t.Errorf("% x", p[:42])
	}
	(&Header{Class: ClassSubnAdm, Method: MethodGetTable, Attr: AttrPathRecord}).Encode(p)
	a := SA(p)
	a.SetSMKey(1)
	a.SetComponentMask(0x1030)
	a.SetAttributeOffset(8)
	if !a.Valid() || a.SMKey() != 1 || a.ComponentMask() != 0x1030 || a.AttributeOffset() != 8 || len(a.Data()) != SADataLen || p.ClassVersion() != 2 {
		t.Error(Line(p))
	}
	(&Header{Class: ClassCongestion, Method: MethodGet, Attr: AttrCongestionLog}).Encode(p)
	CC(p).SetKey(9)
	if !CC(p).Valid() || CC(p).Key() != 9 || len(p.Data()) != 224 {
		t.Error("CC")
	}
	for c, n := range map[Class]int{ClassSubnLID: 64, ClassPerf: 192, ClassComm: 232, ClassMellanox: 232, ClassDevAdm: 220} {
		p[1] = byte(c)
		if len(p.Data()) != n {
			t.Errorf("%v: %d bytes of data", c, len(p.Data()))
		}
	}
	if ClassSubnDirected.QKey() != 0 || ClassPerf.QKey() != wire.QP1QKey {
		t.Error("Q_Keys")
	}
}

// FuzzPacket reads any bytes as a MAD, in every view.
func FuzzPacket(f *testing.F) {
	for _, p := range madFrames(f, "ib_erf21.pcap") {
		if p != nil {
			f.Add([]byte(p), uint8(3))
		}
	}
	for i, p := range madFrames(f, "opensm_bringup_ft2x2x8.pcap") {
		if i%40 == 0 {
			f.Add([]byte(p), uint8(1))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, in uint8) {
		p := Packet(b)
		if p.Valid() != (len(b) >= PacketLen) {
			t.Fatal(len(b))
		}
		if Line(p) == "" {
			t.Fatal("no line")
		}
		if !p.Valid() {
			return
		}
		h := p.Header()
		var q [PacketLen]byte
		h.Encode(q[:])
		if h.Version != 0 && Packet(q[:]).Header() != h {
			t.Fatalf("%+v becomes %+v", h, Packet(q[:]).Header())
		}
		p.Data()
		x := RMPP(p).Fields()
		x.Encode(q[:])
		if RMPP(q[:]).Fields() != x {
			t.Fatalf("%+v becomes %+v", x, RMPP(q[:]).Fields())
		}
		c := append([]byte(nil), b...)
		s := SMP(c)
		before := s.HopPointer()
		a, _ := s.Step(in)
		if d := int(s.HopPointer()) - int(before); a != DRDiscard && (d < -1 || d > 1) {
			t.Fatalf("hop pointer %d becomes %d", before, s.HopPointer())
		}
		s.Path()
		s.Respond(StatusOK)
	})
}

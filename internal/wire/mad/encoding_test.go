package mad

import (
	"fmt"
	"testing"
)

func TestRates(t *testing.T) {
	for _, tt := range []struct {
		w   LinkWidth
		s   LinkSpeed
		e   LinkSpeedExt
		r   Rate
		txt string
	}{
		{Width1X, SpeedSDR, 0, Rate2_5G, "2.5 Gb/s"}, {Width4X, SpeedSDR, 0, Rate10G, "10 Gb/s"}, {Width4X, SpeedQDR, 0, Rate40G, "40 Gb/s"},
		{Width12X, SpeedSDR, 0, Rate30G, "30 Gb/s"}, {Width4X, SpeedQDR, SpeedFDR, Rate56G, "56 Gb/s"}, {Width4X, SpeedQDR, SpeedEDR, Rate100G, "100 Gb/s"},
		{Width4X, SpeedQDR, SpeedHDR, Rate200G, "200 Gb/s"}, {Width2X, SpeedQDR, SpeedHDR, Rate100G, "100 Gb/s"}, {Width4X, SpeedQDR, SpeedNDR, Rate400G, "400 Gb/s"},
		{Width12X, SpeedQDR, SpeedNDR, Rate1200G, "1200 Gb/s"}, {Width2X, SpeedQDR, SpeedFDR, Rate28G, "28 Gb/s"}, {0, SpeedQDR, 0, 0, "rate 0"},
	} {
		if got := RateOf(tt.w, tt.s, tt.e); got != tt.r || got.String() != tt.txt {
			t.Errorf("%v %v %v: %v", tt.w, tt.s, tt.e, got)
		}
	}
	if Rate5G.Compare(Rate30G) >= 0 || Rate30G.Compare(Rate5G) <= 0 || Rate28G.Compare(Rate28G) != 0 || Rate(99).Mbps() != 0 {
		t.Error("order")
	}
	want := 0
	for r := range Rate(25) {
		if r.Mbps() > 0 {
			want++
		}
	}
	if want != 23 {
		t.Errorf("%d rates", want)
	}
}

func TestEncodings(t *testing.T) {
	for got, want := range map[string]string{
		fmt.Sprint(MTU2048, MTU(0), MTUOf(4096), MTUOf(2047), MTUOf(100)):                                    "2048 MTU code 0 4096 1024 MTU code 0",
		fmt.Sprint(MTU256.Bytes(), MTU4096.Bytes(), MTU(6).Bytes()):                                          "256 4096 0",
		fmt.Sprint(VL0to14, VL0.Count(), VL0to7.Count(), VL0to14.Count(), VLs(6).Count()):                    "VL0-14 1 8 15 0",
		fmt.Sprint(Timeout(0), Timeout(18), Timeout(31), TimeoutOf(1), TimeoutOf(4096001), TimeoutOf(1<<62)): "4.096us 1.074s 8796.093s 4.096us 8.192us 8796.093s",
		fmt.Sprint(Width4X|Width12X, LinkWidth(0), SpeedSDR|SpeedQDR, SpeedNDR, LinkSpeedExt(16)):            "4X|12X none SDR|QDR NDR 0x10",
		fmt.Sprint(PortActive, PhysPolling, PortState(9), SMMaster, NodeSwitch, SelExact):                    "Active Polling 9 Master switch exactly",
		fmt.Sprint(CapMask(0x0251486A)):  "IsSM|Trap|AutoMigration|SLMapping|SystemImageGUID|ExtendedSpeeds|CommMgt|VendorClass|CapMaskNotice|ClientReregistration",
		fmt.Sprint(Cap2SpeedHDR | 1<<15): "SpeedHDR|bit15",
		fmt.Sprint(StatusOK, StatusBadMethodAttr, StatusSADenied, StatusBusy|StatusInvalidField, Status(0x8000)):                               "ok unsupported method/attribute request denied busy, invalid field ok",
		fmt.Sprint(ClassSubnAdm, Class(0x34), Class(0x50), MethodGetTableResp, Method(0x55)):                                                   "SubnAdm Vendor34 class 0x50 GetTableResp method 0x55",
		fmt.Sprint(AttrName(ClassSubnDirected, AttrNodeInfo), AttrName(ClassSubnAdm, 0x11), AttrName(ClassPerf, 1), AttrName(ClassPerf, 0x77)): "NodeInfoNodeRecordClassPortInfoattribute 0x0077",
		fmt.Sprint(TrapLinkState, Trap(1), TrapBadPKey.Type(), TrapLinkState.Type(), TrapCapabilityChange.Type(), TrapGIDInService.Type()):     "128 link state change 1 security urgent info management",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	for _, w := range []LinkWidth{Width1X, Width2X, Width4X, Width8X, Width12X} {
		if w.Lanes() == 0 {
			t.Errorf("%v has no lanes", w)
		}
	}
	if (Width1X | Width4X).Lanes() != 0 {
		t.Error("a set has lanes")
	}
	if s, d := Lane(SpeedQDR, SpeedEDR); s != 25781 || d != 25000 {
		t.Error(s, d)
	}
	for m, want := range map[Method]Method{MethodGet: MethodGetResp, MethodSet: MethodGetResp, MethodTrap: MethodTrapRepress, MethodReport: MethodReportResp, MethodGetTable: MethodGetTableResp, MethodDelete: MethodDeleteResp, MethodSend: 0, MethodGetResp: 0} {
		if m.Response() != want || (want != 0 && !want.IsResponse()) {
			t.Errorf("%v is answered by %v", m, m.Response())
		}
	}
}

// Every attribute that has a layout has a name, and the other way round but for
// those without one.
func TestNew(t *testing.T) {
	none := map[string]bool{"RandomForwardingTable": true, "LinkSpeedWidthPairsTable": true, "VendorSpecificMadsTable": true, "HierarchyInfo": true,
		"PortSamplesResultExtended": true, "RandomForwardingTableRecord": true, "TraceRecord": true, "ServiceAssociationRecord": true}
	for c, l := range attrNames {
		for id, n := range l {
			if (New(c, id) == nil) != none[n] {
				t.Errorf("%v %s: layout %v", c, n, New(c, id) != nil)
			}
		}
	}
	if New(ClassSubnDirected, AttrNodeInfo) == nil || New(ClassPing, 0x55) != nil {
		t.Error("New")
	}
}

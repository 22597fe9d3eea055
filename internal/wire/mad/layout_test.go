package mad

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sections maps a section of mad_fields.tsv to the attribute, and for rows of a
// table to where the first one begins.
var sections = map[string]struct {
	a    Attribute
	base int
}{
	"PortInfo": {a: new(PortInfo)}, "NodeInfo": {a: new(NodeInfo)}, "SwitchInfo": {a: new(SwitchInfo)},
	"LinearForwardingTable": {a: new(LinearForwarding)}, "Notice": {a: new(Notice)}, "PortCounters": {a: new(PortCounters)},
	"SMInfo": {a: new(SMInfo)}, "MultiPathRecord": {a: new(MultiPathRecord)}, "PathRecord": {a: new(PathRecord)},
	"MCMemberRecord": {a: new(MCMemberRecord)}, "ServiceRecord": {a: new(ServiceRecord)}, "PortCountersExtended": {a: new(PortCountersExtended)},
	"GUIDInfo": {a: new(GUIDInfo)}, "ClassPortInfo": {a: new(ClassPortInfo)}, "PortXmitDataSL": {a: new(PortXmitDataSL)},
	"PortRcvDataSL": {a: new(PortRcvDataSL)}, "PortXmitDiscardDetails": {a: new(PortXmitDiscardDetails)},
	"PortRcvErrorDetails": {a: new(PortRcvErrorDetails)}, "PortSamplesControl": {a: new(PortSamplesControl)},
	"GUIDInfoRecord": {a: new(GUIDInfoRecord)}, "PortExtendedSpeedsCounters": {a: new(PortExtendedSpeedsCounters)},
	"PortOpRcvCounters": {a: new(PortOpRcvCounters)}, "PortFlowCtlCounters": {a: new(PortFlowCtlCounters)},
	"PortVLOpPackets": {a: new(PortVLOpPackets)}, "PortVLOpData": {a: new(PortVLOpData)},
	"PortVLXmitFlowCtlUpdateErrors": {a: new(PortVLXmitFlowCtlUpdateErrors)}, "PortVLXmitWaitCounters": {a: new(PortVLXmitWaitCounters)},
	"SwPortVLCongestion": {a: new(SwPortVLCongestion)}, "PortRcvConCtrl": {a: new(PortRcvConCtrl)}, "PortSLRcvFECN": {a: new(PortSLRcvFECN)},
	"PortSLRcvBECN": {a: new(PortSLRcvBECN)}, "PortXmitConCtrl": {a: new(PortXmitConCtrl)}, "PortVLXmitTimeCong": {a: new(PortVLXmitTimeCong)},
	"Mellanox ExtendedPortInfo": {a: new(MlnxExtendedPortInfo)}, "CongestionInfo": {a: new(CongestionInfo)},
	"CongestionKeyInfo": {a: new(CongestionKeyInfo)}, "CongestionLog (common)": {a: new(CongestionLogCA)},
	"CongestionLog (Switch)": {a: new(CongestionLogSwitch)}, "CongestionLogEvent (Switch)": {new(CongestionLogSwitch), 40},
	"CongestionLog (CA)": {a: new(CongestionLogCA)}, "CongestionLogEvent (CA)": {new(CongestionLogCA), 12},
	"SwitchCongestionSetting": {a: new(SwitchCongestionSetting)}, "SwitchPortCongestionSettingElement": {a: new(SwitchPortCongestionSetting)},
	"CACongestionSetting": {a: new(CACongestionSetting)}, "CACongestionEntry": {new(CACongestionSetting), 4},
	"CongestionControlTable": {a: new(CongestionControlTable)}, "CongestionControlTableEntry": {new(CongestionControlTable), 4},
	"Timestamp": {a: new(CongestionTimestamp)}, "NodeRecord": {a: new(NodeRecord)}, "PortSamplesResult": {a: new(PortSamplesResult)},
	"PortInfoExtended": {a: new(PortInfoExtended)}, "PortExtendedSpeedsCounters (RS-FEC active)": {a: new(PortExtendedSpeedsRSFEC)},
	// As one field there, as many here.
	"MulticastForwardingTable": {}, "SLtoVLMappingTable": {}, "VLArbitrationTable": {},
	// Headers: TestHeaderFields. GID is a type of its own.
	"MAD header": {}, "directed-route SMP": {}, "SMP M_Key": {}, "SA header": {}, "congestion-control MAD header": {}, "GID": {},
}

// elsewhere are fields of the table that are not fields of the attribute, with
// the reason.
var elsewhere = map[string]string{
	"ServiceRecord ServRecKey":             "not the SM_Key: ServiceKey",
	"Notice NoticeDataLID":                 "part of DataDetails: TrapLinkStateData",
	"Notice NoticeDataTrap144LID":          "part of DataDetails: TrapChangeData",
	"Notice NoticeDataTrap144CapMask":      "part of DataDetails: TrapChangeData",
	"MultiPathRecord MultiPathGid":         "behind the fixed part: GIDs",
	"PortCounters QP1Dropped":              "libibmad reads VL15Dropped",
	"PortInfoExtended HDRFECModeSupported": "libibmad is one further",
	"PortInfoExtended HDRFECModeEnabled":   "libibmad is one further",
	"PortInfoExtended NDRFECModeSupported": "libibmad is one further",
	"PortInfoExtended NDRFECModeEnabled":   "libibmad is one further",
}

// alias are names that differ by more than case, punctuation and a prefix.
var alias = map[string]string{
	"smlid": "mastersmlid", "capmask": "capabilitymask", "linkstate": "portstate", "physlinkstate": "portphysicalstate",
	"linkdowndefstate": "linkdowndefaultstate", "protectbits": "mkeyprotectbits", "smsl": "mastersmsl",
	"vlarbhighcap": "vlarbitrationhighcap", "vlarblowcap": "vlarbitrationlowcap", "initreply": "inittypereply", "opervls": "operationalvls",
	"partenforceinb": "partitionenforcementinbound", "partenforceoutb": "partitionenforcementoutbound", "filterrawinb": "filterrawinbound",
	"filterrawoutb": "filterrawoutbound", "mcastpkeytrapsuppressionenabled": "mcastpkeytrapsuppression", "resptimeval": "resptimevalue",
	"localphyserr": "localphyerrors", "overrunerr": "overrunerrors", "roundtrip": "linkroundtriplatency", "localport": "localportnum",
	"basevers": "baseversion", "classvers": "classversion", "systemguid": "systemimageguid", "guid": "nodeguid", "partcap": "partitioncap",
	"devid": "deviceid", "mcastfdbcap": "multicastfdbcap", "defport": "defaultport", "defmcastprimport": "defaultmulticastprimaryport",
	"defmcastnotprimport": "defaultmulticastnotprimaryport", "lifetime": "lifetimevalue", "statechange": "portstatechange",
	"optsltovlmapping": "optimizedsltovlmapping", "partenforcecap": "partitionenforcementcap", "inboundpartenf": "inboundenforcementcap",
	"outboundpartenf": "outboundenforcementcap", "filterrawoutboundcap": "filterrawoutbound", "linearforwtbl": "port",
	"mkeyleaseperiod": "mkeyleaseperiod", "activity": "actcount", "state": "smstate", "key": "smkey", "numpath": "numbpath",
	"numsrc": "sgidcount", "numdest": "dgidcount", "flowlbl": "flowlabel", "id": "serviceid", "gid": "servicegid", "pkey": "servicepkey",
	"lease": "servicelease", "name": "servicename", "data": "servicedata", "localqpcnentry": "localqp", "slcnentry": "sl",
	"servicetypecnentry": "servicetype", "remoteqpnumbercnentry": "remoteqp", "locallidcn": "locallid", "remotelidcnentry": "remotelid",
	"timestampcnentry": "timestamp", "congparmmarkingrate": "congparm", "cctshift": "shift", "cctmultiplier": "multiplier",
	"mkey": "mkey", "filterrawinboundcap": "filterrawinbound",
}

func plain(s string) string {
	s = strings.ToLower(s)
	s = strings.NewReplacer("_", "", "-", "").Replace(s)
	for _, p := range []string{"notice", "sminfo", "sm", "multipath", "pathrec", "mcastmem", "servrec"} {
		if r := strings.TrimPrefix(s, p); r != s && r != "" && s != "smlid" && s != "smsl" && s != "smkey" && s != "smstate" {
			s = r
			break
		}
	}
	return s
}

func sameName(theirs, ours string) bool {
	a, b := plain(theirs), plain(ours)
	if a == b || a == strings.ToLower(ours) || alias[a] == strings.ToLower(ours) || alias[a] == b {
		return true
	}
	return a+"cap" == b
}

// Every field of the table is where the layouts say.
func TestLayouts(t *testing.T) {
	raw, err := os.ReadFile(testdata + "mad_fields.tsv")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, l := range strings.Split(string(raw), "\n") {
		c := strings.Split(l, "\t")
		if strings.HasPrefix(l, "#") || len(c) < 5 || c[0] == "section" {
			continue
		}
		s, ok := sections[c[0]]
		if !ok {
			t.Errorf("section %q is not known", c[0])
			continue
		}
		if s.a == nil || elsewhere[c[0]+" "+c[1]] != "" {
			continue
		}
		n := func(i int) int { v, _ := strconv.Atoi(c[i]); return v }
		found := false
		for _, f := range Fields(s.a) {
			if f.Byte != n(2)+s.base || f.Bit != n(3) || f.Width != n(4) || f.Reserved {
				continue
			}
			found = true
			name := f.Name
			if s.base > 0 || strings.HasSuffix(c[0], "Element") || strings.HasSuffix(c[0], "Entry") {
				name = strings.TrimSuffix(name, "0") // of the first row
			}
			if !sameName(c[1], name) {
				t.Errorf("%s: %s is %s here", c[0], c[1], name)
			}
		}
		if !found {
			t.Errorf("%s: no field at byte %d.%d, %d bits: %s", c[0], n(2), n(3), n(4), c[1])
		}
		checked++
	}
	if checked < 500 {
		t.Errorf("only %d fields checked", checked)
	}
}

// all returns every attribute by name.
func all() map[string]Attribute {
	m := map[string]Attribute{}
	for _, s := range sections {
		if s.a != nil {
			m[fmt.Sprintf("%T", s.a)] = s.a
		}
	}
	for _, l := range makers {
		for _, f := range l {
			m[fmt.Sprintf("%T", f())] = f()
		}
	}
	for trap := range Trap(260) {
		if a := NewTrapData(trap); a != nil {
			m[fmt.Sprintf("%T", a)] = a
		}
	}
	return m
}

// What is decoded from any bytes and encoded again differs in reserved bits
// only; fields do not overlap; what is too short is refused.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, a := range all() {
		n := Len(a)
		mask := make([]byte, n)
		for _, f := range Fields(a) {
			for i := range f.Width {
				at := f.Byte*8 + f.Bit + i
				if at/8 >= n {
					t.Fatalf("%s: %s is outside", name, f.Name)
				}
				if mask[at/8]&(0x80>>(at%8)) != 0 {
					t.Fatalf("%s: %s overlaps", name, f.Name)
				}
				if !f.Reserved {
					mask[at/8] |= 0x80 >> (at % 8)
				}
			}
		}
		in, out := make([]byte, n), make([]byte, n)
		for range 20 {
			for i := range in {
				in[i] = byte(r.Uint32())
				out[i] = byte(r.Uint32())
			}
			if Decode(a, in[:n-1]) {
				t.Fatalf("%s: %d bytes are enough", name, n-1)
			}
			if !Decode(a, in) {
				t.Fatalf("%s: %d bytes are not enough", name, n)
			}
			Encode(a, out)
			for i := range in {
				if in[i]&mask[i] != out[i] {
					t.Fatalf("%s: byte %d: %02x of %02x & %02x", name, i, out[i], in[i], mask[i])
				}
			}
			if n > 4 && (Text(a) == "" || Summary(a) == "") {
				t.Fatalf("%s has no text", name)
			}
		}
	}
}

func TestLengths(t *testing.T) {
	// IBTA vol. 1 §15.2.5: with padding AttributeOffset × 8.
	for a, want := range map[Attribute][2]int{
		new(NodeRecord): {108, 112}, new(PortInfoRecord): {68, 72}, new(SLtoVLRecord): {16, 16}, new(SwitchInfoRecord): {24, 24},
		new(LinearForwardingRecord): {72, 72}, new(MulticastForwardingRecord): {72, 72}, new(GUIDInfoRecord): {72, 72},
		new(VLArbitrationRecord): {72, 72}, new(PathRecord): {64, 64}, new(MCMemberRecord): {52, 56}, new(ServiceRecord): {176, 176},
		new(InformInfoRecord): {60, 64}, new(InformInfo): {36, 40}, new(SMInfoRecord): {25, 32}, new(LinkRecord): {6, 8},
		new(PKeyTableRecord): {72, 72}, new(NoticeRecord): {80, 80},
	} {
		if n := Len(a); n != want[0] || RecordStride(n) != want[1] {
			t.Errorf("%T: %d bytes, every %d", a, n, RecordStride(n))
		}
	}
}

// Bits of the ComponentMask, as IBTA vol. 1 §15.2.5 numbers them.
func TestComponents(t *testing.T) {
	for _, tt := range []struct {
		a    Attribute
		bits map[string]uint64
	}{
		{new(NodeRecord), map[string]uint64{"LID": 1, "BaseVersion": 1 << 2, "NodeType": 1 << 4, "NodeGUID": 1 << 7, "PortGUID": 1 << 8, "LocalPortNum": 1 << 12, "VendorID": 1 << 13, "NodeString": 1 << 14}},
		{new(PortInfoRecord), map[string]uint64{"EndportLID": 1, "PortNum": 2, "Options": 4, "MKey": 8, "LID": 1 << 5, "MasterSMLID": 1 << 6, "CapabilityMask": 1 << 7, "PortState": 1 << 15, "MKeyProtectBits": 1 << 18,
			"LMC": 1 << 20, "NeighborMTU": 1 << 23, "InitType": 1 << 26, "MTUCap": 1 << 31, "OperationalVLs": 1 << 34, "GUIDCap": 1 << 42, "ClientReregister": 1 << 43, "McastPKeyTrapSuppression": 1 << 44, "SubnetTimeOut": 1 << 45, "RespTimeValue": 1 << 47,
			"MaxCreditHint": 1 << 50, "LinkRoundTripLatency": 1 << 52, "CapabilityMask2": 1 << 53, "LinkSpeedExtEnabled": 1 << 57}},
		{new(PathRecord), map[string]uint64{"ServiceID": 3, "DGID": 4, "SGID": 8, "DLID": 1 << 4, "SLID": 1 << 5, "RawTraffic": 1 << 6, "FlowLabel": 1 << 8, "HopLimit": 1 << 9, "TClass": 1 << 10, "Reversible": 1 << 11,
			"NumbPath": 1 << 12, "PKey": 1 << 13, "QoSClass": 1 << 14, "SL": 1 << 15, "MTUSelector": 1 << 16, "MTU": 1 << 17, "RateSelector": 1 << 18, "Rate": 1 << 19, "PacketLifeTimeSelector": 1 << 20, "PacketLifeTime": 1 << 21}},
		{new(MultiPathRecord), map[string]uint64{"RawTraffic": 1, "FlowLabel": 4, "NumbPath": 1 << 6, "PKey": 1 << 7, "SL": 1 << 9, "PacketLifeTime": 1 << 15, "ServiceIDMSB": 1 << 16, "IndependenceSelector": 1 << 17, "SGIDCount": 1 << 19, "DGIDCount": 1 << 20, "ServiceIDLSB": 1 << 21}},
		{new(MCMemberRecord), map[string]uint64{"MGID": 1, "PortGID": 2, "QKey": 4, "MLID": 8, "MTUSelector": 1 << 4, "MTU": 1 << 5, "TClass": 1 << 6, "PKey": 1 << 7, "RateSelector": 1 << 8, "Rate": 1 << 9, "PacketLifeTime": 1 << 11, "SL": 1 << 12, "FlowLabel": 1 << 13, "HopLimit": 1 << 14, "Scope": 1 << 15, "JoinState": 1 << 16, "ProxyJoin": 1 << 17}},
		{new(ServiceRecord), map[string]uint64{"ServiceID": 1, "ServiceGID": 2, "ServicePKey": 4, "ServiceLease": 1 << 4, "ServiceKey": 1 << 5, "ServiceName": 1 << 6, "ServiceData": (1<<37 - 1) &^ 0x7f}},
		{new(GUIDInfoRecord), map[string]uint64{"LID": 1, "BlockNum": 2, "GUID0": 1 << 4, "GUID7": 1 << 11}},
		{new(SMInfoRecord), map[string]uint64{"LID": 1, "GUID": 4, "SMKey": 8, "ActCount": 1 << 4, "Priority": 1 << 5, "SMState": 1 << 6}},
		{new(InformInfoRecord), map[string]uint64{"SubscriberGID": 1, "Enum": 2, "GID": 8, "LIDRangeBegin": 1 << 4, "LIDRangeEnd": 1 << 5, "IsGeneric": 1 << 7, "Subscribe": 1 << 8, "Type": 1 << 9, "TrapNumber": 1 << 10, "QPN": 1 << 11, "RespTimeValue": 1 << 13, "ProducerType": 1 << 15}},
		{new(LinkRecord), map[string]uint64{"FromLID": 1, "FromPort": 2, "ToPort": 4, "ToLID": 8}},
		{new(VLArbitrationRecord), map[string]uint64{"LID": 1, "OutputPortNum": 2, "BlockNum": 4}},
		{new(SLtoVLRecord), map[string]uint64{"LID": 1, "InputPortNum": 2, "OutputPortNum": 4}},
		{new(PKeyTableRecord), map[string]uint64{"LID": 1, "BlockNum": 2, "PortNum": 4}},
		{new(LinearForwardingRecord), map[string]uint64{"LID": 1, "BlockNum": 2}},
		{new(MulticastForwardingRecord), map[string]uint64{"LID": 1, "Position": 2, "BlockNum": 8}},
		{new(SwitchInfoRecord), map[string]uint64{"LID": 1, "LinearFDBCap": 4}},
	} {
		f := Fields(tt.a)
		for name, want := range tt.bits {
			if got := Component(f, name); got != want {
				t.Errorf("%T: %s is %#x, want %#x", tt.a, name, got, want)
			}
		}
	}
	f := Fields(new(PathRecord)) // saquery --src-to-dst
	if m := Component(f, "DLID", "SLID", "NumbPath"); m != 0x1030 {
		t.Errorf("mask %#x", m)
	}
}

func TestMatch(t *testing.T) {
	f := Fields(new(PathRecord))
	enc := func(p PathRecord) []byte { b := make([]byte, PathRecordLen); Encode(&p, b); return b }
	a := enc(PathRecord{DLID: 1, SLID: 2, SL: 3, NumbPath: 7, Reversible: true})
	for _, tt := range []struct {
		p    PathRecord
		mask uint64
		want bool
	}{
		{PathRecord{DLID: 9}, 0, true},
		{PathRecord{DLID: 1}, Component(f, "DLID"), true},
		{PathRecord{DLID: 1}, Component(f, "DLID", "SLID"), false},
		{PathRecord{SL: 3}, Component(f, "SL"), true},
		{PathRecord{SL: 4}, Component(f, "SL"), false},
		{PathRecord{NumbPath: 7}, Component(f, "NumbPath"), true},
		{PathRecord{NumbPath: 7}, Component(f, "NumbPath", "Reversible"), false},
	} {
		if got := Match(f, tt.mask, enc(tt.p), a); got != tt.want {
			t.Errorf("%+v, mask %#x: %v", tt.p, tt.mask, got)
		}
	}
}

func TestHotAllocations(t *testing.T) {
	b := make([]byte, PacketLen)
	for i := range b {
		b[i] = byte(i * 7)
	}
	out := make([]byte, PacketLen)
	if n := testing.AllocsPerRun(100, func() {
		var pi PortInfo
		var ni NodeInfo
		var si SwitchInfo
		var lf LinearForwarding
		var pc PortCountersExtended
		Decode(&pi, b)
		Decode(&ni, b)
		Decode(&si, b)
		Decode(&lf, b)
		Decode(&pc, b)
		Encode(&pi, out)
		Encode(&ni, out)
		Encode(&si, out)
		Encode(&lf, out)
		Encode(&pc, out)
		h := Packet(b).Header()
		h.Encode(out)
		SMP(b).Step(3)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMultiPathGIDs(t *testing.T) {
	a := MultiPathRecord{SGIDCount: 1, DGIDCount: 2, ServiceIDMSB: 0x12, ServiceIDLSB: 0x3456789abcdef0}
	b := make([]byte, MultiPathRecordLen)
	Encode(&a, b)
	b = a.AppendGIDs(b, [16]byte{1}, [16]byte{2}, [16]byte{3})
	src, dst, ok := a.GIDs(b)
	if !ok || len(src) != 1 || len(dst) != 2 || dst[1][0] != 3 || a.ServiceID() != 0x123456789abcdef0 {
		t.Errorf("%v %v %v %#x", src, dst, ok, a.ServiceID())
	}
	if _, _, ok := a.GIDs(b[:len(b)-1]); ok {
		t.Error("cut, and accepted")
	}
}

func BenchmarkDecodePortInfo(b *testing.B) {
	x := make([]byte, PortInfoLen)
	var a PortInfo
	for b.Loop() {
		Decode(&a, x)
	}
}

func BenchmarkEncodePortInfo(b *testing.B) {
	x := make([]byte, PortInfoLen)
	var a PortInfo
	for b.Loop() {
		Encode(&a, x)
	}
}

// FuzzAttributes decodes any bytes as any attribute.
func FuzzAttributes(f *testing.F) {
	m := all()
	var names []string
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	for i := range names {
		f.Add(uint8(i), []byte(strings.Repeat("\x5a", 256)))
	}
	f.Fuzz(func(t *testing.T, which uint8, b []byte) {
		a := m[names[int(which)%len(names)]]
		if Decode(a, b) != (len(b) >= Len(a)) {
			t.Fatalf("%T of %d bytes", a, len(b))
		}
		if len(b) < Len(a) {
			return
		}
		out := make([]byte, Len(a))
		Encode(a, out)
		text := Text(a)
		if !Decode(a, out) || Text(a) != text {
			t.Fatalf("%T: %x becomes %x", a, b, out)
		}
		again := make([]byte, Len(a))
		Encode(a, again)
		if string(again) != string(out) {
			t.Fatalf("%T: %x, then %x", a, out, again)
		}
	})
}

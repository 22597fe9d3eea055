package mad

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"cnuas/internal/simtest"
)

// tsharkNames maps the names of attributes, and fields of which tshark spells
// the name otherwise, to tshark's.
var tsharkNames = map[string]string{
	"MKey": "m_key", "GIDPrefix": "guid", "MKeyLeasePeriod": "m_keyleaseperiod", "MKeyProtectBits": "m_keyprotectbits",
	"MKeyViolations": "m_keyviolations", "PKeyViolations": "p_keyviolations", "QKeyViolations": "q_keyviolations",
	"OptimizedSLtoVLMapping": "optimizedsltovlmappingprogramming", "EnhancedPort0": "enhancedportzero",
}

// tsharkLacks are fields that tshark 4.0 does not have, or shows wrongly.
var tsharkLacks = map[string]bool{
	"McastPKeyTrapSuppression": true, "CapabilityMask2": true, "LinkSpeedExtActive": true, "LinkSpeedExtSupported": true,
	"LinkSpeedExtEnabled": true, "MulticastFDBTop": true, "CounterSelect2": true, "QP1Dropped": true, "PortXmitWait": true,
}

// plainFields are the fields of an attribute as numbers.
func plainFields(p Packet) (m map[string]string) {
	a := New(p.Class(), p.Attr())
	prefix := ""
	switch a.(type) {
	case *NodeInfo:
		prefix = "infiniband.nodeinfo."
	case *PortInfo:
		prefix = "infiniband.portinfo."
	case *SwitchInfo:
		prefix = "infiniband.switchinfo."
	case *PortCounters:
		prefix = "infiniband.portcounters."
	default:
		return nil
	}
	m = map[string]string{}
	for _, f := range Fields(a) {
		if f.Reserved || tsharkLacks[f.Name] {
			continue
		}
		n := tsharkNames[f.Name]
		if n == "" {
			n = strings.ToLower(f.Name)
		}
		m[prefix+n] = strconv.FormatUint(getBits(p.Data()[f.Byte:], f.Bit, f.Width), 10)
	}
	return m
}

func ourHeader(p Packet) map[string]string {
	m := map[string]string{
		"infiniband.mad.mgmtclass": fmt.Sprint(uint8(p.Class())), "infiniband.mad.method": fmt.Sprint(uint8(p.Method())),
		"infiniband.mad.attributeid": fmt.Sprint(uint16(p.Attr())), "infiniband.mad.attributemodifier": fmt.Sprint(p.Modifier()),
		"infiniband.mad.transactionid": fmt.Sprint(p.TID()), "infiniband.mad.classversion": fmt.Sprint(p.ClassVersion()),
	}
	if s := SMP(p); s.Directed() {
		m["infiniband.smpdirected.hoppointer"], m["infiniband.smpdirected.hopcount"] = fmt.Sprint(s.HopPointer()), fmt.Sprint(s.HopCount())
		m["infiniband.smpdirected.drslid"], m["infiniband.smpdirected.drdlid"] = fmt.Sprint(uint16(s.DrSLID())), fmt.Sprint(uint16(s.DrDLID()))
		m["infiniband.smpdirected.initialpath"] = fmt.Sprintf("%x", s.InitialPath())
	}
	if a := SA(p); a.Valid() {
		m["infiniband.sa.smkey"], m["infiniband.sa.componentmask"] = fmt.Sprint(a.SMKey()), fmt.Sprint(a.ComponentMask())
	}
	return m
}

// Every header and every field of NodeInfo, PortInfo, SwitchInfo and
// PortCounters that tshark shows is what this package reads.
func TestTsharkMADs(t *testing.T) {
	simtest.Need(t, "tshark")
	for _, file := range []string{"ib_erf21.pcap", "opensm_bringup_ft2x2x8.pcap"} {
		mads := madFrames(t, file)
		wants := make([]map[string]string, len(mads))
		seen := map[string]bool{}
		for i, p := range mads {
			if p == nil {
				continue
			}
			wants[i] = ourHeader(p)
			for k, v := range plainFields(p) {
				wants[i][k] = v
			}
			for k := range wants[i] {
				seen[k] = true
			}
		}
		var keys []string
		args := []string{"-r", testdata + file, "-n", "-T", "fields", "-E", "separator=|", "-E", "occurrence=f"}
		for k := range seen {
			keys = append(keys, k)
			args = append(args, "-e", k)
		}
		cmd := exec.Command("tshark", args...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("tshark: %v: %s", err, stderr.String())
		}
		rows := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
		if len(rows) != len(mads) {
			t.Fatalf("%s: %d rows for %d frames", file, len(rows), len(mads))
		}
		compared, silent := 0, map[string]int{}
		for i, r := range rows {
			for j, v := range strings.Split(r, "|") {
				want, ok := wants[i][keys[j]]
				if !ok {
					continue
				}
				if v == "" {
					silent[keys[j]]++
					continue
				}
				compared++
				if got := number(v); got != want {
					t.Errorf("%s, frame %d: %s: tshark %q, ours %q", file, i+1, keys[j], v, want)
				}
			}
		}
		t.Logf("%s: %d fields agree; not shown by tshark: %v", file, compared, silent)
		if compared < 10*len(mads)/2 {
			t.Errorf("%s: only %d fields compared", file, compared)
		}
	}
}

// number reads what tshark prints: hex, decimal, a boolean, a GUID or bytes.
func number(s string) string {
	switch s {
	case "True":
		return "1"
	case "False":
		return "0"
	}
	if v, err := strconv.ParseUint(s, 0, 64); err == nil && len(s) <= 20 {
		return strconv.FormatUint(v, 10)
	}
	if h := strings.ReplaceAll(s, ":", ""); len(h) == 16 {
		if v, err := strconv.ParseUint(h, 16, 64); err == nil {
			return strconv.FormatUint(v, 10)
		}
	}
	return strings.ReplaceAll(s, ":", "")
}

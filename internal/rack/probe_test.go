package rack

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"cnuas/internal/topology"
	"cnuas/modbus/port"
	"cnuas/modbus/rtu"
)

func value(l []port.Value, name string) string {
	for _, v := range l {
		if v.Name == name {
			return v.Text
		}
	}
	return ""
}

func TestProbe(t *testing.T) {
	s := shelves()
	s.Shelves[2].Line = fast
	s.Shelves = append(s.Shelves, topology.RackShelf{Name: "valve", Kind: "valve", Line: rtu.Line{Baud: 19200, Data: 8, Stop: 1}, Backs: -1,
		Slots: []topology.RackSlot{{Number: 1, Name: "valve1", Address: 14}}})
	r := run(t, s, Options{Nodes: func() []float64 { return []float64{1500, 0} }})
	asked := 0
	l, err := port.Probe(t.Context(), r.TTY("bus0"), port.ProbeOptions{
		Lines:     []rtu.Line{slow, fast, {Baud: 19200, Data: 8, Stop: 1}},
		Addresses: []uint8{14, 32, 33, 48, 144, 146, 147, 200},
		Progress:  func(rtu.Line, uint8, int, int) { asked++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	type who struct {
		addr                uint8
		line, kind, profile string
	}
	var got []who
	for _, f := range l {
		got = append(got, who{f.Address, f.Line, f.Kind, f.Profile})
		if f.Note != "" {
			t.Errorf("%d: %s", f.Address, f.Note)
		}
	}
	want := []who{
		{32, "19200 8E1", "hpr-pmm-psu", "DeltaECD70000017PowerMonitorModule"},
		{144, "19200 8E1", "hpr-psu", "DeltaECD17020037PowerSupplyUnit"},
		{146, "19200 8E1", "hpr-psu", "DeltaECD17020037PowerSupplyUnit"},
		{48, "115200 8E1", "hpr-bbu", "PanasonicBJA3C0002ABatteryBackupUnit"},
		{200, "115200 8E1", "orv3-psu", ""},
		{14, "19200 8N1", "valve", "BelimoEV200ARXEValve"},
	}
	if len(got) != len(want) {
		t.Fatalf("found %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("found %+v, want %+v", got[i], want[i])
		}
	}
	if asked != 3*8 {
		t.Errorf("progress told of %d addresses", asked)
	}
	psu := l[1]
	if v := value(psu.Values, "PSU_Output_Power"); !strings.HasSuffix(v, " W") || !strings.HasPrefix(v, "5") && !strings.HasPrefix(v, "4") {
		t.Errorf("output power %q, want a third of 1500 W", v)
	}
	if len(psu.Identity) < 5 || value(psu.Identity, "PSU_MFR_Serial") == "" || len(psu.Flags) == 0 {
		b, _ := json.MarshalIndent(psu, "", " ")
		t.Errorf("%s", b)
	}
	if v := value(psu.Flags, "General_Alarm_Status_Register"); v != "0x0000" {
		t.Errorf("alarms %q", v)
	}
}

func TestProbeOfAddresses(t *testing.T) {
	s := shelves()
	r := run(t, s, Options{})
	// The shelf of kind hpr-psu has 115200 baud by its map, and was set to 19200.
	l, err := port.Probe(t.Context(), r.TTY("bus0"), port.ProbeOptions{Addresses: []uint8{48, 144}})
	if err != nil || len(l) != 2 || l[0].Address != 144 || l[0].Kind != "hpr-psu" || l[1].Address != 48 {
		t.Errorf("%+v, %v", l, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := port.Probe(ctx, r.TTY("bus0"), port.ProbeOptions{All: true}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := port.Probe(t.Context(), r.TTY("bus0")+"9", port.ProbeOptions{}); err == nil {
		t.Error("no such port")
	}
	// One that nobody knows, at an address that no kind has.
	r2 := running(t)
	l, err = port.Probe(t.Context(), r2.TTY("bus1"), port.ProbeOptions{Lines: []rtu.Line{fast}, Addresses: []uint8{9, 10, 11}})
	if err != nil || len(l) != 1 || l[0].Address != 10 || l[0].Kind != "" || l[0].Note == "" {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestProbeOfNoise(t *testing.T) {
	r := running(t)
	quit := make(chan struct{})
	done := make(chan struct{})
	c := dial(t, r, "bus1")
	go func() { // a station that jams
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-time.After(3 * time.Millisecond):
				c.Write([]byte{0xff, 0x00, 0x55})
			}
		}
	}()
	defer func() { close(quit); <-done }()
	l, err := port.Probe(t.Context(), r.TTY("bus1"), port.ProbeOptions{Lines: []rtu.Line{fast}, Addresses: []uint8{9}})
	if err != nil || len(l) > 1 || len(l) == 1 && l[0].Note == "" {
		t.Errorf("%+v, %v", l, err)
	}
}

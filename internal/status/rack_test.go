package status

import (
	"strings"
	"testing"
)

func rackSample() *Rack {
	full, half := 1.0, 0.5
	return &Rack{
		Segments: []RackSegment{{Name: "bus0", Line: "19200 8E1", TTY: "/dev/pts/7", Slaves: 4, Counters: map[string]uint64{"requests": 7, "replies": 6, "lost": 0}, Faults: []string{"late, by 200ms"},
			Clients: []RackClient{{Name: "tty", Line: "19200 8N1"}, {Name: "socket1", Open: true, Line: "19200 8E1"}}}},
		Shelves: []RackShelf{
			{Name: "shelf1", Kind: "hpr-psu", Segment: "bus0", Line: "19200 8E1", Feeds: []string{"h1", "h2"}, State: "on", InputW: 939, OutputW: 800, BusbarV: 50.49,
				Slaves: []RackDevice{{Name: "shelf1/psu1", Address: 144}, {Name: "shelf1/psu2", Address: 145}, {Name: "shelf1/pmm", Address: 32}}},
			{Name: "bbu1", Kind: "hpr-bbu", Segment: "bus0", Line: "115200 8E1", Backs: "shelf1", State: "discharging", OutputW: 12, Charge: &half, RuntimeS: 100.4, Slaves: []RackDevice{{Address: 48}}},
			{Name: "bbu2", Kind: "hpr-bbu", Segment: "bus0", State: "full", Charge: &full, Feeds: []string{"a", "b", "c", "d", "e"}},
		},
		Loads:  []RackLoad{{Node: "h1", Watts: 412.4, Shelves: []string{"shelf1"}}, {Node: "h2", Watts: 400}},
		BMC:    &RackBMC{Name: "bmc", Machine: "ast2600-evb", Address: "192.168.255.3/24", State: "up"},
		Alerts: []string{"shelf1: unplugged: psu2"},
	}
}

func TestPrintRack(t *testing.T) {
	for _, c := range []struct {
		what  string
		print func(*strings.Builder)
		want  []string
	}{
		{"rack status", func(b *strings.Builder) { rackSample().Print(b) }, []string{
			"bus0     19200 8E1  4       /dev/pts/7  socket1 at 19200 8E1  replies=6,requests=7\n",
			"shelf1  hpr-psu  bus0     19200 8E1   144-145, 32  feeds h1, h2   on           939   800    50.49     -\n",
			"bbu1    hpr-bbu  bus0     115200 8E1  48           backs shelf1   discharging  -     12     -         50%, 100 s left\n",
			"feeds 5 nodes", "100%\n",
			"h1    412    shelf1\nh2    400    -\n",
			"bmc: bmc, ast2600-evb at 192.168.255.3/24, up\n",
			"fault: bus0: late, by 200ms\n",
			"alert: shelf1: unplugged: psu2\n",
		}},
		{"status", func(b *strings.Builder) { f := sample(); f.Rack = rackSample(); f.Print(b) }, []string{
			"shelf1  hpr-psu  bus0     144-145, 32  feeds h1, h2   on           939   800    -\n",
			"alert: shelf1: unplugged: psu2\n",
		}},
		{"show", func(b *strings.Builder) {
			d := RackDevice{Name: "shelf1/psu1", Kind: "hpr-psu", Profile: "Acme", Segment: "bus0", Line: "19200 8E1", Address: 144, State: "on", OutputW: 133.4,
				Alarms: []string{"PFC"}, CanFail: []string{"fan_fault"}, Events: []string{"mains lost"},
				Registers: []RackRegister{{Address: 79, Words: 1, Name: "PSU_Output_Voltage", Raw: []uint16{0xC800}, Value: "50 V", Held: true},
					{Address: 24, Words: 5, Name: "Serial", Raw: []uint16{1, 2, 3, 4, 5}, Value: "X"}}}
			d.Print(b)
		}, []string{
			"shelf1/psu1: hpr-psu (Acme), address 144 (0x90) on bus0 at 19200 8E1\nstate: on, output 133 W\nalarms: PFC\ncan fail by: fan_fault\n\n",
			"79        PSU_Output_Voltage  50 V (held)  C800\n",
			"24        Serial              X            0001 0002 0003 ...\n",
			"event: mains lost\n",
		}},
	} {
		var b strings.Builder
		c.print(&b)
		for _, w := range c.want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s lacks %q:\n%s", c.what, w, b.String())
			}
		}
	}
}

func TestRackExtent(t *testing.T) {
	if s := RackExtent(1, 6, 1); s != "1 shelf, 6 slaves on 1 segment" {
		t.Error(s)
	}
	if s := RackExtent(4, 1, 2); s != "4 shelves, 1 slave on 2 segments" {
		t.Error(s)
	}
}

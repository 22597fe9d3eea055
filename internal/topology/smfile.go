package topology

import (
	"fmt"

	"cnuas/internal/sim"
)

// fileSM is [sm], or an element of [[sm]].
type fileSM struct {
	key        string
	node       attr[string]
	engine     attr[Engine]
	priority   attr[int64]
	lmc        attr[int64]
	sweep      attr[sim.Time]
	qos        attr[bool]
	partitions attr[string]
	standby    []attr[string]
}

// sms reads the key sm: "none", a table, or a list of tables. none tells that
// the file wants no subnet manager.
func (t *table) sms() (l []*fileSM, none bool) {
	raw, ok := t.lookup("sm")
	switch v := raw.(type) {
	case string:
		if v == "none" {
			return nil, true
		}
	case map[string]any:
		return t.r.table(t.key("sm"), v).sm()
	case []any, []map[string]any:
		for _, s := range t.tables("sm") {
			m, no := s.sm()
			l, none = append(l, m...), none || no
		}
		return l, none
	}
	if ok {
		t.want(t.key("sm"), raw, `"none" or [sm]`, `write sm = "none", or [sm] with node = "h1"`)
	}
	return nil, false
}

func (t *table) sm() ([]*fileSM, bool) {
	m := &fileSM{
		key:  t.path,
		node: t.str("node"),
		engine: get(t, "engine", `"minhop", "updn", "ftree" or "dfsssp"`, `use "minhop", "updn", "ftree" or "dfsssp"`, func(s string) (Engine, error) {
			for _, e := range ibEngines {
				if s == string(e) {
					return e, nil
				}
			}
			return "", fmt.Errorf("unknown engine %q", s)
		}),
		priority:   t.int("priority", 0, 15),
		lmc:        t.int("lmc", 0, 7),
		sweep:      get(t, "sweep", `a string such as "10s"`, `write it as "10s"; "0s": only when a port changes; at most 3600s`, parseSweep),
		qos:        t.bool("qos"),
		partitions: t.str("partitions"),
	}
	m.standby, _ = list(t, "standby", `a list such as ["h2", "h3:ib1"]`, `write it as ["h2", "h3:ib1"]`, same[string])
	none := t.bool("none")
	t.done()
	if none.get(false) {
		if len(t.m) > 1 {
			t.r.errorf(none.key, "remove it, or the other keys", "none = true, and yet there are keys of a subnet manager")
		}
		return nil, true
	}
	return []*fileSM{m}, false
}

// maxSweep bounds the interval of sweeps.
const maxSweep = 3600 * sim.Second

func parseSweep(s string) (sim.Time, error) {
	v, err := quantity(s, timeUnits)
	switch {
	case err != nil:
		return 0, err
	case v < 0 || sim.Time(v) > maxSweep:
		return 0, fmt.Errorf("sweep %q is not between 0 and 3600 s", s)
	case v > 0 && sim.Time(v) < sim.Millisecond:
		return 0, fmt.Errorf("sweep %q is below 1 ms", s)
	}
	return sim.Time(v), nil
}

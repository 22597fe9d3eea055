package topology

import (
	"fmt"
	"maps"
	"slices"
)

// profile is [qos] or [qos.NAME] as it is written.
type profile struct {
	key, name string

	trust      attr[Trust]
	dscp, pcp  map[int]int64
	untagged   attr[int64]
	pfc        attr[bool]
	lossless   prioList
	buffer     attr[int64]
	alpha      attr[float64]
	alphaLossy attr[float64]
	xoff, xon  attr[int64]
	headroom   attr[int64]
	ecn        prioList
	kmin, kmax attr[int64]
	pmax       attr[float64]
	strict     prioList
	weights    map[int]int64

	used bool
}

// prioList is a set of priorities that may be absent.
type prioList struct {
	v   PrioritySet
	set bool
	key string
}

func (a prioList) or(b prioList) prioList {
	if a.set {
		return a
	}
	return b
}

func (t *table) prioList(k string) prioList {
	l, set := list(t, k, "a list of priorities", "use 0 to 7", func(v int64) (int, error) {
		if v < 0 || v > 7 {
			return 0, fmt.Errorf("%d is not a priority", v)
		}
		return int(v), nil
	})
	p := prioList{set: set, key: t.key(k)}
	for _, e := range l {
		if p.v.Has(e.v) {
			t.r.errorf(e.key, "give it once", "priority %d is listed twice", e.v)
		}
		p.v |= 1 << e.v
	}
	return p
}

// or fills what a does not give from b, maps entry by entry.
func (a profile) or(b *profile) *profile {
	a.trust = a.trust.or(b.trust)
	a.dscp = merge(b.dscp, a.dscp)
	a.pcp = merge(b.pcp, a.pcp)
	a.untagged = a.untagged.or(b.untagged)
	a.pfc = a.pfc.or(b.pfc)
	a.lossless = a.lossless.or(b.lossless)
	a.buffer = a.buffer.or(b.buffer)
	a.alpha = a.alpha.or(b.alpha)
	a.alphaLossy = a.alphaLossy.or(b.alphaLossy)
	a.xoff = a.xoff.or(b.xoff)
	a.xon = a.xon.or(b.xon)
	a.headroom = a.headroom.or(b.headroom)
	a.ecn = a.ecn.or(b.ecn)
	a.kmin = a.kmin.or(b.kmin)
	a.kmax = a.kmax.or(b.kmax)
	a.pmax = a.pmax.or(b.pmax)
	a.strict = a.strict.or(b.strict)
	a.weights = merge(b.weights, a.weights)
	return &a
}

func merge(base, over map[int]int64) map[int]int64 {
	m := maps.Clone(base)
	if m == nil {
		m = map[int]int64{}
	}
	maps.Copy(m, over)
	return m
}

// profiles reads [qos] and the named profiles below it, which inherit from it.
func (r *reader) profiles(t *table) map[string]*profile {
	if t == nil {
		return map[string]*profile{defaultProfile: {name: defaultProfile, used: true}}
	}
	base := t.profile(defaultProfile)
	base.used = true
	out := map[string]*profile{defaultProfile: base}
	known := slices.Clone(t.known)
	for _, k := range slices.Sorted(maps.Keys(t.m)) {
		if slices.Contains(known, k) {
			continue
		}
		if _, ok := t.m[k].(map[string]any); !ok {
			continue
		}
		s := t.sub(k)
		switch err := checkName(k); {
		case err != nil:
			r.errorf(s.path, nameRemedy, "%v", err)
		case k == defaultProfile:
			r.errorf(s.path, "write its keys under [qos]", "the default profile is [qos] itself")
		}
		out[k] = s.profile(k).or(base)
		s.done()
	}
	t.known = append(known, slices.DeleteFunc(t.known, func(k string) bool { return slices.Contains(known, k) })...)
	t.done()
	for _, k := range slices.Sorted(maps.Keys(out)) {
		r.checkProfile(out[k])
	}
	return out
}

const defaultProfile = "default"

func (t *table) profile(name string) *profile {
	size := func(k string) attr[int64] {
		return get(t, k, `a string such as "64KB"`, `write it as "64KB"; units B, KB, MB, GB, KiB, MiB, GiB`, ParseSize)
	}
	alpha := func(k string) attr[float64] {
		return t.float(k, "a number above 0 and at most 64", func(v float64) bool { return v > 0 && v <= 64 })
	}
	p := &profile{key: t.path, name: name,
		trust: get(t, "trust", `"dscp" or "pcp"`, `use "dscp" or "pcp"`, func(s string) (Trust, error) {
			if v := Trust(s); v == TrustDSCP || v == TrustPCP {
				return v, nil
			}
			return "", fmt.Errorf("unknown field %q", s)
		}),
		dscp:       t.numbered("dscp", "DSCP", 63, 0, 7),
		pcp:        t.numbered("pcp", "PCP", 7, 0, 7),
		untagged:   t.int("untagged", 0, 7),
		pfc:        t.bool("pfc"),
		lossless:   t.prioList("lossless"),
		buffer:     size("buffer"),
		alpha:      alpha("alpha"),
		alphaLossy: alpha("alpha_lossy"),
		xoff:       size("xoff"),
		xon:        size("xon"),
		headroom:   size("headroom"),
	}
	if e := t.sub("ecn"); e != nil {
		t, size := e, func(k string) attr[int64] {
			return get(e, k, `a string such as "100KB"`, `write it as "100KB"; units B, KB, MB, GB, KiB, MiB, GiB`, ParseSize)
		}
		p.ecn = t.prioList("priorities")
		p.kmin, p.kmax = size("kmin"), size("kmax")
		p.pmax = t.float("pmax", "a number above 0 and at most 1", func(v float64) bool { return v > 0 && v <= 1 })
		t.done()
	}
	if s := t.sub("scheduler"); s != nil {
		p.strict = s.prioList("strict")
		p.weights = s.numbered("weights", "priority", 7, 1, 1000)
		s.done()
	}
	return p
}

// checkProfile reports what contradicts itself whatever the switch.
func (r *reader) checkProfile(p *profile) {
	if p.kmin.set && p.kmax.set && p.kmin.v > p.kmax.v {
		r.errorf(p.kmin.key, "make kmin at most kmax", "kmin %d B is above kmax %d B", p.kmin.v, p.kmax.v)
	}
	if p.xon.set && !p.xoff.set {
		r.errorf(p.xon.key, "give xoff too, or neither", "xon without xoff")
	}
	if p.xon.set && p.xoff.set && p.xon.v > p.xoff.v {
		r.errorf(p.xon.key, "make xon at most xoff", "xon %d B is above xoff %d B", p.xon.v, p.xoff.v)
	}
	if p.xoff.set && p.xoff.v == 0 {
		r.errorf(p.xoff.key, "leave xoff out for a dynamic threshold", "xoff 0 would pause for ever")
	}
	for _, n := range slices.Sorted(maps.Keys(p.weights)) {
		if p.strict.v.Has(n) {
			r.errorf(p.strict.key, "remove it from strict or from weights", "priority %d is strict and has a weight", n)
		}
	}
}

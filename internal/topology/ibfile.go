package topology

import (
	"fmt"
	"slices"

	"cnuas/internal/sim"
)

// What files say about InfiniBand, beside the keys of file.go.

// ibLinkAttrs are the properties of InfiniBand links.
type ibLinkAttrs struct {
	width attr[int64]
	speed attr[Speed]
	mtu   attr[int64]
	vls   attr[int64]
	tun   attr[bool]
}

func (a ibLinkAttrs) or(b ibLinkAttrs) ibLinkAttrs {
	a.width = a.width.or(b.width)
	a.speed = a.speed.or(b.speed)
	a.mtu = a.mtu.or(b.mtu)
	a.vls = a.vls.or(b.vls)
	a.tun = a.tun.or(b.tun)
	return a
}

func (t *table) ibLinkAttrs() ibLinkAttrs {
	return ibLinkAttrs{
		width: t.oneOf("width", ibWidths),
		speed: get(t, "speed", "one of "+speedNames, "use "+speedNames+"; an Ethernet link has rate instead", parseSpeed),
		mtu:   t.oneOf("mtu", ibMTUs),
		vls:   t.oneOf("vls", ibVLs),
		tun:   t.bool("tunnel"),
	}
}

// first is the key of a property that is given, for messages.
func (a ibLinkAttrs) first() string {
	for _, k := range []string{a.width.key, a.speed.key, a.mtu.key, a.vls.key, a.tun.key} {
		if k != "" {
			return k
		}
	}
	return ""
}

func (a ibLinkAttrs) link() *IBLink {
	return &IBLink{
		Width: int(a.width.get(DefaultIBWidth)),
		Speed: a.speed.get(DefaultIBSpeed),
		MTU:   int(a.mtu.get(DefaultIBMTU)),
		VLs:   int(a.vls.get(DefaultIBVLs)),

		Tunnel: a.tun.get(false),
	}
}

// oneOf reads an integer that must be in a list.
func (t *table) oneOf(k string, list []int64) attr[int64] {
	form := ""
	for i, v := range list {
		switch i {
		case 0:
		case len(list) - 1:
			form += " or "
		default:
			form += ", "
		}
		form += fmt.Sprint(v)
	}
	return get(t, k, form, "use "+form, func(v int64) (int64, error) {
		if !slices.Contains(list, v) {
			return 0, fmt.Errorf("%d where %s is expected", v, form)
		}
		return v, nil
	})
}

func (t *table) guid() attr[GUID] {
	return get(t, "guid", `a string such as "0x0002c90300a1b2c4"`, `write it as "0x0002c90300a1b2c4", or leave it out`, ParseGUID)
}

// ibSwitchAttrs are the properties that InfiniBand switches share.
type ibSwitchAttrs struct {
	lftCap   attr[int64]
	mcastCap attr[int64]
	latency  attr[sim.Time]
	cut      attr[bool]
}

func (a ibSwitchAttrs) or(b ibSwitchAttrs) ibSwitchAttrs {
	a.lftCap = a.lftCap.or(b.lftCap)
	a.mcastCap = a.mcastCap.or(b.mcastCap)
	a.latency = a.latency.or(b.latency)
	a.cut = a.cut.or(b.cut)
	return a
}

func (t *table) ibSwitchAttrs() ibSwitchAttrs {
	return ibSwitchAttrs{
		lftCap: t.int("lft_cap", minLFTCap, DefaultLFTCap), mcastCap: t.int("mcast_cap", 1, maxMCastCap),
		latency: get(t, "latency", `a string such as "100ns"`, `write it as "100ns"; units ps, ns, us, ms, s; at most 1 s`, ParseDelay),
		cut:     t.bool("cut_through"),
	}
}

// fileHCA is an HCA of an imported fabric with all its ports, port 1 first.
type fileHCA struct {
	IBNode
	ports []fileHCAPort
}

type fileHCAPort struct {
	name string // "ib0"
	guid GUID   // 0: not known
}

package route

import (
	"fmt"
	"math/rand/v2"
)

// shape builds a subnet: switches first, then ends; LIDs and GUIDs by number,
// those of ends aligned for the LMC.
type shape struct {
	*Subnet
	lmc  uint8
	lid  uint16
	free []int // by switch: the next port that is free
}

const edr = 100_000 // Mb/s, 4X

func newShape(lmc uint8) *shape { return &shape{Subnet: &Subnet{}, lmc: lmc, lid: 1} }

// sw adds switches.
func (x *shape) sw(n, ports int) *shape {
	for range n {
		x.AddSwitch(0x200000+uint64(len(x.Switches)), x.lid, 0, ports)
		x.free = append(x.free, 1)
		x.lid++
	}
	return x
}

// ends adds ends at a switch.
func (x *shape) ends(sw, n int) *shape {
	for range n {
		step := uint16(1) << x.lmc
		x.lid = (x.lid + step - 1) / step * step
		e := x.AddEnd(0x100000+uint64(len(x.Ends)), x.lid, x.lmc)
		x.must(x.JoinEnd(e, sw, x.free[sw], edr))
		x.free[sw]++
		x.lid += step
	}
	return x
}

func (x *shape) join(a, b int, rate uint32) *shape {
	x.must(x.JoinSwitches(a, x.free[a], b, x.free[b], rate))
	x.free[a]++
	x.free[b]++
	return x
}

func (x *shape) must(ok bool) {
	if !ok {
		panic("the shape has no such port")
	}
}

// twoLevels has switches: leaves, then spines.
func twoLevels(leaves, spines, hosts int, lmc uint8) *Subnet {
	x := newShape(lmc).sw(leaves, hosts+spines).sw(spines, leaves)
	for l := range leaves {
		x.ends(l, hosts)
	}
	for l := range leaves {
		for p := range spines {
			x.join(l, leaves+p, edr)
		}
	}
	return x.Subnet
}

// threeLevels is a k-ary tree: k*k/2 leaves, as many above them, k*k/4 on top.
func threeLevels(k int, lmc uint8) *Subnet {
	h := k / 2
	x := newShape(lmc).sw(k*h*2+h*h, k)
	agg, core := k*h, 2*k*h
	for l := range k * h {
		x.ends(l, h)
	}
	for pod := range k {
		for l := range h {
			for a := range h {
				x.join(pod*h+l, agg+pod*h+a, edr)
			}
		}
		for a := range h {
			for c := range h {
				x.join(agg+pod*h+a, core+a*h+c, edr)
			}
		}
	}
	return x.Subnet
}

// ring has n switches in a circle, with ends at each.
func ring(n, hosts int, lmc uint8) *Subnet {
	x := newShape(lmc).sw(n, hosts+2)
	for i := range n {
		x.ends(i, hosts)
	}
	for i := range n {
		x.join(i, (i+1)%n, edr)
	}
	return x.Subnet
}

// torus is a torus of two dimensions with ends at each switch.
func torus(w, h, hosts int) *Subnet {
	x := newShape(0).sw(w*h, hosts+4)
	for i := range w * h {
		x.ends(i, hosts)
	}
	for j := range h {
		for i := range w {
			x.join(j*w+i, j*w+(i+1)%w, edr)
			x.join(j*w+i, (j+1)%h*w+i, edr)
		}
	}
	return x.Subnet
}

// random is a connected subnet with more links than a tree has.
func random(r *rand.Rand, lmc uint8) *Subnet {
	n := 2 + r.IntN(20)
	x := newShape(lmc).sw(n, 40)
	for i := range n {
		x.ends(i, r.IntN(4))
	}
	x.ends(0, 1)
	rates := []uint32{edr, 2 * edr, edr / 4}
	for i := 1; i < n; i++ {
		x.join(i, r.IntN(i), rates[r.IntN(3)])
	}
	for range r.IntN(2 * n) {
		if a, b := r.IntN(n), r.IntN(n); a != b && x.free[a] < 40 && x.free[b] < 40 {
			x.join(a, b, rates[r.IntN(3)])
		}
	}
	return x.Subnet
}

// levelled is a tree of two or three levels without some of its links.
func levelled(r *rand.Rand) *Subnet {
	sizes := []int{2 + r.IntN(6), 1 + r.IntN(4), 1 + r.IntN(4)}[:2+r.IntN(2)]
	x := newShape(0)
	for _, n := range sizes {
		x.sw(n, 60)
	}
	for i := range sizes[0] {
		x.ends(i, 1+r.IntN(4))
	}
	at := 0
	for l, n := range sizes[1:] {
		for i := range sizes[l] {
			for k := range n {
				for range r.IntN(4) { // parallel links, or none
					x.join(at+i, at+sizes[l]+k, edr)
				}
			}
		}
		at += sizes[l]
	}
	return x.Subnet
}

func (s *Subnet) String() string {
	return fmt.Sprintf("%d switches, %d ends, %d ports", len(s.Switches), len(s.Ends), len(s.Links))
}

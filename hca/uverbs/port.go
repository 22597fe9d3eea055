package uverbs

import (
	"encoding/binary"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"cnuas/hca"
)

// minGIDs is the least length of the GID table that programs are told of.
const minGIDs = 16

// rates are the ways to state an Ethernet rate as width and speed of an
// InfiniBand link, as drivers/infiniband/core/verbs.c of Linux does.
var rates = []struct {
	bps          int64
	width, speed uint32 // codes of ib_port_attr
	text         string
}{
	{1e9, 1, 1, "2.5 Gb/sec (1X SDR)"},
	{10e9, 1, 4, "10 Gb/sec (1X QDR)"},
	{20e9, 2, 2, "20 Gb/sec (4X DDR)"},
	{25e9, 1, 32, "25 Gb/sec (1X EDR)"},
	{40e9, 2, 8, "40 Gb/sec (4X FDR10)"},
	{50e9, 1, 64, "50 Gb/sec (1X HDR)"},
	{100e9, 2, 32, "100 Gb/sec (4X EDR)"},
	{200e9, 2, 64, "200 Gb/sec (4X HDR)"},
	{400e9, 2, 128, "400 Gb/sec (4X NDR)"},
	{800e9, 2, 256, "800 Gb/sec (4X XDR)"},
}

// linkRate is the largest entry of rates that is not above bps, or the first.
func linkRate(bps int64) (width, speed uint32, text string) {
	r := rates[0]
	for _, x := range rates {
		if x.bps <= bps {
			r = x
		}
	}
	return r.width, r.speed, r.text
}

// portState is what is asked of a port.
type portState struct {
	up    bool
	mtu   uint8
	gids  []hca.GIDEntry // up to the last valid one, at least minGIDs
	pkeys []uint16
	ctr   hca.Counters
	ib    *ibState // nil: RoCE
}

// portState must be called while the engine is held.
func (d *Device) portState() portState {
	s := portState{up: d.HCA.Up(), mtu: d.HCA.ActiveMTU(), ctr: d.HCA.Counters()}
	s.pkeys = slices.Clone(d.HCA.PKeys())
	all := d.HCA.GIDs()
	n := minGIDs
	if d.HCA.IB() != nil {
		s.ib = d.ibState()
		n = s.ib.gids
	}
	for i := range all {
		if all[i].Valid {
			n = max(n, i+1)
		}
	}
	s.gids = append(s.gids, all[:min(n, len(all))]...)
	return s
}

// Port capabilities: communication management, GIDs made from IP addresses.
const portCaps = 1<<16 | 1<<26

// encode makes struct ib_uverbs_ex_query_port_resp: 40 bytes as ever, then
// active_speed_ex.
func (s *portState) encode(d *Device) []byte {
	if s.ib != nil {
		return s.ib.encode(s)
	}
	b := make([]byte, 48)
	width, speed, _ := linkRate(d.Rate)
	le.PutUint32(b[0:], portCaps)
	le.PutUint32(b[4:], hca.MaxMsgSize)
	le.PutUint32(b[16:], uint32(len(s.gids)))
	le.PutUint16(b[20:], 1) // P_Key table
	b[26], b[36] = 1, 3     // down, disabled
	if s.up {
		b[26], b[36] = 4, 5 // active, link up
	}
	b[27], b[28] = 5, s.mtu
	b[30] = 1  // VLs
	b[32] = 18 // subnet timeout
	b[34], b[35] = byte(width), byte(speed)
	b[37] = 2 // Ethernet
	b[38] = 1 // GRH is required
	le.PutUint32(b[44:], speed)
	return b
}

func (k *call) device() *Device { return &k.ctx.node.cfg.Devices[k.ctx.dev] }

// state reads the port of the call's device.
func (k *call) state() (s portState) {
	k.ctx.srv.do(func() { s = k.device().portState() })
	return s
}

func queryPort(k *call) error {
	if k.u32(0) != 1 {
		return unix.EINVAL
	}
	s := k.state()
	k.out(1, s.encode(k.device()))
	return nil
}

func getContext(k *call) error {
	k.out32(0, 1)              // completion vectors
	k.out(1, make([]byte, 8))  // no optional core commands
	k.out(uhwOut, []byte(nil)) // the provider has no data
	return nil
}

const gidEntryLen = 32

// gidEntry makes struct ib_uverbs_gid_entry. InfiniBand is type 0, RoCE v2 is
// type 2.
func (s *portState) gidEntry(i int, d *Device) []byte {
	b := make([]byte, gidEntryLen)
	copy(b, s.gids[i].GID[:])
	le.PutUint32(b[16:], uint32(i))
	le.PutUint32(b[20:], 1)
	if s.ib == nil {
		le.PutUint32(b[24:], 2)
	}
	le.PutUint32(b[28:], uint32(d.IfIndex))
	return b
}

func queryGIDEntry(k *call) error {
	if k.u32(0) != 1 || k.u32(2) != 0 {
		return unix.EINVAL
	}
	s, i := k.state(), k.u32(1)
	if i >= uint32(len(s.gids)) {
		return unix.EINVAL
	}
	if !s.gids[i].Valid {
		return unix.ENODATA
	}
	k.out(3, s.gidEntry(int(i), k.device()))
	return nil
}

func queryGIDTable(k *call) error {
	if k.u64(0) != gidEntryLen || k.u64(1) != 0 {
		return unix.EINVAL
	}
	s, room := k.state(), int(k.get(2).len)
	var b []byte
	n := uint64(0)
	for i, g := range s.gids {
		if g.Valid && len(b)+gidEntryLen <= room {
			b = append(b, s.gidEntry(i, k.device())...)
			n++
		}
	}
	k.out(2, b)
	k.out(3, le.AppendUint64(nil, n))
	return nil
}

// Device capabilities: current state in modify, port event, system image
// GUID, RNR NAK (enum ibv_device_cap_flags).
const deviceCaps = 1<<7 | 1<<10 | 1<<11 | 1<<12

// queryDevice makes struct ib_uverbs_ex_query_device_resp, whose first 176
// bytes are ib_uverbs_query_device_resp.
func (k *call) queryDevice() []byte {
	d := k.device().HCA
	cfg := d.Config()
	b := make([]byte, 304)
	le.PutUint64(b[0:], 1<<32) // firmware 1.0.0
	node, image := k.device().guids()
	binary.BigEndian.PutUint64(b[8:], node)
	binary.BigEndian.PutUint64(b[16:], image)
	le.PutUint64(b[24:], ^uint64(0)>>1) // largest region
	le.PutUint64(b[32:], 0xfffff000)    // page sizes
	u := func(off int, v int) { le.PutUint32(b[off:], uint32(v)) }
	u(40, 0xffffff) // vendor: not assigned
	u(52, cfg.MaxQP)
	u(56, hca.MaxQPWR)
	u(60, deviceCaps)
	u(64, hca.MaxSGE)
	u(68, hca.MaxSGE) // READ
	u(72, cfg.MaxCQ)
	u(76, hca.MaxCQE)
	u(80, cfg.MaxMR)
	u(84, cfg.MaxPD)
	u(88, hca.MaxRdAtomic)
	u(96, hca.MaxRdAtomic*cfg.MaxQP)
	u(100, hca.MaxRdAtomic)
	u(108, 1) // atomics among operations of the HCA
	u(132, hca.MaxGroups)
	u(136, hca.MaxPerGroup)
	u(140, hca.MaxAttached)
	u(144, cfg.MaxAH)
	u(156, cfg.MaxSRQ)
	u(160, hca.MaxQPWR)
	u(164, hca.MaxSGE)
	le.PutUint16(b[168:], uint16(len(k.state().pkeys)))
	b[170] = 15 // local ACK delay
	b[171] = 1  // ports
	u(180, len(b))
	return b
}

// gidText renders a GID as sysfs does.
func gidText(g hca.GID) string {
	s := ""
	for i := 0; i < 16; i += 2 {
		if i > 0 {
			s += ":"
		}
		s += fmt.Sprintf("%02x%02x", g[i], g[i+1])
	}
	return s
}

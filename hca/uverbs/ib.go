package uverbs

import (
	"fmt"
	"strconv"

	"cnuas/hca"
	"cnuas/internal/ibport"
	"cnuas/internal/wire/mad"
)

// ibState is what is asked of an InfiniBand port besides.
type ibState struct {
	info mad.PortInfo
	ctr  ibport.Counters
	desc string
	gids int // length of the GID table
}

// infiniBand tells whether the call is for a device with an InfiniBand port.
func (k *call) infiniBand() bool { return k.device().HCA.IB() != nil }

// guids are the GUIDs of the node and of the system that it is in.
func (d *Device) guids() (node, image uint64) {
	if ca := d.HCA.CA(); ca != nil {
		i := ca.Agent().Info()
		return uint64(i.NodeGUID), uint64(i.SystemImageGUID)
	}
	g := d.HCA.Config().GUID
	return g, g
}

// ibState must be called while the engine is held.
func (d *Device) ibState() *ibState {
	p, a := d.HCA.IB(), d.HCA.CA().Agent()
	return &ibState{info: p.Info(), ctr: a.PortCounters(d.HCA.PortNum()), desc: a.Description(), gids: min(len(p.GUIDs()), hca.MaxGIDs)}
}

// speedCode is a link's speed as struct ib_port_attr has it: a code of its own
// for each, where PortInfo has two fields.
func speedCode(i *mad.PortInfo) (code uint32, name string, tenths int) {
	for _, x := range []struct {
		bit    mad.LinkSpeedExt
		code   uint32
		name   string
		tenths int // Gb/s of a lane, as the kernel rounds it
	}{{mad.SpeedNDR, 128, "NDR", 1000}, {mad.SpeedHDR, 64, "HDR", 500}, {mad.SpeedEDR, 32, "EDR", 250}, {mad.SpeedFDR, 16, "FDR", 140}} {
		if i.LinkSpeedExtActive&x.bit != 0 {
			return x.code, x.name, x.tenths
		}
	}
	switch i.LinkSpeedActive {
	case mad.SpeedQDR:
		return 4, "QDR", 100
	case mad.SpeedDDR:
		return 2, "DDR", 50
	}
	return 1, "SDR", 25
}

// encode makes struct ib_uverbs_ex_query_port_resp.
func (s *ibState) encode(p *portState) []byte {
	i := &s.info
	speed, _, _ := speedCode(i)
	b := make([]byte, 48)
	le.PutUint32(b[0:], uint32(i.CapabilityMask))
	le.PutUint32(b[4:], hca.MaxMsgSize)
	le.PutUint32(b[8:], uint32(i.PKeyViolations))
	le.PutUint32(b[12:], uint32(i.QKeyViolations))
	le.PutUint32(b[16:], uint32(len(p.gids)))
	le.PutUint16(b[20:], uint16(len(p.pkeys)))
	le.PutUint16(b[22:], uint16(i.LID))
	le.PutUint16(b[24:], uint16(i.MasterSMLID))
	b[26], b[27], b[28], b[29] = byte(i.PortState), byte(i.MTUCap), p.mtu, i.LMC
	b[30], b[31], b[32], b[33] = byte(i.VLCap), i.MasterSMSL, byte(i.SubnetTimeOut), i.InitTypeReply
	b[34], b[35], b[36] = byte(i.LinkWidthActive), byte(speed), byte(i.PortPhysicalState)
	b[37] = 1 // InfiniBand
	le.PutUint16(b[40:], uint16(i.CapabilityMask2))
	le.PutUint32(b[44:], speed)
	return b
}

// Names of the states in sysfs (drivers/infiniband/core/sysfs.c).
var (
	stateNames = [...]string{"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"}
	physNames  = [...]string{"<unknown>", "Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery", "Phy Test"}
)

// sysfs adds the files of the port, whose directory is p.
func (s *ibState) sysfs(p string, port *portState, f *files) {
	i := &s.info
	_, name, tenths := speedCode(i)
	tenths *= i.LinkWidthActive.Lanes()
	half := ""
	if tenths%10 != 0 {
		half = ".5"
	}
	f.add(p+"state", fmt.Sprintf("%d: %s", i.PortState, stateNames[min(int(i.PortState), len(stateNames)-1)]))
	f.add(p+"phys_state", fmt.Sprintf("%d: %s", i.PortPhysicalState, physNames[min(int(i.PortPhysicalState), len(physNames)-1)]))
	f.add(p+"rate", fmt.Sprintf("%d%s Gb/sec (%dX %s)", tenths/10, half, i.LinkWidthActive.Lanes(), name))
	f.add(p+"lid", fmt.Sprintf("0x%x", uint16(i.LID)))
	f.add(p+"lid_mask_count", strconv.Itoa(int(i.LMC)))
	f.add(p+"sm_lid", fmt.Sprintf("0x%x", uint16(i.MasterSMLID)))
	f.add(p+"sm_sl", strconv.Itoa(int(i.MasterSMSL)))
	f.add(p+"cap_mask", fmt.Sprintf("0x%08x", uint32(i.CapabilityMask)))
	f.add(p+"link_layer", "InfiniBand")
	f.tables(p, port, "IB/RoCE v1", "")
	c := &s.ctr
	for _, x := range []struct {
		name string
		v    uint64
	}{
		{"symbol_error", c.SymbolErrors}, {"link_error_recovery", c.LinkErrorRecovery}, {"link_downed", c.LinkDowned},
		{"port_rcv_errors", c.RcvErrors}, {"port_rcv_remote_physical_errors", c.RcvRemotePhysical},
		{"port_rcv_switch_relay_errors", c.RcvSwitchRelay}, {"port_xmit_discards", c.XmitDiscards},
		{"port_xmit_constraint_errors", c.XmitConstraint}, {"port_rcv_constraint_errors", c.RcvConstraint},
		{"local_link_integrity_errors", c.LocalLinkIntegrity}, {"excessive_buffer_overrun_errors", c.ExcessiveOverruns},
		{"VL15_dropped", c.VL15Dropped}, {"port_xmit_data", c.XmitData}, {"port_rcv_data", c.RcvData},
		{"port_xmit_packets", c.XmitPkts}, {"port_rcv_packets", c.RcvPkts}, {"port_xmit_wait", c.XmitWait},
		{"unicast_xmit_packets", c.UnicastXmitPkts}, {"unicast_rcv_packets", c.UnicastRcvPkts},
		{"multicast_xmit_packets", c.MulticastXmitPkts}, {"multicast_rcv_packets", c.MulticastRcvPkts},
	} {
		f.add(p+"counters/"+x.name, strconv.FormatUint(x.v, 10))
	}
}

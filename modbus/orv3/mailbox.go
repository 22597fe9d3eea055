package orv3

import (
	"strings"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// mailbox is the firmware update of a module: unlocked, then in its boot
// loader, then block by block, verified, and out again. Registers and values
// are in assume/mailbox.csv.
type mailbox struct {
	unlocked bool
	state    boxState
	next     boxState // state takes its place at due
	due      sim.Time
	status   uint16 // shown in the boot loader once nothing is due
	blocks   uint32
}

type boxState uint8

const (
	running boxState = iota
	entering
	inBoot
	leaving
)

type mailboxTable struct {
	unlock, enter, status, verify, exit, block             uint16
	unlockKey, bootKey, verifyKey, exitKey                 uint16
	normal, boot, packetOK, wait, failed, success          uint16
	bootTime, packetTime, verifyTime, exitTime             sim.Time
	wordsPanasonic, wordsDelta, wordsTether, wordsPMM, max int
}

func readMailbox() (t mailboxTable) {
	v := map[string]int{}
	for _, r := range table("assume/mailbox.csv") {
		v[r.get("name")] = r.int("value")
	}
	g := func(n string) uint16 {
		x, ok := v[n]
		if !ok {
			panic("orv3: assume/mailbox.csv lacks " + n)
		}
		return uint16(x)
	}
	ms := func(n string) sim.Time { return sim.Time(g(n)) * sim.Millisecond }
	t = mailboxTable{unlock: g("unlock"), enter: g("enter_boot"), status: g("status"), verify: g("verify"), exit: g("exit_boot"), block: g("block"),
		unlockKey: g("unlock_key"), bootKey: g("boot_key"), verifyKey: g("verify_key"), exitKey: g("exit_key"),
		normal: g("normal"), boot: g("boot"), packetOK: g("packet_ok"), wait: g("wait"), failed: g("failed"), success: g("success"),
		bootTime: ms("boot_ms"), packetTime: ms("packet_ms"), verifyTime: ms("verify_ms"), exitTime: ms("exit_ms"),
		wordsPanasonic: int(g("block_words_panasonic")), wordsDelta: int(g("block_words_delta")),
		wordsTether: int(g("block_words_tether")), wordsPMM: int(g("block_words_pmm"))}
	t.max = max(t.wordsPanasonic, t.wordsDelta, t.wordsTether, t.wordsPMM)
	return t
}

// updatable are the roles that have a mailbox.
func (d *Device) updatable() bool {
	return d.role != RoleRPU && d.role != RoleValve
}

// blockWords is how much firmware one write carries.
func (d *Device) blockWords() int {
	t := &world().mailbox
	switch {
	case d.role == RoleTether:
		return t.wordsTether
	case d.role == RolePMM:
		return t.wordsPMM
	case strings.EqualFold(d.id.vendor, "Panasonic"):
		return t.wordsPanasonic
	}
	return t.wordsDelta
}

// pass lets what is due happen.
func (m *mailbox) pass(now sim.Time) {
	if m.due != 0 && now >= m.due {
		m.due = 0
		m.state = m.next
	}
}

// busy reports whether something is due.
func (m *mailbox) busy(now sim.Time) bool {
	m.pass(now)
	return m.due != 0
}

// down reports whether the module gives no power because of its boot loader.
func (m *mailbox) down(d *Device, now sim.Time) bool {
	m.pass(now)
	return m.state != running
}

func (m *mailbox) read(d *Device, now sim.Time, addr uint16) (uint16, bool) {
	t := &world().mailbox
	if !d.updatable() || addr < t.unlock || addr > t.exit {
		return 0, false
	}
	m.pass(now)
	if addr != t.status {
		return 0, true
	}
	switch {
	case m.due != 0:
		return t.wait, true
	case m.state == running:
		return t.normal, true
	}
	return m.status, true
}

func (m *mailbox) write(d *Device, now sim.Time, addr uint16, src []uint16) (rtu.Exception, bool) {
	t := &world().mailbox
	if !d.updatable() || addr < t.unlock || addr > t.exit && addr != t.block {
		return 0, false
	}
	if addr == t.status {
		return rtu.IllegalDataAddress, true
	}
	d.plant.change()
	m.pass(now)
	e := m.do(d, now, addr, src)
	if e == rtu.OK {
		d.plant.settle()
	}
	return e, true
}

func (m *mailbox) do(d *Device, now sim.Time, addr uint16, src []uint16) rtu.Exception {
	t := &world().mailbox
	if addr == t.block {
		switch {
		case len(src) != d.blockWords():
			return rtu.IllegalDataValue
		case m.state != inBoot:
			return rtu.ServerDeviceFailure
		case m.due != 0:
			return rtu.ServerDeviceBusy
		}
		m.blocks++
		m.wait(now, t.packetTime, inBoot, t.packetOK)
		return rtu.OK
	}
	var key uint16
	switch addr {
	case t.unlock:
		key = t.unlockKey
	case t.enter:
		key = t.bootKey
	case t.verify:
		key = t.verifyKey
	case t.exit:
		key = t.exitKey
	}
	switch {
	case len(src) != 1:
		return rtu.IllegalDataAddress
	case src[0] != key:
		return rtu.IllegalDataValue
	case m.due != 0:
		return rtu.ServerDeviceBusy
	}
	switch addr {
	case t.unlock:
		m.unlocked = true
	case t.enter:
		if !m.unlocked {
			return rtu.ServerDeviceFailure
		}
		m.blocks, m.state = 0, entering
		m.wait(now, t.bootTime, inBoot, t.boot)
		d.note(now, eventUpdate, uint32(entering))
	case t.verify:
		if m.state != inBoot {
			return rtu.ServerDeviceFailure
		}
		s := t.success
		if d.has(faultUpdate) || m.blocks == 0 {
			s = t.failed
		}
		m.wait(now, t.verifyTime, inBoot, s)
	case t.exit:
		if m.state != inBoot {
			return rtu.ServerDeviceFailure
		}
		m.state, m.unlocked = leaving, false
		m.wait(now, t.exitTime, running, t.normal)
		d.note(now, eventUpdate, uint32(leaving))
	}
	return rtu.OK
}

func (m *mailbox) wait(now, d sim.Time, s boxState, status uint16) {
	m.next, m.due, m.status = s, now+d, status
}

// WrongCRC reports whether the reply to a write at addr leaves the device with
// a wrong CRC: the quirk of some early boot loaders, as the fault
// "update_wrong_crc". Whoever runs the segment spoils it.
func (d *Device) WrongCRC(addr uint16) bool {
	return d.has(faultBadCRC) && addr == world().mailbox.block && d.mbox.state == inBoot
}

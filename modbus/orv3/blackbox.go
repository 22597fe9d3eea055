package orv3

import (
	"fmt"

	"cnuas/internal/sim"
	"cnuas/modbus/rtu"
)

// eventCode is what happened, in the black box.
type eventCode uint16

// Codes of the black box. The layout of its file is an assumption: none is
// public.
const (
	eventNone eventCode = iota
	eventMainsOn
	eventMainsOff // value: W given before
	eventOverTemp // value: C
	eventOverTempEnd
	eventOverload  // value: W wanted
	eventDischarge // value: W
	eventDischargeEnd
	eventCharge // value: W
	eventChargeEnd
	eventEmpty
	eventTimeUp // value: s
	eventFault  // value: number of the fault
	eventFaultEnd
	eventFlag // value: register << 16 | bit
	eventPlugged
	eventUnplugged
	eventBusUp
	eventBusDown
	eventRedundancyLost
	eventRedundancyBack
	eventUpdate // value: state of the mailbox
)

var eventNames = [...]string{"none", "mains on", "mains lost", "over-temperature", "over-temperature ended", "overload", "discharge", "discharge ended",
	"charge", "charge ended", "empty", "discharge time up", "fault", "fault ended", "flag set", "plugged", "unplugged", "busbar up", "busbar down",
	"redundancy lost", "redundancy restored", "firmware update"}

// String names the event.
func (c eventCode) String() string {
	if int(c) < len(eventNames) {
		return eventNames[c]
	}
	return "event"
}

// Event is one entry of a device's black box.
type Event struct {
	At    sim.Time
	Unix  int64  // by the device's clock
	Code  uint16 // of the file record
	Name  string // "mains lost"
	Value uint32

	Detail string // the value in words: "331 W", "fan_fault"
}

const (
	boxEvents = 64 // a ring: the oldest goes
	boxWords  = 8  // of one event
	boxHead   = 8
)

type blackBox struct {
	ring  [boxEvents]Event
	count uint32 // ever
}

func (d *Device) note(now sim.Time, code eventCode, value uint32) {
	b := &d.log
	b.ring[b.count%boxEvents] = Event{At: now, Unix: d.unix(now), Code: uint16(code), Name: code.String(), Value: value, Detail: d.detail(code, value)}
	b.count++
}

// detail tells what the value of an event says.
func (d *Device) detail(code eventCode, value uint32) string {
	switch code {
	case eventMainsOff, eventOverload, eventDischarge, eventCharge, eventBusUp, eventBusDown:
		return fmt.Sprintf("%d W", value)
	case eventRedundancyLost, eventRedundancyBack:
		return fmt.Sprintf("%d W to give", value)
	case eventOverTemp:
		return fmt.Sprintf("%d C", value)
	case eventDischargeEnd, eventChargeEnd, eventEmpty:
		return fmt.Sprintf("charge %d.%d %%", value/10, value%10)
	case eventTimeUp:
		return fmt.Sprintf("%d s", value)
	case eventFault, eventFaultEnd:
		if value < uint32(len(faultNames)) {
			return faultNames[value]
		}
	case eventFlag:
		if r := d.m.At(uint16(value >> 16)); r != nil {
			for _, f := range r.Flags {
				if uint16(f.Bit) == uint16(value) {
					return r.Name + "." + f.Name
				}
			}
		}
	case eventPlugged, eventUnplugged:
		return fmt.Sprintf("slot %d", value)
	case eventUpdate:
		return fmt.Sprintf("state 0x%X", value)
	}
	return ""
}

// note writes an event into the black boxes of a whole shelf.
func (s *shelf) note(now sim.Time, code eventCode, value uint32) {
	for _, d := range s.modules {
		d.note(now, code, value)
	}
	if s.pmm != nil {
		s.pmm.note(now, code, value)
	}
}

// Events returns the black box, oldest first.
func (d *Device) Events() []Event {
	b := &d.log
	n := min(b.count, boxEvents)
	l := make([]Event, 0, n)
	for i := b.count - n; i < b.count; i++ {
		l = append(l, b.ring[i%boxEvents])
	}
	return l
}

// boxFile is the file number of the black box.
const boxFile = 1

// ReadFile implements rtu.Files: file 1 is the black box. Words 0 to 7 are a
// head (magic, version, words of the head, words of an event, events in the
// file, events ever as 32 bits, 0); then come events, oldest first: Unix time
// (32 bits), ms of the device's up time (32 bits), code, value (32 bits), 0.
func (d *Device) ReadFile(now sim.Time, file, record uint16, dst []uint16) rtu.Exception {
	if file != boxFile || int(record)+len(dst) > boxHead+boxEvents*boxWords {
		return rtu.IllegalDataAddress
	}
	d.plant.advance(now)
	for i := range dst {
		dst[i] = d.log.word(d, int(record)+i)
	}
	return rtu.OK
}

func (b *blackBox) word(d *Device, i int) uint16 {
	n := min(b.count, boxEvents)
	if i < boxHead {
		return [boxHead]uint16{0x4242, 1, boxHead, boxWords, uint16(n), uint16(b.count >> 16), uint16(b.count), 0}[i]
	}
	k, j := uint32(i-boxHead)/boxWords, (i-boxHead)%boxWords
	if k >= n {
		return 0
	}
	e := &b.ring[(b.count-n+k)%boxEvents]
	ms := uint32((e.At - d.born) / sim.Millisecond)
	return [boxWords]uint16{uint16(e.Unix >> 16), uint16(e.Unix), uint16(ms >> 16), uint16(ms), e.Code, uint16(e.Value >> 16), uint16(e.Value), 0}[j]
}

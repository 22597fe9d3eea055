package hca

// qpTable finds queue pairs by number. The low bits of a number are the slot,
// the high ones are random, so that a late packet for a queue pair that is
// gone does not meet its successor.
type qpTable struct {
	slot []*QP
	free []uint16 // slots freed, the oldest first
	n    int
	max  int
}

const (
	qpSlotBits  = 16
	qpFirstSlot = 16 // numbers 0 and 1 are the management queue pairs
)

func (t *qpTable) init(max int) {
	if max > 1<<qpSlotBits-qpFirstSlot {
		max = 1<<qpSlotBits - qpFirstSlot
	}
	t.max = max
	t.slot = make([]*QP, qpFirstSlot)
}

func (t *qpTable) find(num uint32) *QP {
	i := num & (1<<qpSlotBits - 1)
	if int(i) >= len(t.slot) {
		return nil
	}
	if q := t.slot[i]; q != nil && q.num == num {
		return q
	}
	return nil
}

// insert gives q a number.
func (t *qpTable) insert(q *QP, random uint64) bool {
	if t.n >= t.max {
		return false
	}
	var i uint32
	// Slots are not used again at once, for the sake of late packets.
	if len(t.free) > 0 && (len(t.free) > 256 || len(t.slot) >= t.max+qpFirstSlot) {
		i = uint32(t.free[0])
		copy(t.free, t.free[1:])
		t.free = t.free[:len(t.free)-1]
	} else {
		i = uint32(len(t.slot))
		t.slot = append(t.slot, nil)
	}
	t.n++
	q.num = uint32(random&0xff)<<qpSlotBits | i
	t.slot[i] = q
	return true
}

func (t *qpTable) remove(q *QP) {
	i := q.num & (1<<qpSlotBits - 1)
	t.slot[i] = nil
	t.free = append(t.free, uint16(i))
	t.n--
}

// qpList is a list of queue pairs that want to send, linked through them.
type qpList struct{ head, tail *QP }

func (l *qpList) push(q *QP) {
	q.list, q.next, q.prev = l, nil, l.tail
	if l.tail == nil {
		l.head = q
	} else {
		l.tail.next = q
	}
	l.tail = q
}

func (l *qpList) remove(q *QP) {
	if q.prev == nil {
		l.head = q.next
	} else {
		q.prev.next = q.next
	}
	if q.next == nil {
		l.tail = q.prev
	} else {
		q.next.prev = q.prev
	}
	q.list, q.next, q.prev = nil, nil, nil
}

package rtu

// Bits of events in the log of function code 0C (V1.1b3, 6.10).
const (
	evReceive   byte = 0x80 // a request came
	evCommError byte = 0x02
	evOverrun   byte = 0x10
	evBroadcast byte = 0x40 // of a receive event

	evSend    byte = 0x40 // a request was done, answered or not
	evRead    byte = 0x01 // exception 1 to 3 sent
	evAbort   byte = 0x02 // exception 4
	evBusy    byte = 0x04 // exception 5 or 6
	evNAK     byte = 0x08 // exception 7
	evTimeout byte = 0x10

	evListenOnly byte = 0x20 // of both: listen only mode was on

	evEntered byte = 0x04 // listen only mode entered
	evRestart byte = 0x00 // communications restarted
)

// exceptionEvent is the bit of a send event for an exception.
func exceptionEvent(ex Exception) byte {
	switch {
	case ex <= IllegalDataValue:
		return evRead
	case ex == ServerDeviceFailure:
		return evAbort
	case ex <= ServerDeviceBusy:
		return evBusy
	case ex == NegativeAcknowledge:
		return evNAK
	}
	return 0
}

// maxEvents is how many events the log keeps and its reply holds.
const maxEvents = 64

// eventLog is a ring of the last events.
type eventLog struct {
	ring [maxEvents]byte
	next uint8 // where the next one goes
	n    uint8
}

func (l *eventLog) add(e byte) {
	l.ring[l.next] = e
	l.next = (l.next + 1) % maxEvents
	l.n = min(l.n+1, maxEvents)
}

// appendTo appends the events to b, the newest first.
func (l *eventLog) appendTo(b []byte) []byte {
	for i := uint8(1); i <= l.n; i++ {
		b = append(b, l.ring[(l.next+maxEvents-i)%maxEvents])
	}
	return b
}

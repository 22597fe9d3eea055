package mad

// RMPPReceiver puts one message together (IBTA vol. 1 §13.6.6.2). It has no
// clock: the caller ends a transaction that takes too long.
type RMPPReceiver struct {
	Header int // bytes of the class's header in every segment
	Window int // segments to permit ahead
	Max    int // bytes of the longest message to accept; 0: any

	data   []byte
	next   uint32
	window uint32
	ended  bool
}

// NewRMPPReceiver returns the receiver of a message.
func NewRMPPReceiver(header, window, maxBytes int) *RMPPReceiver {
	return &RMPPReceiver{Header: header, Window: max(1, window), Max: maxBytes, next: 1, window: 1}
}

// Receive takes a DATA packet: its header, and the payload that the segment can
// hold at most, behind the class's header. If reply.Type is not 0 a packet with
// that header is to be sent: ACK or ABORT. done tells that the message is
// complete.
func (r *RMPPReceiver) Receive(f RMPPFields, payload []byte) (reply RMPPFields, done bool) {
	if f.Type != RMPPData || f.Flags&RMPPActive == 0 {
		return RMPPFields{}, false
	}
	if r.ended { // the last ACK was lost
		return r.ack(), true
	}
	first, last := f.Flags&RMPPFirst != 0, f.Flags&RMPPLast != 0
	if first != (f.Data1 == 1) {
		return r.abort(RMPPBadFirst), false
	}
	if f.Data1 > r.window {
		return r.abort(RMPPSegmentTooBig), false
	}
	if f.Data1+1 < r.next { // repeated, as what follows it will be
		return RMPPFields{}, false
	}
	if f.Data1 != r.next { // lost, or the last of those repeated: say where we are
		return r.ack(), false
	}
	n := len(payload)
	if last {
		// PayloadLength is that of the segment; a first that is also the last
		// has the same value by either reading.
		want := int(f.Data2) - r.Header
		if f.Data2 != 0 && (want < 0 || want > n) {
			return r.abort(RMPPBadLastPayload), false
		}
		if f.Data2 != 0 {
			n = want
		}
	}
	if r.Max > 0 && len(r.data)+n > r.Max {
		r.ended = true
		return RMPPFields{Type: RMPPStop, Flags: RMPPActive, Status: RMPPNoResources}, false
	}
	r.data = append(r.data, payload[:n]...)
	r.next++
	if last {
		r.ended = true
		return r.ack(), true
	}
	if f.Data1 == r.window {
		r.window += uint32(r.Window)
		return r.ack(), false
	}
	return RMPPFields{}, false
}

// Data is the message so far.
func (r *RMPPReceiver) Data() []byte { return r.data }

// Release drops the data of a message that is complete; repeated segments are
// acknowledged as before.
func (r *RMPPReceiver) Release() { r.data = nil }

func (r *RMPPReceiver) ack() RMPPFields {
	return RMPPFields{Type: RMPPAck, Flags: RMPPActive, RespTime: RMPPNoRespTime, Data1: r.next - 1, Data2: max(r.window, r.next-1)}
}

func (r *RMPPReceiver) abort(st RMPPStatus) RMPPFields {
	r.ended = true
	return RMPPFields{Type: RMPPAbort, Flags: RMPPActive, Status: st}
}

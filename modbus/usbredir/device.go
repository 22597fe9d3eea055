package usbredir

// Device is a USB device of one configuration. Its methods are called one at a
// time, on the thread of Options.Do, and do not block. Slices that it gets are
// valid during the call.
type Device interface {
	// Descriptors do not change while the device is plugged in.
	Descriptors() *Descriptors
	// Reset puts the device into the state after power-up: the bus was reset,
	// the peer is another, or the plug was pulled. Transfers that it still has
	// are void; completing them does nothing.
	Reset()
	// Control serves a class or vendor request. For an IN request it returns the
	// data, which are cut to the length asked for; standard requests are the
	// session's.
	Control(s Setup, data []byte) (reply []byte, st Status)
	// Out takes the data of a bulk OUT transfer and completes it when it has
	// room for more.
	Out(t Transfer, data []byte)
	// In asks for up to t.Length bytes; the device completes the transfer when
	// it has something to say.
	In(t Transfer)
	// Cancel takes a transfer back: the device forgets it and does not complete
	// it.
	Cancel(t Transfer)
}

// Transfer is a bulk transfer that waits for its completion. Transfers can be
// compared.
type Transfer struct {
	s        *session
	id       uint64
	Endpoint uint8 // address
	Length   int   // bytes, of OUT the data, of IN how many may come
}

// Done completes the transfer, with data if it is IN. Data that nobody asked
// for turn the status into Babble. It is called on the thread of Options.Do and
// does nothing if the transfer is void.
func (t Transfer) Done(st Status, data []byte) {
	if t.s != nil {
		t.s.complete(t, st, data)
	}
}

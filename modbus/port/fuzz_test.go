package port

import (
	"bytes"
	"errors"
	"testing"

	"cnuas/modbus/rtu"
)

// FuzzScan: whatever comes in the place of a reply, scan stays within it, and a
// good reply behind frames of others is found.
func FuzzScan(f *testing.F) {
	req := rtu.AppendRead(nil, 7, rtu.ReadHoldingRegisters, 3, 1)
	good := rtu.AppendRequest(nil, 7, rtu.ReadHoldingRegisters, 2, 0, 3)
	other := rtu.AppendRequest(nil, 9, rtu.ReadHoldingRegisters, 2, 0, 3)
	for _, b := range [][]byte{nil, good, good[:4], other, append(bytes.Clone(other), good...), rtu.AppendRequest(nil, 7, 0x83, 2), req, {7, 0x2b, 14}, {7, 0x41, 1, 2}} {
		f.Add(req, b)
	}
	f.Fuzz(func(t *testing.T, req, b []byte) {
		if len(req) < rtu.MinADU {
			return
		}
		data, skip, err := scan(req, b)
		if skip < 0 || skip > len(b) || data != nil && err != nil {
			t.Fatalf("%x, %d of %d, %v", data, skip, len(b), err)
		}
		if data != nil {
			// The same reply, alone.
			again, _, err := scan(req, b[skip:])
			if err != nil || !bytes.Equal(again, data) {
				t.Errorf("%x, %v; with %d bytes before it %x", again, err, skip, data)
			}
			if _, _, err := rtu.ParseReply(req, b[skip:]); err != nil {
				t.Errorf("no reply: %v", err)
			}
		}
		if skip == 0 && err != nil && !errors.Is(err, rtu.ErrCRC) && !errors.As(err, new(*ExceptionError)) {
			t.Errorf("nothing skipped, and %v", err)
		}
	})
}

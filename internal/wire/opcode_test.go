package wire

import "testing"

// The lengths are written out, not computed, so that the table is held against
// IBTA vol. 1 table 38 and not against itself.
func TestOpcodes(t *testing.T) {
	tests := []struct {
		o       Opcode
		value   uint8
		len     int
		payload bool
		name    string
	}{
		{RCSendFirst, 0x00, 12, true, "RC SEND First"},
		{RCSendMiddle, 0x01, 12, true, "RC SEND Middle"},
		{RCSendLast, 0x02, 12, true, "RC SEND Last"},
		{RCSendLastImm, 0x03, 16, true, "RC SEND Last with Immediate"},
		{RCSendOnly, 0x04, 12, true, "RC SEND Only"},
		{RCSendOnlyImm, 0x05, 16, true, "RC SEND Only with Immediate"},
		{RCWriteFirst, 0x06, 28, true, "RC RDMA WRITE First"},
		{RCWriteMiddle, 0x07, 12, true, "RC RDMA WRITE Middle"},
		{RCWriteLast, 0x08, 12, true, "RC RDMA WRITE Last"},
		{RCWriteLastImm, 0x09, 16, true, "RC RDMA WRITE Last with Immediate"},
		{RCWriteOnly, 0x0a, 28, true, "RC RDMA WRITE Only"},
		{RCWriteOnlyImm, 0x0b, 32, true, "RC RDMA WRITE Only with Immediate"},
		{RCReadRequest, 0x0c, 28, false, "RC RDMA READ Request"},
		{RCReadRespFirst, 0x0d, 16, true, "RC RDMA READ response First"},
		{RCReadRespMiddle, 0x0e, 12, true, "RC RDMA READ response Middle"},
		{RCReadRespLast, 0x0f, 16, true, "RC RDMA READ response Last"},
		{RCReadRespOnly, 0x10, 16, true, "RC RDMA READ response Only"},
		{RCAcknowledge, 0x11, 16, false, "RC Acknowledge"},
		{RCAtomicAcknowledge, 0x12, 24, false, "RC ATOMIC Acknowledge"},
		{RCCompareSwap, 0x13, 40, false, "RC CmpSwap"},
		{RCFetchAdd, 0x14, 40, false, "RC FetchAdd"},
		{RCSendLastInv, 0x16, 16, true, "RC SEND Last with Invalidate"},
		{RCSendOnlyInv, 0x17, 16, true, "RC SEND Only with Invalidate"},
		{UCSendFirst, 0x20, 12, true, "UC SEND First"},
		{UCSendMiddle, 0x21, 12, true, "UC SEND Middle"},
		{UCSendLast, 0x22, 12, true, "UC SEND Last"},
		{UCSendLastImm, 0x23, 16, true, "UC SEND Last with Immediate"},
		{UCSendOnly, 0x24, 12, true, "UC SEND Only"},
		{UCSendOnlyImm, 0x25, 16, true, "UC SEND Only with Immediate"},
		{UCWriteFirst, 0x26, 28, true, "UC RDMA WRITE First"},
		{UCWriteMiddle, 0x27, 12, true, "UC RDMA WRITE Middle"},
		{UCWriteLast, 0x28, 12, true, "UC RDMA WRITE Last"},
		{UCWriteLastImm, 0x29, 16, true, "UC RDMA WRITE Last with Immediate"},
		{UCWriteOnly, 0x2a, 28, true, "UC RDMA WRITE Only"},
		{UCWriteOnlyImm, 0x2b, 32, true, "UC RDMA WRITE Only with Immediate"},
		{UDSendOnly, 0x64, 20, true, "UD SEND Only"},
		{UDSendOnlyImm, 0x65, 24, true, "UD SEND Only with Immediate"},
		{CN, 0x80, 12, false, "CN"},
		{CNP, 0x81, 28, false, "CNP"},
	}
	known := map[Opcode]bool{}
	for _, tt := range tests {
		known[tt.o] = true
		if uint8(tt.o) != tt.value || tt.o.HeaderLen() != tt.len || tt.o.String() != tt.name || (tt.o.Has()&ExtPayload != 0) != tt.payload {
			t.Errorf("%s: got %#x, %d bytes, %q, headers %b", tt.name, uint8(tt.o), tt.o.HeaderLen(), tt.o, tt.o.Has())
		}
		if tt.o != CNP && tt.o.Service()|tt.o.Operation() != tt.o {
			t.Errorf("%s: service %#x, operation %#x", tt.name, tt.o.Service(), tt.o.Operation())
		}
	}
	for i := range 256 {
		o := Opcode(i)
		if o.Known() != known[o] {
			t.Errorf("%#x: known %v", i, o.Known())
		}
	}
	if got := Opcode(0x15).String(); got != "opcode 0x15" {
		t.Errorf("reserved opcode: %q", got)
	}
}

func TestExtOffset(t *testing.T) {
	x := RCWriteOnlyImm.Has()
	if x.Offset(ExtRETH) != 0 || x.Offset(ExtImmDt) != 16 {
		t.Errorf("WRITE with immediate: RETH at %d, ImmDt at %d", x.Offset(ExtRETH), x.Offset(ExtImmDt))
	}
	x = RCAtomicAcknowledge.Has()
	if x.Offset(ExtAETH) != 0 || x.Offset(ExtAtomicAckETH) != 4 {
		t.Errorf("ATOMIC Acknowledge: AETH at %d, AtomicAckETH at %d", x.Offset(ExtAETH), x.Offset(ExtAtomicAckETH))
	}
}

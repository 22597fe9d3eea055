package rtu

// A layout is how long an ADU of one function code is.
type layout struct {
	fixed uint8 // bytes of the ADU without what the byte count counts; 0: no such layout
	count uint8 // index of the byte count; 0: none
}

// requests and replies are indexed by function code. What has another rule, 08,
// 18h and 2Bh, is in the functions below.
var requests = [64]layout{
	ReadCoils:              {fixed: 8},
	ReadDiscreteInputs:     {fixed: 8},
	ReadHoldingRegisters:   {fixed: 8},
	ReadInputRegisters:     {fixed: 8},
	WriteSingleCoil:        {fixed: 8},
	WriteSingleRegister:    {fixed: 8},
	ReadExceptionStatus:    {fixed: 4},
	Diagnostics:            {fixed: 8}, // 08/00 may carry more; then silence tells its end
	GetCommEventCounter:    {fixed: 4},
	GetCommEventLog:        {fixed: 4},
	WriteMultipleCoils:     {fixed: 9, count: 6},
	WriteMultipleRegisters: {fixed: 9, count: 6},
	ReportServerID:         {fixed: 4},
	ReadFileRecord:         {fixed: 5, count: 2},
	WriteFileRecord:        {fixed: 5, count: 2},
	MaskWriteRegister:      {fixed: 10},
	ReadWriteRegisters:     {fixed: 13, count: 10},
	ReadFIFOQueue:          {fixed: 6},
}

var replies = [64]layout{
	ReadCoils:              {fixed: 5, count: 2},
	ReadDiscreteInputs:     {fixed: 5, count: 2},
	ReadHoldingRegisters:   {fixed: 5, count: 2},
	ReadInputRegisters:     {fixed: 5, count: 2},
	WriteSingleCoil:        {fixed: 8},
	WriteSingleRegister:    {fixed: 8},
	ReadExceptionStatus:    {fixed: 5},
	Diagnostics:            {fixed: 8},
	GetCommEventCounter:    {fixed: 8},
	GetCommEventLog:        {fixed: 5, count: 2},
	WriteMultipleCoils:     {fixed: 8},
	WriteMultipleRegisters: {fixed: 8},
	ReportServerID:         {fixed: 5, count: 2},
	ReadFileRecord:         {fixed: 5, count: 2},
	WriteFileRecord:        {fixed: 5, count: 2},
	MaskWriteRegister:      {fixed: 10},
	ReadWriteRegisters:     {fixed: 5, count: 2},
}

// of applies the layout to the start of an ADU; results as of RequestLen.
func (l layout) of(b []byte) (int, bool) {
	switch {
	case l.fixed == 0:
		return 0, false
	case l.count == 0:
		return int(l.fixed), true
	case len(b) <= int(l.count):
		return int(l.count) + 1, false
	}
	n := int(l.fixed) + int(b[l.count])
	if n > MaxADU {
		return 0, false
	}
	return n, true
}

// RequestLen is how long the request ADU is that starts with b, with address
// and CRC. While ok is false, n is how many bytes there must be before it is
// worth to ask again, or 0: the bytes do not tell (an unknown function code, an
// impossible length), only silence does.
func RequestLen(b []byte) (n int, ok bool) {
	if len(b) < 2 {
		return 2, false
	}
	fc := b[1]
	switch {
	case fc == Encapsulated:
		if len(b) < 3 {
			return 3, false
		}
		if b[2] == MEIDeviceID {
			return 7, true
		}
		return 0, false
	case int(fc) >= len(requests):
		return 0, false
	}
	return requests[fc].of(b)
}

// ReplyLen is how long the reply ADU is that starts with b, exception responses
// included; results as of RequestLen. A client reads n bytes, asks again, and
// has the whole reply once ok is true and n bytes are there.
func ReplyLen(b []byte) (n int, ok bool) {
	if len(b) < 2 {
		return 2, false
	}
	fc := b[1]
	switch {
	case fc&ExceptionBit != 0:
		return 5, true
	case fc == Encapsulated:
		return deviceIDLen(b)
	case fc == ReadFIFOQueue:
		if len(b) < 4 {
			return 4, false
		}
		n := 6 + int(be16(b, 2))
		if n > MaxADU {
			return 0, false
		}
		return n, true
	case int(fc) >= len(replies):
		return 0, false
	}
	return replies[fc].of(b)
}

// deviceIDLen walks the objects of a reply to 2Bh/0Eh: address, function code,
// MEI type, code, conformity level, more follows, next object, number of
// objects; then id, length and value of each.
func deviceIDLen(b []byte) (int, bool) {
	if len(b) < 3 {
		return 3, false
	}
	if b[2] != MEIDeviceID {
		return 0, false
	}
	if len(b) < 8 {
		return 8, false
	}
	n := 8
	for range b[7] {
		if len(b) < n+2 {
			return n + 2, false
		}
		n += 2 + int(b[n+1])
		if n+2 > MaxADU {
			return 0, false
		}
	}
	return n + 2, true
}

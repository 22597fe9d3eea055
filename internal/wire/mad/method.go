package mad

import "fmt"

// Method of a MAD; bit 7 marks a response (IBTA vol. 1 §13.4.5).
type Method uint8

// Methods that classes share (IBTA vol. 1 §13.4.5).
const (
	MethodGet         Method = 0x01
	MethodSet         Method = 0x02
	MethodGetResp     Method = 0x81 // answers Get and Set
	MethodSend        Method = 0x03
	MethodTrap        Method = 0x05
	MethodReport      Method = 0x06
	MethodReportResp  Method = 0x86
	MethodTrapRepress Method = 0x07
)

// Methods of subnet administration (IBTA vol. 1 §15.2.2).
const (
	MethodGetTable          Method = 0x12
	MethodGetTableResp      Method = 0x92
	MethodGetTraceTable     Method = 0x13
	MethodGetTraceTableResp Method = 0x93
	MethodGetMulti          Method = 0x14
	MethodGetMultiResp      Method = 0x94
	MethodDelete            Method = 0x15
	MethodDeleteResp        Method = 0x95
)

// MethodResponse is the bit that marks a response.
const MethodResponse Method = 0x80

// IsResponse tells whether the MAD answers another. TrapRepress answers a Trap
// without carrying the bit (IBTA vol. 1 §13.4.9).
func (m Method) IsResponse() bool { return m&MethodResponse != 0 || m == MethodTrapRepress }

// Response is the method that answers m, 0 if none does.
func (m Method) Response() Method {
	switch m {
	case MethodGet, MethodSet:
		return MethodGetResp
	case MethodTrap:
		return MethodTrapRepress
	case MethodReport, MethodGetTable, MethodGetTraceTable, MethodGetMulti, MethodDelete:
		return m | MethodResponse
	}
	return 0
}

var methodNames = map[Method]string{
	MethodGet: "Get", MethodSet: "Set", MethodGetResp: "GetResp", MethodSend: "Send", MethodTrap: "Trap",
	MethodReport: "Report", MethodReportResp: "ReportResp", MethodTrapRepress: "TrapRepress",
	MethodGetTable: "GetTable", MethodGetTableResp: "GetTableResp",
	MethodGetTraceTable: "GetTraceTable", MethodGetTraceTableResp: "GetTraceTableResp",
	MethodGetMulti: "GetMulti", MethodGetMultiResp: "GetMultiResp",
	MethodDelete: "Delete", MethodDeleteResp: "DeleteResp",
}

// String names the method.
func (m Method) String() string {
	if s := methodNames[m]; s != "" {
		return s
	}
	return fmt.Sprintf("method %#02x", uint8(m))
}

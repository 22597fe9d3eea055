package mad

import (
	"fmt"
	"strings"
)

// Status of a MAD: the low byte is common, the high byte the class's own. In a
// directed-route SMP bit 15 is the direction and not part of it (IBTA vol. 1
// §13.4.7, §14.2.1.2).
type Status uint16

// Common status (IBTA vol. 1 §13.4.7). Busy and Redirect are bits, the others
// are a code in bits 2 to 4.
const (
	StatusOK            Status = 0
	StatusBusy          Status = 0x01
	StatusRedirect      Status = 0x02
	StatusBadVersion    Status = 0x04 // class or version not supported
	StatusBadMethod     Status = 0x08 // method not supported
	StatusBadMethodAttr Status = 0x0c // method and attribute together not supported
	StatusInvalidField  Status = 0x1c // a field of attribute or modifier is invalid
)

// Status of subnet administration (IBTA vol. 1 §15.4.1).
const (
	StatusSANoResources   Status = 0x0100
	StatusSAInvalid       Status = 0x0200 // request invalid
	StatusSANoRecords     Status = 0x0300
	StatusSATooMany       Status = 0x0400 // records for a Get
	StatusSABadGID        Status = 0x0500
	StatusSAInsufficient  Status = 0x0600 // components
	StatusSADenied        Status = 0x0700
	StatusSAPriorityHints Status = 0x0800
)

// Code is the code in bits 2 to 4.
func (s Status) Code() Status { return s & 0x1c }

// Class is the class's part.
func (s Status) Class() Status { return s & 0x7f00 }

var statusNames = map[Status]string{
	StatusBadVersion: "bad version", StatusBadMethod: "unsupported method",
	StatusBadMethodAttr: "unsupported method/attribute", StatusInvalidField: "invalid field",
	StatusSANoResources: "no resources", StatusSAInvalid: "request invalid", StatusSANoRecords: "no records",
	StatusSATooMany: "too many records", StatusSABadGID: "invalid GID", StatusSAInsufficient: "insufficient components",
	StatusSADenied: "request denied", StatusSAPriorityHints: "priority suggested",
}

// String lists what the status says; the class's part is read as that of SA.
func (s Status) String() string {
	if s&0x7fff == 0 {
		return "ok"
	}
	var l []string
	if s&StatusBusy != 0 {
		l = append(l, "busy")
	}
	if s&StatusRedirect != 0 {
		l = append(l, "redirect")
	}
	for _, x := range []Status{s.Code(), s.Class()} {
		if x == 0 {
			continue
		}
		if n := statusNames[x]; n != "" {
			l = append(l, n)
		} else {
			l = append(l, fmt.Sprintf("%#04x", uint16(x)))
		}
	}
	if len(l) == 0 {
		return fmt.Sprintf("%#04x", uint16(s))
	}
	return strings.Join(l, ", ")
}

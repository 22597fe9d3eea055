package mad

import "fmt"

// CMMessage says which message an MRA or REJ is about (IBTA vol. 1 §12.6.6,
// §12.6.7).
type CMMessage uint8

// Messages that are acknowledged or rejected.
const (
	CMMessageREQ   CMMessage = 0
	CMMessageREP   CMMessage = 1
	CMMessageOther CMMessage = 2 // MRA: LAP; REJ: no message
)

// RejectReason of a REJ (IBTA vol. 1 §12.6.7.2).
type RejectReason uint16

// Reasons of a REJ (IBTA vol. 1 §12.6.7.2, table of rejection reasons).
const (
	RejectNoQP                  RejectReason = 1
	RejectNoEE                  RejectReason = 2
	RejectNoResources           RejectReason = 3
	RejectTimeout               RejectReason = 4
	RejectUnsupported           RejectReason = 5
	RejectInvalidCommID         RejectReason = 6
	RejectInvalidCommInstance   RejectReason = 7
	RejectInvalidServiceID      RejectReason = 8
	RejectInvalidTransport      RejectReason = 9
	RejectStaleConnection       RejectReason = 10
	RejectRDCDoesNotExist       RejectReason = 11
	RejectPrimaryRemoteGID      RejectReason = 12
	RejectPrimaryRemoteLID      RejectReason = 13
	RejectInvalidPrimarySL      RejectReason = 14
	RejectInvalidTrafficClass   RejectReason = 15
	RejectInvalidHopLimit       RejectReason = 16
	RejectInvalidPacketRate     RejectReason = 17
	RejectAlternateRemoteGID    RejectReason = 18
	RejectAlternateRemoteLID    RejectReason = 19
	RejectAlternateSL           RejectReason = 20
	RejectAlternateTClass       RejectReason = 21
	RejectAlternateHopLimit     RejectReason = 22
	RejectAlternatePacketRate   RejectReason = 23
	RejectPortAndCMRedirect     RejectReason = 24
	RejectPortRedirect          RejectReason = 25
	RejectInvalidMTU            RejectReason = 26
	RejectInsufficientResponder RejectReason = 27
	RejectConsumer              RejectReason = 28
	RejectRNRRetryCount         RejectReason = 29
	RejectDuplicateLocalCommID  RejectReason = 30
	RejectInvalidClassVersion   RejectReason = 31
	RejectInvalidFlowLabel      RejectReason = 32
	RejectInvalidAltFlowLabel   RejectReason = 33
)

// String prints the number, and a name for the common ones.
func (r RejectReason) String() string {
	switch r {
	case RejectNoQP:
		return "no QP"
	case RejectTimeout:
		return "timeout"
	case RejectInvalidServiceID:
		return "invalid service ID"
	case RejectStaleConnection:
		return "stale connection"
	case RejectConsumer:
		return "consumer reject"
	}
	return fmt.Sprintf("reason %d", uint16(r))
}

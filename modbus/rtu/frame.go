package rtu

import (
	"fmt"

	"cnuas/internal/sim"
)

// FrameKind is what a Framer takes a piece of the wire's stream for.
type FrameKind uint8

// Kinds of frames.
const (
	Noise   FrameKind = iota // no ADU: see Frame.Bad
	Request                  // from a master to Frame.ADU[0]
	Reply                    // of the slave Frame.ADU[0]
)

// String names the kind as captures and the command line do.
func (k FrameKind) String() string {
	switch k {
	case Noise:
		return "noise"
	case Request:
		return "request"
	case Reply:
		return "reply"
	}
	return fmt.Sprintf("frame kind %d", uint8(k))
}

// Bad is why characters are no frame.
type Bad uint8

// Reasons.
const (
	Good     Bad = iota
	BadCRC       // a frame by its length, with a wrong CRC; or of no known function code
	BadShort     // ended by silence before it was whole
	BadChar      // characters with parity or framing errors, or a break
	BadOver      // characters were lost (overrun)
)

// String says the reason in words.
func (b Bad) String() string {
	switch b {
	case Good:
		return "good"
	case BadCRC:
		return "wrong CRC"
	case BadShort:
		return "short"
	case BadChar:
		return "character error"
	case BadOver:
		return "overrun"
	}
	return fmt.Sprintf("bad %d", uint8(b))
}

// Frame is what a Framer cut from the stream.
type Frame struct {
	Kind  FrameKind
	Bad   Bad       // of Noise: why it is no ADU
	Err   LineError // of Noise: all errors of its characters
	Start sim.Time  // first edge of its first start bit
	End   sim.Time  // end of its last stop bit
	// ADU holds its bytes, with address and CRC, or those of the noise: at most
	// 512. It is valid until the handler returns.
	ADU []byte
}

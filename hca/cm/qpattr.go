package cm

import "cnuas/hca"

// rnrTimer is the code of 0.64 ms. Linux has 0, which means 655 ms.
const rnrTimer = 12

// QPAttr are the attributes with which a queue pair of the connection goes to a
// state, and which of them count (IBTA vol. 1 §12.9.7, §11.2.5.2). ErrState:
// they are not known yet.
func (c *Conn) QPAttr(to hca.QPState) (a hca.QPAttr, mask hca.AttrMask, err error) {
	ready := false // the peer's side is known
	switch c.state {
	case REQReceived, REPSent, REPWait, REPReceived, Established:
		ready = true
	case REQSent, REQWait:
	default:
		return a, 0, hca.ErrState
	}
	if to != hca.Init && !ready {
		return a, 0, hca.ErrState
	}
	a.State, mask = to, hca.AttrState
	switch to {
	case hca.Init:
		a.Access, a.PKeyIndex, a.Port = hca.AccessRemoteWrite, c.path.PKeyIndex, 1 // each port is a device of its own
		if c.responderResources > 0 {
			a.Access |= hca.AccessRemoteRead | hca.AccessRemoteAtomic
		}
		mask |= hca.AttrAccessFlags | hca.AttrPKeyIndex | hca.AttrPort
	case hca.RTR:
		a.AV, a.PathMTU, a.DestQPN, a.RQPSN = c.path.Vector(), uint8(c.path.MTU), c.remoteQPN, c.psn
		mask |= hca.AttrAV | hca.AttrPathMTU | hca.AttrDestQPN | hca.AttrRQPSN
		if c.typ == hca.RC {
			a.MaxDestRdAtomic, a.MinRNRTimer = c.responderResources, rnrTimer
			mask |= hca.AttrMaxDestRdAtomic | hca.AttrMinRNRTimer
		}
	case hca.RTS:
		a.SQPSN = c.peerPSN
		mask |= hca.AttrSQPSN
		if c.typ == hca.RC {
			a.Timeout, a.RetryCnt, a.RNRRetry, a.MaxRdAtomic = uint8(c.ackTimeout), c.retryCount, c.rnrRetry, c.initiatorDepth
			mask |= hca.AttrTimeout | hca.AttrRetryCnt | hca.AttrRNRRetry | hca.AttrMaxRdAtomic
		}
	default:
		return a, 0, hca.ErrInvalid
	}
	return a, mask, nil
}

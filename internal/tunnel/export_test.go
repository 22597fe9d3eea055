package tunnel

// SetSeq makes the next datagram have the sequence number n.
func (x *End) SetSeq(n uint32) { x.tx = n }

// Seq is the sequence number of the next datagram.
func (x *End) Seq() uint32 { return x.tx }

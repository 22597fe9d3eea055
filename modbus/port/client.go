package port

import (
	"errors"
	"fmt"
	"time"

	"cnuas/modbus/rtu"
)

// Client makes transactions on a port.
type Client struct {
	Port *Port

	// Timeout is how long a slave may take from the end of the request to the
	// first character of its reply; 0 for 300 ms.
	Timeout time.Duration
	// Retries after no reply, a wrong one or "busy"; 0 for none.
	Retries int
	// Echo: the transceiver hears what it sends. The echo is taken off.
	Echo bool

	// Counters over all transactions.
	Requests, Replies, Timeouts, Bad, Exceptions, Retried uint64

	last  time.Time // when the line was last known to carry something
	dirty bool      // there may be bytes of an earlier transaction to come
	buf   [4 * rtu.MaxADU]byte
}

// ExceptionError is the answer of a slave that refuses.
type ExceptionError struct {
	Address, Function uint8
	Code              rtu.Exception
}

// Error names the exception as the standard does.
func (e *ExceptionError) Error() string {
	return fmt.Sprintf("slave %d refuses function %02Xh: %v", e.Address, e.Function, e.Code)
}

const (
	defaultTimeout = 300 * time.Millisecond
	// turnaround is what a master waits after a broadcast (V1.02, 2.4.1: 100 to
	// 200 ms).
	turnaround = 100 * time.Millisecond
	// gap is how long bytes of one reply may be apart: adapters and schedulers
	// stretch what is continuous on the wire.
	gap = 50 * time.Millisecond
)

// Do sends a request ADU, made by one of rtu's Append functions, and returns
// the data of the reply, as rtu.ParseReply does. A
// broadcast returns nothing after its turnaround delay. Errors are an
// *ExceptionError, ErrTimeout, ErrHangup, ErrNoise or
// those of rtu.ParseReply.
func (c *Client) Do(req []byte) ([]byte, error) {
	for try := 0; ; try++ {
		data, err := c.once(req)
		if err == nil || try >= c.Retries || errors.Is(err, ErrHangup) {
			return data, err
		}
		var ex *ExceptionError
		if errors.As(err, &ex) && ex.Code != rtu.ServerDeviceBusy && ex.Code != rtu.Acknowledge {
			return nil, err
		}
		c.Retried++
	}
}

func (c *Client) once(req []byte) ([]byte, error) {
	if len(req) < rtu.MinADU {
		return nil, fmt.Errorf("port: a request of %d bytes is none", len(req))
	}
	if c.dirty {
		if err := c.Port.Drain(200 * time.Millisecond); err != nil {
			return nil, err
		}
		c.dirty = false
	}
	time.Sleep(time.Until(c.last.Add(time.Duration(c.Port.line.T35().Nanoseconds()))))
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	wire := time.Duration(c.Port.line.CharTime().Nanoseconds()) * time.Duration(len(req))
	deadline := time.Now().Add(wire + timeout)
	if err := c.Port.Write(req, deadline); err != nil {
		return nil, err
	}
	c.Requests++
	if req[0] == rtu.Broadcast {
		c.last = time.Now().Add(wire)
		time.Sleep(wire + turnaround)
		c.dirty = c.Echo
		return nil, nil
	}
	data, err := c.reply(req, deadline)
	c.last = time.Now()
	var ex *ExceptionError
	switch {
	case err == nil:
		c.Replies++
		return data, nil
	case errors.As(err, &ex):
		c.Replies++
		c.Exceptions++
		return nil, err
	case errors.Is(err, ErrTimeout):
		c.Timeouts++
	default:
		c.Bad++
	}
	c.dirty = true
	return nil, err
}

// reply reads until there is the reply to req. What is not, the answer of
// another slave or a late one, is skipped as long as there is time.
func (c *Client) reply(req []byte, deadline time.Time) ([]byte, error) {
	b, echo := c.buf[:0], 0
	if c.Echo {
		echo = len(req)
	}
	var bad error
	// Frames of others may come for ever.
	last := deadline.Add(time.Duration(c.Port.line.CharTime().Nanoseconds())*rtu.MaxADU + 10*gap)
	for {
		n, err := c.Port.Read(c.buf[len(b):], deadline)
		if err != nil {
			if errors.Is(err, ErrTimeout) && bad != nil {
				return nil, bad
			}
			if errors.Is(err, ErrTimeout) && len(b) > 0 {
				_, _, bad = rtu.ParseReply(req, b)
				return nil, fmt.Errorf("%w (%d bytes came)", bad, len(b))
			}
			return nil, err
		}
		b = c.buf[:len(b)+n]
		if end := time.Now().Add(gap); end.After(deadline) && end.Before(last) {
			deadline = end
		}
		if echo > 0 {
			if len(b) < echo {
				continue
			}
			if string(b[:echo]) != string(req) {
				return nil, fmt.Errorf("%w: the echo of the request is % x instead of % x: a collision, or a transceiver without echo", ErrNoise, b[:echo], req)
			}
			b = c.buf[:copy(c.buf[:], b[echo:])]
			echo = 0
		}
		data, skip, err := scan(req, b)
		switch {
		case err == nil && data != nil:
			return data, nil
		case errors.Is(err, rtu.ErrCRC) || errors.As(err, new(*ExceptionError)):
			return nil, err
		case err != nil:
			bad = err
		}
		b = c.buf[:copy(c.buf[:], b[skip:])]
		if len(b) == len(c.buf) {
			return nil, fmt.Errorf("%w: %d bytes and no reply in them", ErrNoise, len(b))
		}
	}
}

// scan looks for the reply to req in what has come. It returns its data, not
// nil; or an error and how many bytes are those of somebody else; or neither:
// more must come.
func scan(req, b []byte) (data []byte, skip int, err error) {
	for skip < len(b) {
		n, ok := rtu.ReplyLen(b[skip:])
		if !ok && n > 0 || ok && len(b)-skip < n {
			break
		}
		if !ok {
			n = len(b) - skip // nothing tells where it ends
		}
		data, ex, e := rtu.ParseReply(req, b[skip:])
		switch {
		case e == nil && ex != rtu.OK:
			return nil, skip, &ExceptionError{Address: req[0], Function: req[1], Code: ex}
		case e == nil:
			return append([]byte{}, data...), skip, nil
		case errors.Is(e, rtu.ErrCRC):
			return nil, skip, e
		}
		err = e
		skip += n
	}
	return nil, skip, err
}

// ReadRegisters reads n holding registers, 1 to 125, from reg on.
func (c *Client) ReadRegisters(addr uint8, reg, n uint16) ([]uint16, error) {
	var req [8]byte
	data, err := c.Do(rtu.AppendRead(req[:0], addr, rtu.ReadHoldingRegisters, reg, n))
	if err != nil {
		return nil, err
	}
	w := make([]uint16, len(data)/2)
	for i := range w {
		w[i] = uint16(data[2*i])<<8 | uint16(data[2*i+1])
	}
	return w, nil
}

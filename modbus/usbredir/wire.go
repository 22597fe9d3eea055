package usbredir

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var le = binary.LittleEndian

// Message is one packet of the protocol.
type Message struct {
	Type Type
	ID   uint64 // of a request, and of its answer; 0 in what nobody asked for
	Body []byte // what follows the header
}

// ErrProtocol is wrapped by what a peer sent that the protocol does not have.
var ErrProtocol = errors.New("usbredir: protocol violation")

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrProtocol, fmt.Sprintf(format, args...))
}

// AppendMessage appends a message as it goes over the wire. wide: ids have 64
// bits, which is so once both sides have said Cap64BitIDs.
func AppendMessage(b []byte, m Message, wide bool) []byte {
	b = le.AppendUint32(b, uint32(m.Type))
	b = le.AppendUint32(b, uint32(len(m.Body)))
	if wide {
		b = le.AppendUint64(b, m.ID)
	} else {
		b = le.AppendUint32(b, uint32(m.ID))
	}
	return append(b, m.Body...)
}

// Reader reads messages from a stream.
type Reader struct {
	r    io.Reader
	wide bool
	head [16]byte
	body []byte
}

// NewReader reads from r, ids with 32 bits at first.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// Wide makes the ids of all further messages 64 bits wide.
func (r *Reader) Wide() { r.wide = true }

// Next reads a message. Its body is valid until the next call. The error is
// io.EOF at the end of the stream between two messages; ErrProtocol after a
// length that no message has, from where the stream cannot be followed.
func (r *Reader) Next() (Message, error) {
	head := r.head[:12]
	if r.wide {
		head = r.head[:16]
	}
	if _, err := io.ReadFull(r.r, head); err != nil {
		return Message{}, err
	}
	m := Message{Type: Type(le.Uint32(head)), ID: uint64(le.Uint32(head[8:]))}
	if r.wide {
		m.ID = le.Uint64(head[8:])
	}
	n := le.Uint32(head[4:])
	limit := uint32(maxLength)
	if m.Type == Hello {
		limit = maxHello
	}
	if n > limit {
		return Message{}, violation("a message of type %d with %d bytes, at most %d are possible", m.Type, n, limit)
	}
	if int(n) > cap(r.body) {
		r.body = make([]byte, max(n, 4096))
	}
	m.Body = r.body[:n]
	if _, err := io.ReadFull(r.r, m.Body); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Message{}, err
	}
	return m, nil
}

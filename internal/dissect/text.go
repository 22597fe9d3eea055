package dissect

import (
	"bufio"
	"fmt"
	"io"

	"cnuas/internal/capture"
	"cnuas/internal/link"
)

// Text is a capture.Sink that prints a line per frame.
type Text struct {
	w     *bufio.Writer
	ports []string
	width int
}

var _ capture.Sink = (*Text)(nil)

// NewText returns a sink that prints to w.
func NewText(w io.Writer) *Text { return &Text{w: bufio.NewWriter(w)} }

// Start implements capture.Sink.
func (t *Text) Start(capture.Header) error { return nil }

// Port implements capture.Sink.
func (t *Text) Port(_ int, name string, _ capture.LinkType) error {
	t.ports = append(t.ports, name)
	t.width = max(t.width, len(name))
	return nil
}

// Packet implements capture.Sink.
func (t *Text) Packet(r capture.Record) error {
	dir := "rx"
	if r.Dir == link.Tx {
		dir = "tx"
	}
	line := Line
	if r.Link == capture.InfiniBand {
		line = LineIB
	}
	us := float64(r.Time.Nanoseconds()) / 1000
	if _, err := fmt.Fprintf(t.w, "%14.3fus %-*s %s %s", us, t.width, t.ports[r.Port], dir, line(r.Data, r.OrigLen)); err != nil {
		return err
	}
	if r.Comment != "" {
		fmt.Fprintf(t.w, " # %s", r.Comment)
	}
	return t.w.WriteByte('\n')
}

// Stats implements capture.Sink.
func (t *Text) Stats(s capture.Stats) error {
	_, err := fmt.Fprintf(t.w, "%s: %d frames, %d of them lost\n", t.ports[s.Port], s.Received, s.Lost)
	return err
}

// Flush implements capture.Sink.
func (t *Text) Flush() error { return t.w.Flush() }

package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"cnuas/internal/capture"
	"cnuas/internal/daemon"
	"cnuas/internal/dissect"
	"cnuas/internal/link"
	"cnuas/internal/wire"
)

// show prints what passes ports, a line a frame.
func (a *app) show(args []string) error {
	fs := flag.NewFlagSet("show", flag.ContinueOnError)
	fabric := fs.String("fabric", "", "name of the fabric, if several are up")
	count := fs.Uint64("c", 0, "stop after this many frames; 0 goes on until interrupted")
	limit := fs.Duration("duration", 0, "stop after this time, such as 10s; 0 goes on until interrupted")
	flow := fs.Bool("flow", false, "InfiniBand: flow control packets too")
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	ports, filter := splitPorts(pos)
	if len(ports) == 0 {
		return usageError("name at least one port, such as s1:1 or h1:ib0; cnuas status lists them")
	}
	c, err := captureConn(*fabric, daemon.CaptureArgs{Ports: ports, Filter: filter})
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *limit)
		defer cancel()
	}
	fmt.Fprintf(a.err, "showing what passes %s, until interrupted\n", strings.Join(ports, " "))
	return a.printFrames(ctx, c, &lines{w: bufio.NewWriter(a.out), left: *count, bounded: *count > 0, flow: *flow})
}

func (a *app) printFrames(ctx context.Context, c *net.UnixConn, l *lines) error {
	ctx, l.stop = context.WithCancel(ctx)
	defer l.stop()
	go func() {
		<-ctx.Done()
		c.CloseWrite()
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
	}()
	err := capture.Decode(c, l)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		err = nil // the reader has seen enough
	}
	return err
}

// lines is a capture.Sink that prints.
type lines struct {
	w       *bufio.Writer
	names   []string
	bounded bool
	left    uint64
	flow    bool
	stop    func()
}

// Start implements capture.Sink.
func (l *lines) Start(capture.Header) error { return nil }

// Port implements capture.Sink.
func (l *lines) Port(n int, name string, _ capture.LinkType) error {
	for len(l.names) <= n {
		l.names = append(l.names, "")
	}
	l.names[n] = name
	return nil
}

// Packet implements capture.Sink.
func (l *lines) Packet(r capture.Record) error {
	text := ""
	if r.Link == capture.InfiniBand {
		if r.OrigLen == wire.FlowLen && !l.flow {
			return nil
		}
		text = dissect.LineIB(r.Data, r.OrigLen)
	} else {
		text = dissect.Line(r.Data, r.OrigLen)
	}
	if l.bounded {
		if l.left == 0 {
			return nil // was under way when the end was asked for
		}
		if l.left--; l.left == 0 {
			defer l.stop()
		}
	}
	dir := "out"
	if r.Dir == link.Rx {
		dir = "in "
	}
	name := ""
	if r.Port < len(l.names) {
		name = l.names[r.Port]
	}
	if r.Comment != "" {
		text += " (" + r.Comment + ")"
	}
	_, err := fmt.Fprintf(l.w, "%.9f %s %s %s\n", r.Time.Seconds(), name, dir, text)
	if err != nil {
		return err
	}
	return l.w.Flush()
}

// Stats implements capture.Sink.
func (l *lines) Stats(capture.Stats) error { return nil }

// Flush implements capture.Sink.
func (l *lines) Flush() error { return l.w.Flush() }

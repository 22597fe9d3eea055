package cli

import (
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
	"cnuas/internal/control"
	"cnuas/internal/daemon"
)

func (a *app) capture(args []string) error {
	fs := flag.NewFlagSet("capture", flag.ContinueOnError)
	fabric := fs.String("fabric", "", "name of the fabric, if several are up")
	file := fs.String("w", "", "file to write, pcapng; - is standard output")
	snap := fs.Int("s", 0, "bytes to keep of each frame; 0 keeps all")
	count := fs.Uint64("c", 0, "stop after this many frames; 0 goes on until interrupted")
	limit := fs.Duration("duration", 0, "stop after this time, such as 10s; 0 goes on until interrupted")
	pos, err := a.parse(fs, args)
	if err != nil {
		return err
	}
	ports, filter := splitPorts(pos)
	if len(ports) == 0 {
		return usageError("name at least one port, such as s1:1 or h1:eth0; cnuas status lists them")
	}
	if *limit < 0 {
		return usageError("--duration %v: use a time above 0, such as 10s", *limit)
	}
	if *file == "" {
		return usageError("say where to write with -w FILE, or -w - for standard output")
	}
	c, err := captureConn(*fabric, daemon.CaptureArgs{Ports: ports, Filter: filter, SnapLen: *snap})
	if err != nil {
		return err
	}
	defer c.Close()
	return a.record(c, "at "+strings.Join(ports, " "), *file, *limit, *count)
}

// record writes the stream that comes over c to a file, "-" for standard
// output, until it is interrupted, for the time limit or for count frames if
// these are not 0.
func (a *app) record(c *net.UnixConn, where, file string, limit time.Duration, count uint64) error {
	out := io.Writer(os.Stdout)
	if file != "-" {
		f, err := os.Create(file)
		if err != nil {
			return fmt.Errorf("capture: %w", err)
		}
		defer f.Close()
		out = f
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	fmt.Fprintf(a.err, "capturing %s, until interrupted\n", where)
	return a.receive(ctx, c, out, count)
}

// captureConn asks the daemon for the stream.
func captureConn(fabric string, args daemon.CaptureArgs) (*net.UnixConn, error) {
	c, err := dialPort(fabric, args.Ports[0])
	if err != nil {
		return nil, err
	}
	if err := control.Call(c, daemon.OpCapture, args, nil); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// limited stops the stream after a number of frames.
type limited struct {
	*capture.PcapNG
	left uint64
	stop func()
}

func (l *limited) Packet(r capture.Record) error {
	if l.left == 0 {
		return nil // frames that were under way when the end was asked for
	}
	if l.left--; l.left == 0 {
		l.stop()
	}
	return l.PcapNG.Packet(r)
}

// receive writes the stream to w. When ctx ends it half-closes the connection,
// on which the daemon sends what is left and the statistics.
func (a *app) receive(ctx context.Context, c *net.UnixConn, w io.Writer, count uint64) error {
	ng := capture.NewPcapNG(w)
	var sink capture.Sink = ng
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if count > 0 {
		sink = &limited{ng, count, cancel}
	}
	go func() {
		<-ctx.Done()
		c.CloseWrite()
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
	}()
	err := capture.Decode(c, sink)
	if errors.Is(err, syscall.EPIPE) {
		err = nil // the reader of standard output has seen enough
	}
	got, lost := ng.Counts()
	if count > 0 {
		got = min(got, count) // more were under way when the end was asked for
	}
	fmt.Fprintf(a.err, "%d frames captured, %d lost between engine and writer\n", got, lost)
	return err
}

// splitPorts takes the leading arguments that look like ports; the rest is a
// filter in the language of tcpdump.
func splitPorts(pos []string) (ports []string, filter string) {
	i := 0
	for i < len(pos) {
		dev, port, ok := strings.Cut(pos[i], ":")
		if !ok || dev == "" || port == "" || strings.ContainsAny(pos[i], " \t") {
			break
		}
		i++
	}
	return pos[:i], strings.Join(pos[i:], " ")
}

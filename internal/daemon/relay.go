package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"cnuas/internal/control"
	"cnuas/internal/host"
	"cnuas/internal/status"
	"cnuas/internal/vm/agent"
)

// OpAgent gives a stream of package agent to the lab VM that the fabric runs
// in.
const OpAgent = "agent"

// register binds the operations of a fabric in a VM. What is not about the VM
// itself is for the daemon inside.
func (l *lab) register(s *control.Server) {
	open := func(json.RawMessage) (any, error) {
		st, err := l.vm.Open()
		if err != nil {
			return nil, err
		}
		return &control.Takeover{Data: ExecReply{VM: true, SelfContained: l.vmCfg.SelfContained}, Run: func(c *net.UnixConn) { splice(c, st) }}, nil
	}
	s.Handle(OpAgent, open)
	s.Handle(OpExec, open) // the command line runs cnuas exec over the stream
	s.Handle(OpStatus, func(json.RawMessage) (any, error) { return l.status(OpStatus) })
	s.Handle(OpDown, func(json.RawMessage) (any, error) {
		st, err := l.status(OpDown)
		if err != nil { // the daemon inside is dead; the VM ends all the same
			st = &status.Fabric{Name: l.cfg.Spec.Name}
			st.Verdict.Reasons = []string{err.Error()}
		}
		return &control.Takeover{Data: st, Run: func(*net.UnixConn) { l.cancel() }}, nil
	})
	s.Relay(l.relay)
}

// inside connects to the control socket of the daemon in the VM.
func (l *lab) inside() (stream, error) {
	st, err := l.vm.Open()
	if err != nil {
		return nil, err
	}
	if err := agent.Dial(st, filepath.Join(host.DefaultRunDir, l.cfg.Spec.Name, socketName)); err != nil {
		st.Close()
		return nil, fmt.Errorf("fabric %s in the lab VM: %w", l.cfg.Spec.Name, err)
	}
	return st, nil
}

// status asks the daemon inside for its status, by OpStatus or OpDown.
func (l *lab) status(op string) (*status.Fabric, error) {
	st, err := l.inside()
	if err != nil {
		return nil, err
	}
	defer st.Close()
	if err := control.Send(st, control.Request{Op: op}); err != nil {
		return nil, err
	}
	var r struct {
		Error string
		Data  status.Fabric
	}
	if err := json.NewDecoder(st).Decode(&r); err != nil {
		return nil, fmt.Errorf("fabric %s in the lab VM: %w", l.cfg.Spec.Name, err)
	}
	if r.Error != "" {
		return nil, fmt.Errorf("%s", r.Error)
	}
	s := &r.Data
	s.PID, s.File = os.Getpid(), l.cfg.Spec.File
	s.VM = &status.VM{Kernel: l.vmCfg.Kernel.Release, Accelerator: l.vm.Accelerator()}
	return s, nil
}

// relay passes a request on, and then the connection.
func (l *lab) relay(req control.Request, c *net.UnixConn) {
	st, err := l.inside()
	if err == nil {
		err = control.Send(st, req)
	}
	if err != nil {
		control.Refuse(c, err)
		return
	}
	splice(c, st)
}

// stream is a connection with a half-close.
type stream interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// splice joins two connections until both directions have ended, either
// connection has failed, or the client of a has closed it altogether.
func splice(a *net.UnixConn, b stream) {
	defer onHangup(a, func() { b.Close() })()
	end := make(chan struct{}, 2)
	pipe := func(to, from stream) {
		if _, err := io.Copy(to, from); err != nil {
			to.Close()
			from.Close()
		} else {
			to.CloseWrite()
		}
		end <- struct{}{}
	}
	go pipe(a, b)
	go pipe(b, a)
	<-end
	<-end
	b.Close()
}

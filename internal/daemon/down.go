package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"cnuas/internal/control"
	"cnuas/internal/host"
	"cnuas/internal/status"
	"cnuas/internal/topology"
)

// downTimeout is how long a daemon may take to end after it was asked.
const downTimeout = 15 * time.Second

// Down takes a fabric down: by its daemon, or, where the daemon is dead, by
// removing what it left. With all every fabric of the machine; without a name
// the only one. It returns a line for each thing done.
func Down(name string, all bool) ([]string, error) {
	fs, err := host.Fabrics()
	if err != nil {
		return nil, err
	}
	var targets []host.Fabric
	var names []string
	for _, f := range fs {
		names = append(names, f.Name)
		if all || f.Name == name {
			targets = append(targets, f)
		}
	}
	switch {
	case len(targets) > 0:
	case all:
		return []string{"nothing is up"}, nil
	case name != "":
		return nil, fmt.Errorf("fabric %s is not up%s", name, also(names))
	case len(fs) == 1:
		targets = fs
	case len(fs) == 0:
		return nil, errors.New("no fabric is up")
	default:
		return nil, fmt.Errorf("several fabrics are up (%s): name one, or use --all", strings.Join(names, ", "))
	}
	var done []string
	var errs []error
	for _, f := range targets {
		lines, err := downOne(f)
		done = append(done, lines...)
		errs = append(errs, err)
	}
	return done, errors.Join(errs...)
}

func also(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (these are: " + strings.Join(names, ", ") + ")"
}

func downOne(f host.Fabric) ([]string, error) {
	var done []string
	if f.Alive {
		st, err := askDown(f)
		if err == nil {
			return []string{fmt.Sprintf("fabric %s is down; verdict: %s", f.Name, st.Verdict)}, nil
		}
		if errors.Is(err, os.ErrPermission) {
			return nil, fmt.Errorf("fabric %s: permission denied: run as root (sudo cnuas ...)", f.Name)
		}
		// Somebody else may be taking it down, or it is still coming up.
		if waitGone(f, time.Second) {
			return []string{fmt.Sprintf("fabric %s has just gone down", f.Name)}, dropDead(f)
		}
		done = append(done, fmt.Sprintf("the daemon of %s does not answer (%v): killed", f.Name, err))
		if p, err := os.FindProcess(f.State.Daemon.PID); err == nil && f.State.Daemon.Alive() {
			p.Signal(syscall.SIGKILL)
		}
		if !waitGone(f, downTimeout) {
			return done, fmt.Errorf("fabric %s: process %d does not end", f.Name, f.State.Daemon.PID)
		}
		return done, dropDead(f)
	}
	return []string{fmt.Sprintf("fabric %s: its daemon was dead; removed what it left", f.Name)}, dropDead(f)
}

// dropDead removes what a dead daemon left, unless another has come up under
// the name meanwhile.
func dropDead(f host.Fabric) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	unlock, err := host.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	now, err := host.Fabrics()
	if err != nil {
		return err
	}
	for _, g := range now {
		if g.Name == f.Name && !g.Alive {
			_, err := cleanUp(g.Name)
			return err
		}
	}
	return nil
}

// clearDead removes what a dead daemon left of a fabric of this name, before a
// new one comes up. A living one is an error.
func clearDead(name string) error {
	fs, err := host.Fabrics()
	if err != nil {
		return err
	}
	for _, f := range fs {
		if f.Name != name {
			continue
		}
		// Who comes up holds the lock that we hold: a daemon without a socket is
		// on its way out, which takes a moment also after kill -9.
		if f.Alive && !answers(f) && waitGone(f, downTimeout) {
			f.Alive = false
		}
		if f.Alive {
			return fmt.Errorf("fabric %s is already up (daemon %d); cnuas down %s takes it down", name, f.State.Daemon.PID, name)
		}
		if _, err := cleanUp(name); err != nil {
			return err
		}
	}
	return nil
}

// nodesFree refuses a fabric whose nodes another fabric of this machine has.
func nodesFree(s *topology.Spec) error {
	fs, err := host.Fabrics()
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range fs {
		var taken []string
		for _, p := range f.State.Planned {
			for i := range s.Nodes {
				if s.Nodes[i].Name == p.Name {
					taken = append(taken, p.Name)
				}
			}
		}
		if len(taken) > 0 {
			errs = append(errs, fmt.Errorf("fabric %s, which is up, has nodes of these names already: %s; take it down with cnuas down %s, or choose other names",
				f.Name, strings.Join(taken, ", "), f.Name))
		}
	}
	return errors.Join(errs...)
}

// answers tells whether the daemon takes connections.
func answers(f host.Fabric) bool {
	c, err := control.Dial(Socket(f.Name))
	if err == nil {
		c.Close()
	}
	return err == nil
}

// cleanUp removes everything that is left of a fabric. The caller holds the lock.
func cleanUp(name string) ([]string, error) {
	endPrograms(name)
	devices, err := host.PlannedRDMA(name)
	if err != nil {
		return nil, err
	}
	done, err := host.Cleanup(name)
	return done, errors.Join(err, awaitRDMAGone(devices))
}

// askDown asks a daemon to end and waits until it has.
func askDown(f host.Fabric) (*status.Fabric, error) {
	c, err := control.Dial(Socket(f.Name))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(downTimeout))
	var st status.Fabric
	if err := control.Call(c, OpDown, nil, &st); err != nil {
		return nil, err
	}
	if !waitGone(f, downTimeout) {
		return nil, fmt.Errorf("still there after %v", downTimeout)
	}
	return &st, nil
}

// waitGone waits until the daemon's process has ended.
func waitGone(f host.Fabric, d time.Duration) bool {
	for end := time.Now().Add(d); f.State.Daemon.Alive(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

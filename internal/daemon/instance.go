package daemon

import (
	"path/filepath"

	"cnuas/internal/host"
)

// socketName is the control socket in a fabric's directory.
const socketName = "control"

// logName is where a background daemon's messages go.
const logName = "log"

// Instance is a fabric that has a daemon, or had one that died.
type Instance struct {
	Name  string
	PID   int
	Nodes []string
}

// ValidName tells whether a fabric may have this name.
func ValidName(name string) bool { return host.ValidName(name) == nil }

// Socket is the path of a fabric's control socket.
func Socket(name string) string { return filepath.Join(host.FabricDir(name), socketName) }

// Live lists the fabrics whose daemon runs.
func Live() []Instance { return instances(true) }

// Dead lists the fabrics whose daemon ended without taking them down.
func Dead() []Instance { return instances(false) }

func instances(alive bool) []Instance {
	fs, err := host.Fabrics()
	if err != nil {
		return nil
	}
	var l []Instance
	for _, f := range fs {
		if f.Alive != alive {
			continue
		}
		i := Instance{Name: f.Name, PID: f.State.Daemon.PID}
		for _, p := range f.State.Planned {
			i.Nodes = append(i.Nodes, p.Name)
		}
		l = append(l, i)
	}
	return l
}

package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// EnvRunDir is the variable that moves RunDir: fabrics with different ones do
// not know of each other, as tests need it.
const EnvRunDir = "CNUAS_RUN_DIR"

// RunDir holds one directory for each fabric that is up, and the lock.
var RunDir = runDir()

func runDir() string {
	if d := os.Getenv(EnvRunDir); filepath.IsAbs(d) {
		return filepath.Clean(d)
	}
	return DefaultRunDir
}

// DefaultRunDir is RunDir where nothing else is asked for.
const DefaultRunDir = "/run/cnuas"

// stateFile is the journal's file in a fabric's directory.
const stateFile = "state.json"

// State is what a journal remembers.
type State struct {
	Version int     `json:"version"`
	Marker  Marker  `json:"marker"`
	Daemon  Process `json:"daemon"`

	// Planned are the namespaces that this fabric is about to create or has
	// created, in the order of planning.
	Planned []Planned `json:"planned"`

	// RDMA are the kernel RDMA devices that this fabric has or is about to
	// have. They vanish with the nodes' interfaces, some time after.
	RDMA []string `json:"rdma,omitempty"`
}

// Planned is one namespace.
type Planned struct {
	Name  string `json:"name"`
	Inode uint64 `json:"inode,omitempty"` // 0: not created as far as is known
}

const stateVersion = 1

// Journal is written ahead of everything that a fabric creates outside of its
// process, so that Cleanup finds it after a kill at any moment. It is safe for
// concurrent use.
type Journal struct {
	dir string
	mu  sync.Mutex
	st  State
}

// FabricDir is the directory of the fabric of that name.
func FabricDir(fabric string) string { return filepath.Join(RunDir, fabric) }

// OpenJournal makes the directory of a fabric and begins its journal, in the
// name of this process. It refuses with ErrExists when there is one: its
// daemon may live, or have left things for Cleanup. Hold Lock meanwhile.
func OpenJournal(fabric string) (*Journal, error) {
	if err := ValidName(fabric); err != nil {
		return nil, fmt.Errorf("fabric: %w", err)
	}
	if err := os.MkdirAll(RunDir, 0o755); err != nil {
		return nil, fmt.Errorf("fabric %s: %w%s", fabric, err, remedy(err))
	}
	dir := FabricDir(fabric)
	if err := os.Mkdir(dir, 0o755); err != nil {
		if errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("fabric %s: %w (cnuas down %s)", fabric, ErrExists, fabric)
		}
		return nil, fmt.Errorf("fabric %s: %w", fabric, err)
	}
	self, err := ThisProcess()
	if err != nil {
		return nil, fmt.Errorf("fabric %s: %w", fabric, err)
	}
	j := &Journal{dir: dir, st: State{Version: stateVersion, Marker: NewMarker(fabric), Daemon: self}}
	if err := j.write(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return j, nil
}

// Dir is the fabric's directory; what else the daemon puts there, such as its
// socket, is removed with it.
func (j *Journal) Dir() string { return j.dir }

// Marker is what this fabric's namespaces carry.
func (j *Journal) Marker() Marker { return j.st.Marker }

// Plan records namespaces before they are created.
func (j *Journal) Plan(names ...string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, n := range names {
		if err := ValidName(n); err != nil {
			return err
		}
		if j.find(n) == nil {
			j.st.Planned = append(j.st.Planned, Planned{Name: n})
		}
	}
	return j.write()
}

// PlanRDMA records kernel RDMA devices before they are made.
func (j *Journal) PlanRDMA(names ...string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.st.RDMA = append(j.st.RDMA, names...)
	return j.write()
}

// Created records the inode of a planned namespace, before it gets its name.
func (j *Journal) Created(name string, ino uint64) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	p := j.find(name)
	if p == nil {
		return fmt.Errorf("fabric %s: namespace %s was not planned", j.st.Marker.Fabric, name)
	}
	p.Inode = ino
	return j.write()
}

func (j *Journal) find(name string) *Planned {
	for i := range j.st.Planned {
		if j.st.Planned[i].Name == name {
			return &j.st.Planned[i]
		}
	}
	return nil
}

// Close ends the journal and removes the fabric's directory. The namespaces
// were deleted before; should one be left, the journal stays for Cleanup.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range j.st.Planned {
		if _, err := remove(p.Name, j.st.Marker.Token); err != nil && !errors.Is(err, ErrNotOurs) {
			return err
		}
	}
	return removeDir(j.dir)
}

// write replaces the file in one step: a reader, or a kill, sees the old state
// or the new one.
func (j *Journal) write() error {
	b, err := json.Marshal(&j.st)
	if err == nil {
		err = replaceFile(filepath.Join(j.dir, stateFile), b)
	}
	if err != nil {
		return fmt.Errorf("fabric %s: journal: %w", j.st.Marker.Fabric, err)
	}
	return nil
}

// replaceFile does not wait for a disk: what the journal is about, namespaces
// and mounts, does not survive a crash of the machine either.
func replaceFile(path string, b []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

package uverbs

import (
	"strings"

	"golang.org/x/sys/unix"
)

// devDir is where programs find the devices.
const devDir = "/dev/infiniband/"

// Kind is a kind of device file in /dev/infiniband that a node has besides
// uverbsN, which this package serves itself: umadN, issmN, rdma_cm. Kinds are
// given in NodeConfig and called on the threads of sessions, one call at a time
// per session.
type Kind interface {
	// Serves tells whether the file /dev/infiniband/name is of the kind.
	Serves(name string) bool

	// Open is called when a program opens the file, where the filter traps
	// that (OpOpen), and otherwise for the first trapped call on a descriptor
	// that still is the one of the open file. It has t answered, now or
	// later, and usually calls t.Become.
	Open(t *Syscall, name string)
}

// SysfsKind is a Kind with files of its own below /sys/class.
type SysfsKind interface {
	Kind

	// Sysfs adds the files: path begins with the class ("infiniband_mad/umad0/port"),
	// text is without the last newline. It is called while the engine is held.
	Sysfs(add func(path, text string))
}

// File is what a descriptor stands for after Syscall.Become.
type File interface {
	// Trapped has t answered, now or later: a call on a descriptor of the file.
	Trapped(t *Syscall)

	// End is called when no program of the session is left. Calls that have
	// not been answered must be then.
	End()
}

// plugged is a File that a node knows by its descriptor.
type plugged struct {
	file File
	s    *session
}

// kindOf finds who serves a path, or nil.
func (n *Node) kindOf(path string) (Kind, string) {
	name, ok := strings.CutPrefix(path, devDir)
	if !ok {
		return nil, ""
	}
	for _, k := range n.cfg.Kinds {
		if k.Serves(name) {
			return k, name
		}
	}
	return nil, ""
}

func (n *Node) plug(id fileID, p plugged) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return ErrClosed
	}
	n.files[id] = p
	return nil
}

// unplug forgets the file; another that got the identity meanwhile stays.
func (n *Node) unplug(id fileID, f File) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.files[id].file == f {
		delete(n.files, id)
	}
}

func (n *Node) pluggedAt(id fileID) File {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.files[id].file
}

// endFiles ends the files of a session.
func (n *Node) endFiles(s *session) {
	n.mu.Lock()
	var list []File
	for id, p := range n.files {
		if p.s == s {
			list = append(list, p.file)
			delete(n.files, id)
		}
	}
	n.mu.Unlock()
	for _, f := range list {
		f.End()
	}
}

// isPlaceholder tells whether a descriptor is that of a device file nobody has
// used yet: /dev/null, bound to the device's path.
func isPlaceholder(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
}

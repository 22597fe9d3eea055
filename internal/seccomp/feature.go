package seccomp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrNotSupported is wrapped by errors about features that the kernel lacks.
var ErrNotSupported = errors.New("not supported by this kernel")

// Feature is a part of the kernel's interface that this package needs or uses.
type Feature string

// Features, each with the first version of Linux that has it.
const (
	UserNotification Feature = "seccomp user notification"       // 5.0
	AddFD            Feature = "seccomp descriptor injection"    // 5.9
	WaitKillable     Feature = "seccomp killable wait"           // 6.0
	SyncWakeUp       Feature = "seccomp synchronous wake-up"     // 6.6
	VMAccess         Feature = "process memory copies"           // 3.2
	MemfdNotify      Feature = "inotify on memfd"                // any; checked because kernels differ in how
	Pidfd            Feature = "process descriptors"             // 5.3
	SealedMemfd      Feature = "sealed memory files"             // 3.17
	MountNamespace   Feature = "private mount namespaces"        // 2.4.19
	OverSysfs        Feature = "mounts over sysfs and /dev/null" // any
)

var since = map[Feature]string{
	UserNotification: "5.0", AddFD: "5.9", WaitKillable: "6.0", SyncWakeUp: "6.6", VMAccess: "3.2",
	MemfdNotify: "2.6.13", Pidfd: "5.3", SealedMemfd: "3.17", MountNamespace: "2.4.19", OverSysfs: "2.4.19",
}

// Since is the first version of Linux that has the feature, "major.minor".
func (f Feature) Since() string { return since[f] }

// FeatureError says that a feature is missing. It wraps ErrNotSupported and
// what the kernel said.
type FeatureError struct {
	Feature Feature
	Err     error
}

// Error names the feature and the version that has it, unless the kernel has it
// and only does not let this program use it.
func (e *FeatureError) Error() string {
	if errors.Is(e.Err, unix.EPERM) || errors.Is(e.Err, unix.EACCES) {
		return fmt.Sprintf("%s: not permitted: use sudo, or ask who runs this container: %v", e.Feature, e.Err)
	}
	return fmt.Sprintf("%s: %v (needs Linux %s): %v", e.Feature, ErrNotSupported, e.Feature.Since(), e.Err)
}

// Unwrap returns both causes.
func (e *FeatureError) Unwrap() []error { return []error{ErrNotSupported, e.Err} }

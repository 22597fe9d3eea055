package seccomp

// Check is the result of trying a feature.
type Check struct {
	Feature  Feature
	OK       bool
	Optional bool   // without it programs run, slower
	Detail   string // what was tried, or what the kernel said
	Remedy   string // what a user can do; empty if OK
}

// Probe tries every feature that running verbs programs needs, by using it,
// and returns the results in a fixed order. It is done once per process.
func Probe() []Check { return nil }

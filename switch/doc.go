// Package switching holds what switches of every kind share: the reasons for
// which they drop frames, their counters, and the shared buffer that decides
// whether a frame is admitted. The directory is named switch; the package is
// not, because switch is a keyword.
package switching

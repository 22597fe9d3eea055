package host

import "errors"

// Errors that callers tell apart, wrapped with what was attempted.
var (
	// ErrExists: a namespace of that name is there and is not ours.
	ErrExists = errors.New("exists already")

	// ErrNotOurs: the thing was not made by the fabric that wants to remove it.
	ErrNotOurs = errors.New("not made by this fabric")

	// ErrNotSupported: this kernel or this container lacks a feature.
	ErrNotSupported = errors.New("not supported here")

	// ErrClosed: the device or namespace was closed.
	ErrClosed = errors.New("closed")
)

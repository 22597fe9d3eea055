package daemon

import (
	"testing"
	"time"
)

// TestEndOfBMCIsAwaited: neither the next guest nor the end of the fabric comes
// before one that is being taken down has gone, with its sockets.
func TestEndOfBMCIsAwaited(t *testing.T) {
	g := &bmcGuest{gone: make(chan struct{})}
	d := &Daemon{bmcLast: g}
	done := make(chan error, 1)
	go func() { done <- d.closeBMC() }()
	select {
	case err := <-done:
		t.Errorf("closed before the guest has gone: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(g.gone)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

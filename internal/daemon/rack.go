package daemon

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"cnuas/internal/rack"
)

// buildRack makes the rack of the topology: segments, shelves, pseudo terminals.
// Nothing runs yet. All that it leaves outside of this process are links and
// sockets in the fabric's own directory, which Cleanup removes with it; the
// pseudo terminals end with the process, however it ends.
func (d *Daemon) buildRack() error {
	s := d.spec().Rack
	if s == nil {
		return nil
	}
	d.loads = newLoads(d.spec())
	dir := filepath.Join(d.dir, "rack")
	err := os.MkdirAll(dir, 0o755)
	if err != nil {
		return fmt.Errorf("rack: %w", err)
	}
	d.rack, err = rack.New(s, rack.Options{Dir: dir, Log: d.logf, Seed: d.spec().Seed, Nodes: d.loads.watts})
	if err != nil {
		return fmt.Errorf("rack: %w", err)
	}
	return nil
}

// runRack runs the rack beside the fabric, each by its own clock, until the
// fabric goes down. The rack's clock is the wall's whatever the fabric's scale
// is: clients of serial lines have timeouts.
func (d *Daemon) runRack(wg *sync.WaitGroup, fail chan<- error) {
	if d.rack == nil {
		return
	}
	wg.Go(func() {
		if err := d.rack.Run(d.ctx); err != nil && d.ctx.Err() == nil {
			fail <- fmt.Errorf("rack: %w", err)
		}
	})
	wg.Go(func() { d.watchLoad(d.ctx) })
}

func (d *Daemon) closeRack() error {
	if d.rack == nil {
		return nil
	}
	return d.rack.Close()
}

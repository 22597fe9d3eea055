package uverbs

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"cnuas/hca"
)

// sysfs keeps the files current that programs read of a node's devices. They
// are real files below a directory of the host that the launcher mounts into
// each program's view, so running programs see changes.
type sysfs struct {
	node *Node

	writing sync.Mutex // held during an update, so that the last one wins
	mu      sync.Mutex
	dir     string
	written map[string]string
	mon     []*hca.Context
	busy    bool
	closed  bool

	kick chan struct{}
	quit chan struct{}
	wait sync.WaitGroup
}

// refresh is how often counters are written while a program has a device open.
const refresh = time.Second

func (f *sysfs) init(n *Node) {
	f.node, f.written = n, map[string]string{}
	f.kick, f.quit = make(chan struct{}, 1), make(chan struct{})
}

// WriteSysfs writes what programs read of the node's devices below dir, one
// directory per class (infiniband, infiniband_verbs), and keeps it current
// until the node is closed: port state, GIDs, counters. package launch mounts
// those directories over /sys/class in the programs' view. dir should be on a
// tmpfs.
func WriteSysfs(dir string, n *Node) error {
	f := &n.sysfs
	f.mu.Lock()
	if f.dir != "" || f.closed {
		f.mu.Unlock()
		return fmt.Errorf("node %s: sysfs files are written already", n.cfg.Name)
	}
	f.dir = dir
	f.mu.Unlock()
	n.srv.do(func() {
		for i := range n.cfg.Devices {
			d := n.cfg.Devices[i].HCA
			f.mon = append(f.mon, d.Open(nil, func(hca.Event) { f.poke() }))
			d.SetWatch(f.poke)
		}
	})
	if err := f.update(); err != nil {
		return err
	}
	f.wait.Go(f.run)
	return nil
}

// poke has the files written soon. It does not wait.
func (f *sysfs) poke() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// active tells how many users of the node's devices there are: counters move
// only with some.
func (f *sysfs) active(users int) {
	f.mu.Lock()
	f.busy = users > 0
	f.mu.Unlock()
	f.poke()
}

func (f *sysfs) run() {
	for {
		f.mu.Lock()
		busy := f.busy
		f.mu.Unlock()
		var tick <-chan time.Time
		if busy {
			tick = time.After(refresh)
		}
		select {
		case <-f.quit:
			return
		case <-f.kick:
		case <-tick:
		}
		if err := f.update(); err != nil {
			f.node.srv.cfg.Log("node %s: %v", f.node.cfg.Name, err)
		}
	}
}

func (f *sysfs) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	close(f.quit)
	f.wait.Wait()
	f.node.srv.do(func() {
		for i, c := range f.mon {
			c.Close()
			f.node.cfg.Devices[i].HCA.SetWatch(nil)
		}
		f.mon = nil
	})
}

// current has the files written now, for a program that is about to start.
func (f *sysfs) current() error {
	f.mu.Lock()
	ready := f.dir != "" && !f.closed
	f.mu.Unlock()
	if !ready {
		return nil
	}
	return f.update()
}

// update writes the files whose contents have changed.
func (f *sysfs) update() error {
	f.writing.Lock()
	defer f.writing.Unlock()
	n := f.node
	states := make([]portState, len(n.cfg.Devices))
	files := files{}
	n.srv.do(func() {
		for i := range states {
			states[i] = n.cfg.Devices[i].portState()
		}
		for _, k := range n.cfg.Kinds {
			if k, ok := k.(SysfsKind); ok {
				k.Sysfs(files.add)
			}
		}
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	files.add("infiniband_verbs/abi_version", "6")
	for i := range states {
		files.device(i, &n.cfg.Devices[i], n.cfg.Name, &states[i])
	}
	for _, x := range files {
		if old, ok := f.written[x.path]; ok && old == x.text {
			continue
		}
		if err := writeFile(filepath.Join(f.dir, x.path), x.text); err != nil {
			return fmt.Errorf("sysfs files: %w", err)
		}
		f.written[x.path] = x.text
	}
	return f.removeOld(files)
}

// removeOld removes files that there were and are no more: of GIDs.
func (f *sysfs) removeOld(now files) error {
	if len(now) == len(f.written) {
		return nil
	}
	keep := map[string]bool{}
	for _, x := range now {
		keep[x.path] = true
	}
	for p := range f.written {
		if keep[p] {
			continue
		}
		if err := os.Remove(filepath.Join(f.dir, p)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("sysfs files: %w", err)
		}
		delete(f.written, p)
	}
	return nil
}

// writeFile replaces a file at once: a reader sees the old text or the new.
func writeFile(path, text string) error {
	tmp := path + "~"
	err := os.WriteFile(tmp, []byte(text), 0o444)
	if os.IsNotExist(err) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(tmp, []byte(text), 0o444)
		}
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	return err
}

type files []struct{ path, text string }

func (f *files) add(path, text string) {
	*f = append(*f, struct{ path, text string }{path, text + "\n"})
}

// device adds the files of device i.
func (f *files) device(i int, d *Device, node string, s *portState) {
	v := "infiniband_verbs/uverbs" + strconv.Itoa(i) + "/"
	f.add(v+"ibdev", d.Name)
	f.add(v+"abi_version", "2")
	f.add(v+"dev", "1:3") // that of /dev/null, which stands for the device file

	b := "infiniband/" + d.Name + "/"
	guid, image := d.guids()
	f.add(b+"node_type", "1: CA")
	f.add(b+"node_guid", guidText(guid))
	f.add(b+"sys_image_guid", guidText(image))
	if s.ib != nil {
		f.add(b+"node_desc", s.ib.desc)
	} else {
		f.add(b+"node_desc", node+" "+d.Name)
	}
	f.add(b+"fw_ver", "1.0.0")
	f.add(b+"hca_type", "Cnuas")
	f.add(b+"hw_rev", "0")
	f.add(b+"board_id", "CNUAS0000000001")

	p := b + "ports/1/"
	if s.ib != nil {
		s.ib.sysfs(p, s, f)
		return
	}
	state, phys := "1: DOWN", "3: Disabled"
	if s.up {
		state, phys = "4: ACTIVE", "5: LinkUp"
	}
	_, _, rate := linkRate(d.Rate)
	f.add(p+"state", state)
	f.add(p+"phys_state", phys)
	f.add(p+"rate", rate)
	f.add(p+"lid", "0x0")
	f.add(p+"lid_mask_count", "0")
	f.add(p+"sm_lid", "0x0")
	f.add(p+"sm_sl", "0")
	f.add(p+"cap_mask", fmt.Sprintf("0x%08x", portCaps))
	f.add(p+"link_layer", "Ethernet")
	f.tables(p, s, "RoCE v2", d.NetDev)
	f.counters(p, &s.ctr)
}

// tables adds the P_Keys and the GIDs of a port.
func (f *files) tables(p string, s *portState, gidType, netdev string) {
	for i, k := range s.pkeys {
		f.add(p+"pkeys/"+strconv.Itoa(i), fmt.Sprintf("0x%04x", k))
	}
	for i, g := range s.gids {
		if !g.Valid {
			g.GID = hca.GID{}
		}
		f.add(p+"gids/"+strconv.Itoa(i), gidText(g.GID))
		if g.Valid {
			f.add(p+"gid_attrs/types/"+strconv.Itoa(i), gidType)
			if netdev != "" {
				f.add(p+"gid_attrs/ndevs/"+strconv.Itoa(i), netdev)
			}
		}
	}
}

func guidText(g uint64) string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", g>>48, g>>32&0xffff, g>>16&0xffff, g&0xffff)
}

// counters adds the files of the port's counters: those of every port, with the
// data in words of 4 bytes as InfiniBand counts, and those with the names that
// users of RoCE NICs know.
func (f *files) counters(p string, c *hca.Counters) {
	for _, x := range []struct {
		name string
		v    uint64
	}{
		{"counters/port_xmit_data", c.TxBytes / 4},
		{"counters/port_rcv_data", c.RxBytes / 4},
		{"counters/port_xmit_packets", c.TxFrames},
		{"counters/port_rcv_packets", c.RxFrames},
		{"counters/port_rcv_errors", c.Dropped[hca.DropMalformed] + c.Dropped[hca.DropICRC]},
		{"hw_counters/sent_pkts", c.TxFrames},
		{"hw_counters/rcvd_pkts", c.RxFrames},
		{"hw_counters/duplicate_request", c.Duplicates},
		{"hw_counters/out_of_sequence", c.OutOfSequence},
		{"hw_counters/packet_seq_err", c.RxSeqNaks},
		{"hw_counters/implied_nak_seq_err", c.ImpliedNaks},
		{"hw_counters/rnr_nak_retry_err", c.RxRNRNaks},
		{"hw_counters/local_ack_timeout_err", c.Timeouts},
		{"hw_counters/retry_exceeded_err", c.RetryExceeded},
		{"hw_counters/req_remote_access_errors", c.RxAccessNaks},
		{"hw_counters/req_remote_invalid_request", c.RxInvalidNaks},
		{"hw_counters/rx_icrc_encapsulated", c.Dropped[hca.DropICRC]},
		{"hw_counters/np_ecn_marked_roce_packets", c.ECNMarked},
		{"hw_counters/np_cnp_sent", c.CNPSent},
		{"hw_counters/rp_cnp_handled", c.CNPReceived},
	} {
		f.add(p+x.name, strconv.FormatUint(x.v, 10))
	}
}

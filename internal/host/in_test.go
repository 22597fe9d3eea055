package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"cnuas/internal/simtest"
)

// inode of the namespace that the calling thread is in.
func here() string {
	s, err := os.Readlink("/proc/thread-self/ns/net")
	if err != nil {
		return err.Error()
	}
	return s
}

func is(n *NS) string { return fmt.Sprintf("net:[%d]", n.Inode()) }

// U31: many namespaces at once, each visit sees its own and nobody is left
// behind in a foreign one.
func TestInManyNamespaces(t *testing.T) {
	simtest.Root(t)
	home := here()
	ns := make([]*NS, 64)
	inParallel(len(ns), func(i int) {
		var err error
		if ns[i], err = Create(nsName(t, fmt.Sprint("s", i)), NewMarker("test"), nil); err != nil {
			t.Error(err)
		}
	})
	defer inParallel(len(ns), func(i int) {
		if ns[i] != nil {
			ns[i].Delete()
		}
	})
	if t.Failed() {
		return
	}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 64 {
				n := ns[(i*29+k)%len(ns)]
				n.In(func() error {
					for range 3 {
						if got := here(); got != is(n) {
							t.Errorf("in %s, want %s", got, is(n))
						}
						runtime.Gosched()
					}
					return nil
				})
				if got := here(); got != home {
					t.Errorf("left behind in %s, home is %s", got, home)
				}
			}
		})
	}
	wg.Wait()
}

// U32: a thread that ended in a namespace is never used again, even if the
// function fails there. The counter-experiment, a thread that is unlocked in
// the wrong place, shows that the test would notice.
func TestNoThreadLeaks(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "leak")
	wrong := func() (k int) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() {
				runtime.Gosched()
				if here() == is(n) {
					mu.Lock()
					k++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		return k
	}
	for range 20 {
		if err := n.In(func() error { return errors.New("x") }); err == nil {
			t.Fatal("the function's error was lost")
		}
	}
	if k := wrong(); k != 0 {
		t.Errorf("%d of 500 goroutines ran in the namespace", k)
	}

	if out := child(t, "leak", n.Name()); out == "0" {
		t.Error("the counter-experiment, threads unlocked in the wrong place, shows nothing")
	} else {
		t.Logf("with the mistake, %s of 2000 goroutines ran in the namespace", out)
	}
}

// leakChild makes the mistake that In avoids, in a process of its own.
func leakChild(name string) {
	n, err := Open(name)
	if err != nil {
		panic(err)
	}
	var wg, in sync.WaitGroup
	in.Add(8)
	for range 8 {
		wg.Go(func() {
			runtime.LockOSThread()
			unix.Setns(n.FD(), unix.CLONE_NEWNET)
			in.Done()
			in.Wait()
			runtime.UnlockOSThread() // the mistake
		})
	}
	wg.Wait()
	var wrong atomic.Int32
	for range 2000 {
		wg.Go(func() {
			if here() == is(n) {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	fmt.Print(wrong.Load())
}

// The first thread stands for the process and must never be moved.
func TestProcessStaysHome(t *testing.T) {
	simtest.Root(t)
	n := newNS(t, "home")
	home, _ := os.Readlink("/proc/self/ns/net")
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			n.In(func() error {
				if unix.Gettid() == unix.Getpid() {
					t.Error("the first thread was used")
				}
				return nil
			})
		})
	}
	wg.Wait()
	if got, _ := os.Readlink("/proc/self/ns/net"); got != home {
		t.Errorf("the process is in %s, was in %s", got, home)
	}
}

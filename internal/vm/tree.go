package vm

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Tree is a set of Debian's packages, of any architecture, that are unpacked
// side by side in the cache. They are of the release that this machine runs;
// apt checks their sums against the signed lists.
type Tree struct {
	Name   string // directory in the cache
	Arch   string // Debian's name of the architecture
	Kernel string // a package that depends on the newest kernel, which is taken without what it depends on
	Names  []string
	// Prepare is called with the unpacked tree and the kernel's release, to make
	// what every boot would make again.
	Prepare func(ctx context.Context, tree, release string) error
}

// Dir is where the tree is, once it was fetched.
func (t *Tree) Dir() string { return filepath.Join(CacheDir(), t.Name) }

// Here tells whether the tree was fetched.
func (t *Tree) Here() bool {
	_, err := os.Stat(t.Dir())
	return err == nil
}

// Fetch gets the tree into the cache. It returns at once if it is there.
// Progress goes to log, a line at a time. A fetch that was interrupted leaves
// nothing.
func (t *Tree) Fetch(ctx context.Context, log io.Writer) error {
	if t.Here() {
		return nil
	}
	if log == nil {
		log = io.Discard
	}
	unlock, err := lockCache()
	if err != nil {
		return err
	}
	defer unlock()
	if t.Here() { // somebody else was faster
		return nil
	}
	dir, err := os.MkdirTemp(CacheDir(), tmpPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begin := time.Now()
	tree := filepath.Join(dir, "tree")
	if err := t.fetch(ctx, dir, tree, log); err != nil {
		return fmt.Errorf("fetch packages of %s: %w", t.Arch, err)
	}
	if err := os.Rename(tree, t.Dir()); err != nil {
		return err
	}
	fmt.Fprintf(log, "the packages are in %s (%.0f s)\n", t.Dir(), time.Since(begin).Seconds())
	return nil
}

func (t *Tree) fetch(ctx context.Context, dir, tree string, log io.Writer) error {
	depmod, err := tool("depmod", "kmod")
	if err != nil {
		return err
	}
	a, err := newApt(filepath.Join(dir, "apt"), log)
	if err != nil {
		return err
	}
	a.arch = t.Arch
	if err := a.use(ctx, ""); err != nil {
		return err
	}
	meta, err := a.show(ctx, t.Kernel)
	if err != nil {
		return err
	}
	var pkgs []*pkg
	release := ""
	for _, d := range meta.depends {
		if v, ok := strings.CutPrefix(d, "linux-image-"); ok {
			release = v
			image, err := a.show(ctx, d)
			if err != nil {
				return err
			}
			pkgs = append(pkgs, image)
		}
	}
	if release == "" {
		return fmt.Errorf("%s %s depends on no kernel, but on %v", meta.name, meta.version, meta.depends)
	}
	more, err := a.withDepends(ctx, t.Names)
	if err != nil {
		return err
	}
	debs, err := a.download(ctx, append(pkgs, more...)...)
	if err != nil {
		return err
	}
	if err := os.Mkdir(tree, 0o755); err != nil {
		return err
	}
	if err := unpack(ctx, tree, debs); err != nil {
		return err
	}
	if err := mergeUsr(tree); err != nil {
		return err
	}
	if _, err := runTool(ctx, "", depmod, "-b", tree, release); err != nil {
		return err
	}
	fmt.Fprintln(log, "preparing them")
	return t.Prepare(ctx, tree, release)
}

// withDepends lists packages and all that they depend on.
func (a *apt) withDepends(ctx context.Context, names []string) (l []*pkg, err error) {
	seen := map[string]bool{}
	for wanted := names; len(wanted) > 0; wanted = wanted[1:] {
		if seen[wanted[0]] {
			continue
		}
		seen[wanted[0]] = true
		p, err := a.show(ctx, wanted[0])
		if err != nil {
			return nil, err
		}
		l = append(l, p)
		wanted = append(wanted[:len(wanted):len(wanted)], p.depends...)
	}
	return l, nil
}

// mergeUsr lets lib and usr/lib lead to the same files, whichever of them the
// packages have, as on a system that was merged.
func mergeUsr(tree string) error {
	for _, d := range []string{"lib", "bin", "sbin"} {
		top, usr := filepath.Join(tree, d), filepath.Join(tree, "usr", d)
		if _, err := os.Lstat(top); err == nil {
			if err := os.MkdirAll(usr, 0o755); err != nil {
				return err
			}
			if err := merge(top, usr); err != nil {
				return err
			}
		}
		if err := os.Symlink(filepath.Join("usr", d), top); err != nil {
			return err
		}
	}
	return nil
}

// merge moves what is in from to the directory to.
func merge(from, to string) error {
	l, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range l {
		a, b := filepath.Join(from, e.Name()), filepath.Join(to, e.Name())
		move := os.Rename
		if st, err := os.Lstat(b); err == nil && st.IsDir() && e.IsDir() {
			move = merge
		}
		if err := move(a, b); err != nil {
			return err
		}
	}
	return os.Remove(from)
}

// RunTool runs a program, of this package of Debian, to its end and returns its
// standard output; the error has the end of what it wrote. It is killed when
// ctx ends, or this process.
func RunTool(ctx context.Context, stdin *os.File, stdout io.Writer, name, pkg string, args ...string) error {
	path, err := tool(name, pkg)
	if err != nil {
		return err
	}
	return runInto(ctx, stdout, stdin, "", path, args...)
}

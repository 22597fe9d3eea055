package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// kernelSuite has the oldest kernels whose rdma_rxe works inside a network
	// namespace.
	kernelSuite = "trixie-backports"
	// kernelPackage depends on the newest one there.
	kernelPackage = "linux-image-amd64"
)

// Fetch gets the newest kernel of Debian's backports through apt into the
// cache, about 120 MB, and prepares it for booting. It returns at once if a
// kernel is in the cache. Progress goes to log, a line at a time. A fetch that
// was interrupted leaves nothing that counts as a kernel.
func Fetch(ctx context.Context, log io.Writer) (*Kernel, error) {
	if k := cached(); k != nil {
		return k, nil
	}
	if log == nil {
		log = io.Discard
	}
	unlock, err := lockCache()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if k := cached(); k != nil { // somebody else was faster
		return k, nil
	}
	dir, err := os.MkdirTemp(CacheDir(), tmpPrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	begin := time.Now()
	k, err := fetch(ctx, dir, log)
	if err != nil {
		return nil, fmt.Errorf("fetch a kernel: %w", err)
	}
	fmt.Fprintf(log, "Linux %s is in %s (%.0f s)\n", k.Release, k.Dir, time.Since(begin).Seconds())
	return k, nil
}

func fetch(ctx context.Context, dir string, log io.Writer) (*Kernel, error) {
	depmod, err := tool("depmod", "kmod")
	if err != nil {
		return nil, err
	}
	a, err := newApt(filepath.Join(dir, "apt"), log)
	if err != nil {
		return nil, err
	}
	if err := a.use(ctx, kernelSuite); err != nil {
		return nil, err
	}
	release, pkgs, err := kernelPackages(ctx, a)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(log, "the newest kernel is %s\n", release)
	debs, err := a.download(ctx, pkgs...)
	if err != nil {
		return nil, err
	}
	tree := filepath.Join(dir, "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		return nil, err
	}
	if err := unpack(ctx, tree, debs); err != nil {
		return nil, err
	}
	// Newer packages have all in usr; a tree is looked at as a root is.
	if _, err := os.Lstat(filepath.Join(tree, "lib")); err != nil {
		if err := os.Symlink("usr/lib", filepath.Join(tree, "lib")); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(log, "preparing it")
	if _, err := runTool(ctx, "", depmod, "-b", tree, release); err != nil {
		return nil, err
	}
	if err := prepare(tree, release); err != nil {
		return nil, err
	}
	// The names of files that were unpacked changed.
	if _, err := runTool(ctx, "", depmod, "-b", tree, release); err != nil {
		return nil, err
	}
	if _, err := openRelease(tree, release); err != nil {
		return nil, err
	}
	to := filepath.Join(kernelsDir(), release)
	os.RemoveAll(to) // whatever it is, it is no kernel: cached looked at it
	if err := os.Rename(tree, to); err != nil {
		return nil, err
	}
	return openTree(to)
}

// kernelPackages finds the newest kernel and the packages that it is split
// into: those of its own version.
func kernelPackages(ctx context.Context, a *apt) (release string, l []*pkg, err error) {
	meta, err := a.show(ctx, kernelPackage)
	if err != nil {
		return "", nil, err
	}
	for _, d := range meta.depends {
		if v, ok := strings.CutPrefix(d, "linux-image-"); ok {
			release = v
		}
	}
	if release == "" {
		return "", nil, fmt.Errorf("%s %s depends on no kernel, but on %v", meta.name, meta.version, meta.depends)
	}
	image, err := a.show(ctx, "linux-image-"+release)
	if err != nil {
		return "", nil, err
	}
	l = []*pkg{image}
	for _, d := range image.depends {
		if strings.HasPrefix(d, "linux-") && strings.HasSuffix(d, "-"+release) {
			p, err := a.show(ctx, d)
			if err != nil {
				return "", nil, err
			}
			l = append(l, p)
		}
	}
	return release, l, nil
}

// prepare unpacks what every boot of the kernel would unpack again: the image
// and the modules that are always loaded.
func prepare(tree, release string) error {
	k, err := openRelease(tree, release)
	if err != nil {
		return err
	}
	if !k.HasModule(rxe) {
		return fmt.Errorf("Linux %s has no %s", release, rxe)
	}
	b, err := os.ReadFile(k.Image)
	if err != nil {
		return err
	}
	switch v, err := extractVMLinux(b); {
	case err == nil:
		if err := os.WriteFile(filepath.Join(k.moduleDir(), "vmlinux"), v, 0o644); err != nil {
			return err
		}
	case !errors.Is(err, errNotUnpackable):
		return err
	}
	var names []string
	for _, l := range [][]string{early, earlyHost, late, lateSelf} {
		names = append(names, l...)
	}
	order, _ := k.deps.Closure(names...)
	for _, name := range order {
		from := filepath.Join(k.moduleDir(), k.deps.file[name])
		base, _, packed := strings.Cut(from, ".ko.")
		if !packed {
			continue
		}
		b, err := k.deps.Read(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(base+".ko", b, 0o644); err != nil {
			return err
		}
		if err := os.Remove(from); err != nil {
			return err
		}
	}
	return nil
}

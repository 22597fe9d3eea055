package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// siwDir is where siw's source is in the kernel's.
const siwDir = "drivers/infiniband/sw/siw"

// BuildSIW builds the module siw for a kernel in the cache, out of Debian's
// source of that kernel, and adds it to the kernel's tree and to k. Debian's own
// build leaves it out. It returns at once if the kernel has siw. It downloads
// about 190 MB, needs gcc, make and binutils, and takes about a minute.
func BuildSIW(ctx context.Context, k *Kernel, log io.Writer) error {
	if k.HasModule("siw") {
		return nil
	}
	if log == nil {
		log = io.Discard
	}
	if filepath.Dir(k.Dir) != kernelsDir() {
		return fmt.Errorf("siw: Linux %s in %s lacks it, and it is built only for kernels that cnuas vm fetch got", k.Release, k.Dir)
	}
	unlock, err := lockCache()
	if err != nil {
		return err
	}
	defer unlock()
	if k.reload() == nil && k.HasModule("siw") { // somebody else was faster
		return nil
	}
	dir, err := os.MkdirTemp(CacheDir(), tmpPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	begin := time.Now()
	if err := buildSIW(ctx, k, dir, log); err != nil {
		return fmt.Errorf("siw for Linux %s: %w", k.Release, err)
	}
	fmt.Fprintf(log, "siw for Linux %s is built (%.0f s)\n", k.Release, time.Since(begin).Seconds())
	return nil
}

// reload reads again what modules there are.
func (k *Kernel) reload() error {
	d, err := ReadModules(k.moduleDir())
	if err == nil {
		k.deps = d
	}
	return err
}

func buildSIW(ctx context.Context, k *Kernel, dir string, log io.Writer) error {
	depmod, err := tool("depmod", "kmod")
	if err != nil {
		return err
	}
	if strings.ContainsAny(dir, " \t:$#%") {
		return fmt.Errorf("make cannot work in %s because of characters in that name; set %s", dir, EnvCacheDir)
	}
	for name, pkg := range map[string]string{"gcc": "gcc", "make": "make", "ld": "binutils", "strip": "binutils", "tar": "tar", "xz": "xz-utils"} {
		if _, err := tool(name, pkg); err != nil {
			return err
		}
	}
	a, err := newApt(filepath.Join(dir, "apt"), log)
	if err != nil {
		return err
	}
	// The second has the C library that the build's own programs need.
	if err := a.use(ctx, kernelSuite, runtimeSuite); err != nil {
		return err
	}
	src, hdr := filepath.Join(dir, "siw"), filepath.Join(dir, "headers")
	if err := siwSource(ctx, a, k.Release, src); err != nil {
		return err
	}
	headers, common, err := kernelHeaders(ctx, a, k.Release, hdr)
	if err != nil {
		return err
	}
	if err := makeRunnable(ctx, a, hdr, filepath.Join(dir, "runtime")); err != nil {
		return err
	}
	fmt.Fprintln(log, "building siw")
	make, err := tool("make", "make")
	if err != nil {
		return err
	}
	args := []string{"-s", "-C", common, "KBUILD_OUTPUT=" + headers, "O=" + headers, "M=" + src, "CONFIG_RDMA_SIW=m", "CC=gcc", "HOSTCC=gcc", "LD=ld",
		"CONFIG_DEBUG_INFO_BTF_MODULES="} // needs pahole and vmlinux
	if !functionAlignment(ctx) {
		args = append(args, "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=")
	}
	if _, err := runTool(ctx, "", make, append(args, "modules")...); err != nil {
		return err
	}
	return k.install(ctx, depmod, filepath.Join(src, "siw.ko"))
}

// functionAlignment tells whether gcc knows -fmin-function-alignment, which
// gcc 14 brought and Debian's kernels are configured for.
func functionAlignment(ctx context.Context) bool {
	return exec.CommandContext(ctx, "gcc", "-fmin-function-alignment=16", "-E", "-x", "c", "-o", "/dev/null", "/dev/null").Run() == nil
}

// siwSource unpacks siw's part of the kernel's source into dir.
func siwSource(ctx context.Context, a *apt, release, dir string) error {
	// Debian's source package is by the first two numbers: 7.3.4+deb13-amd64.
	v := strings.SplitN(release, ".", 3)
	if len(v) < 3 {
		return fmt.Errorf("release %q is not understood", release)
	}
	name := "linux-source-" + v[0] + "." + v[1]
	p, err := a.show(ctx, name)
	if err != nil {
		return gone(err)
	}
	if upstream, _, ok := strings.Cut(release, "+"); ok && !strings.HasPrefix(p.version, upstream+"-") {
		return gone(fmt.Errorf("%s is of version %s: %w", name, p.version, errNoPackage))
	}
	debs, err := a.download(ctx, p)
	if err != nil {
		return err
	}
	defer os.Remove(debs[0])
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// The package holds one archive of 1.5 GB unpacked, of which a thousandth
	// is wanted. Its path comes as $2 and is not part of the script.
	script := `set -o pipefail 2>/dev/null; dpkg --fsys-tarfile "$1" | tar -xO --wildcards "*/$2.tar.xz" | xz -dc -T0 | tar -x -C "$3" --strip-components=5 --wildcards "*/$4"`
	sh, err := tool("bash", "bash")
	if err != nil {
		return err
	}
	if _, err := runTool(ctx, "", sh, "-c", script, "sh", debs[0], name, dir, siwDir); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "Makefile")); err != nil {
		return fmt.Errorf("%s has no %s", name, siwDir)
	}
	return nil
}

// kernelHeaders unpacks what modules of the kernel are built against and
// returns the two directories that a build needs.
func kernelHeaders(ctx context.Context, a *apt, release, dir string) (headers, common string, err error) {
	top, err := a.show(ctx, "linux-headers-"+release)
	if err != nil {
		return "", "", gone(err)
	}
	l := []*pkg{top}
	for _, d := range top.depends {
		isCommon := strings.HasPrefix(d, "linux-headers-") && strings.HasSuffix(d, "-common")
		if isCommon || strings.HasPrefix(d, "linux-kbuild-") {
			p, err := a.show(ctx, d)
			if err != nil {
				return "", "", err
			}
			l = append(l, p)
		}
		if isCommon {
			common = filepath.Join(dir, "usr/src", d)
		}
	}
	if common == "" {
		return "", "", fmt.Errorf("%s depends on no common headers, but on %v", top.name, top.depends)
	}
	debs, err := a.download(ctx, l...)
	if err != nil {
		return "", "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	if err := unpack(ctx, dir, debs); err != nil {
		return "", "", err
	}
	headers = filepath.Join(dir, "usr/src", top.name)
	return headers, common, nil
}

// gone explains why a package of a kernel that was fetched once is not found.
func gone(err error) error {
	if errors.Is(err, errNoPackage) {
		return fmt.Errorf("%w: the archive has only the packages of newer kernels; remove %s and run: cnuas vm fetch --siw", err, kernelsDir())
	}
	return err
}

// install puts a module into the kernel's tree.
func (k *Kernel) install(ctx context.Context, depmod, file string) error {
	strip, err := tool("strip", "binutils")
	if err != nil {
		return err
	}
	if _, err := runTool(ctx, "", strip, "--strip-debug", file); err != nil {
		return err
	}
	dir := filepath.Join(k.moduleDir(), "updates")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	to := filepath.Join(dir, filepath.Base(file))
	if err := os.Rename(file, to); err != nil {
		return err
	}
	if _, err := runTool(ctx, "", depmod, "-b", k.Dir, k.Release); err != nil {
		return err
	}
	if err := k.reload(); err != nil {
		return err
	}
	if !k.HasModule("siw") {
		return errors.New("depmod does not list it")
	}
	return nil
}

package vm

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// runtimeSuite is the release that the programs of kernelSuite's kernel build
// were linked for.
const runtimeSuite = "trixie"

// runtimePackages have the libraries that these programs need.
var runtimePackages = []string{"libc6", "libelf1t64", "zlib1g", "libzstd1"}

// makeRunnable makes the programs of a kernel build (fixdep, modpost, objtool)
// run on a system that is older than they are: each that cannot find its
// libraries here is started with those of its own release.
func makeRunnable(ctx context.Context, a *apt, headers, runtime string) error {
	kbuild, err := filepath.Glob(filepath.Join(headers, "usr/lib/linux-kbuild-*"))
	if err != nil || len(kbuild) != 1 {
		return fmt.Errorf("the packages of the headers have %d directories linux-kbuild-*, not one", len(kbuild))
	}
	var l []string
	err = filepath.WalkDir(kbuild[0], func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if interpreter(p) == "" || dispatcher(p) {
			return nil
		}
		if _, err := closure(p, ""); err != nil {
			l = append(l, p)
		}
		return nil
	})
	if err != nil || len(l) == 0 {
		return err
	}
	lib, err := fetchRuntime(ctx, a, runtime)
	if err != nil {
		return err
	}
	for _, p := range l {
		if err := wrap(p, lib); err != nil {
			return err
		}
	}
	return nil
}

// dispatcher tells whether p only chooses one of p.real-... by its own path,
// which a loader in between would hide from it.
func dispatcher(p string) bool {
	l, _ := filepath.Glob(p + ".real-*")
	return len(l) > 0
}

// fetchRuntime unpacks the libraries and returns their directory.
func fetchRuntime(ctx context.Context, a *apt, dir string) (lib string, err error) {
	var l []*pkg
	for _, n := range runtimePackages {
		p, err := a.show(ctx, n+"/"+runtimeSuite)
		if err != nil {
			return "", err
		}
		l = append(l, p)
	}
	debs, err := a.download(ctx, l...)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := unpack(ctx, dir, debs); err != nil {
		return "", err
	}
	lib = filepath.Join(dir, "usr/lib/x86_64-linux-gnu")
	if _, err := os.Stat(filepath.Join(lib, loaderName)); err != nil {
		return "", fmt.Errorf("libraries of %s: %w", runtimeSuite, err)
	}
	return lib, nil
}

const loaderName = "ld-linux-x86-64.so.2"

// wrap puts a script in the place of a program.
func wrap(p, lib string) error {
	if err := os.Rename(p, p+".bin"); err != nil {
		return err
	}
	q := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
	text := fmt.Sprintf("#!/bin/sh\nexec %s --library-path %s %s \"$@\"\n", q(filepath.Join(lib, loaderName)), q(lib), q(p+".bin"))
	return os.WriteFile(p, []byte(text), 0o755)
}

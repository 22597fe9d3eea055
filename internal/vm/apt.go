package vm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// apt is Debian's package manager with sources and lists of its own: what the
// system has is neither used up nor changed. The system's apt configuration,
// with its proxies, is in force.
type apt struct {
	dir  string // private, below the cache
	log  io.Writer
	arch string // of the packages

	get, cache string // programs
}

// keyrings are where Debian keeps the keys of its archive.
var keyrings = []string{"/usr/share/keyrings/debian-archive-keyring.pgp", "/usr/share/keyrings/debian-archive-keyring.gpg"}

// newApt makes the private directories in dir.
func newApt(dir string, log io.Writer) (*apt, error) {
	a := &apt{dir: dir, log: log, arch: "amd64"}
	var err error
	if a.get, err = tool("apt-get", "apt"); err == nil {
		a.cache, err = tool("apt-cache", "apt")
	}
	if err == nil {
		_, err = tool("dpkg", "dpkg")
	}
	if err != nil {
		return nil, errors.New("kernels are fetched with Debian's apt, which this machine does not have; name a kernel that is here: --kernel / for this machine's own if it has rdma_rxe, or --kernel DIR for an unpacked one")
	}
	for _, d := range []string{"lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	// Nothing is installed as far as this apt knows: only the suite counts.
	return a, os.WriteFile(filepath.Join(dir, "status"), nil, 0o644)
}

func (a *apt) options(sources bool) []string {
	l := []string{
		"-q",
		"-o", "Dir::State::lists=" + filepath.Join(a.dir, "lists"),
		"-o", "Dir::Cache=" + filepath.Join(a.dir, "cache"),
		"-o", "Acquire::Languages=none",
		"-o", "APT::Sandbox::User=root", // the sandbox's user cannot write into our directory
		"-o", "APT::Get::List-Cleanup=true",
	}
	if sources {
		l = append(l,
			"-o", "Dir::Etc::sourcelist="+filepath.Join(a.dir, "sources.list"), "-o", "Dir::Etc::sourceparts=-",
			"-o", "Dir::Etc::preferences=/dev/null", "-o", "Dir::Etc::preferencesparts=-",
			"-o", "Dir::State::status="+filepath.Join(a.dir, "status"),
			"-o", "APT::Architecture="+a.arch, "-o", "APT::Architectures="+a.arch)
	}
	return l
}

// targetFormat asks apt where its lists come from.
const targetFormat = "$(REPO_URI)|$(CODENAME)|$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(ARCHITECTURE)"

// mirror is the address of Debian's archive that the system uses, and the
// codename of the system's release.
func (a *apt) mirror(ctx context.Context) (uri, suite string, err error) {
	args := []string{"indextargets", "--format", targetFormat, "Created-By: Packages"}
	out, err := runTool(ctx, "", a.get, args...)
	if err == nil {
		if m, suite := debianMirror(string(out)); m != "" {
			return m, suite, nil
		}
	}
	// A fresh machine has no lists yet, and apt knows by them what is Debian.
	fmt.Fprintln(a.log, "apt has no lists: fetching those of this system's sources into the cache")
	if _, err := runTool(ctx, "", a.get, append(a.options(false), "update")...); err != nil {
		return "", "", err
	}
	out, err = runTool(ctx, "", a.get, append(a.options(false), args...)...)
	if err != nil {
		return "", "", err
	}
	if m, suite := debianMirror(string(out)); m != "" {
		return m, suite, nil
	}
	return "", "", errors.New("apt has no source of Debian itself, and only that has the kernel; name a kernel that is here: --kernel / for this machine's own if it has rdma_rxe, or --kernel DIR for an unpacked one")
}

// debianMirror picks the mirror from what apt answers in targetFormat, and the
// release without what stands behind its name, as in "bookworm-updates".
func debianMirror(out string) (uri, suite string) {
	for l := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(l), "|")
		if len(f) == 6 && f[0] != "" && f[2] == "Debian" && f[3] == "Debian" && f[4] == "main" {
			suite, _, _ = strings.Cut(f[1], "-")
			return f[0], suite
		}
	}
	return "", ""
}

// use makes the named suites the only ones; "" is the system's.
func (a *apt) use(ctx context.Context, suites ...string) error {
	m, system, err := a.mirror(ctx)
	if err != nil {
		return err
	}
	opt := "[arch=" + a.arch + "]"
	for _, k := range keyrings {
		if _, err := os.Stat(k); err == nil {
			opt = "[arch=" + a.arch + " signed-by=" + k + "]"
			break
		}
	}
	text := ""
	for i, s := range suites {
		if s == "" {
			s = system
			suites[i] = s
		}
		text += fmt.Sprintf("deb %s %s %s main\n", opt, m, s)
	}
	if err := os.WriteFile(filepath.Join(a.dir, "sources.list"), []byte(text), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(a.log, "reading the lists of %s from %s\n", strings.Join(suites, " and "), m)
	if _, err := runTool(ctx, "", a.get, append(a.options(true), "-o", "APT::Update::Error-Mode=any", "update")...); err != nil {
		return err
	}
	return nil
}

// pkg is what the lists say about a package.
type pkg struct {
	name, version string
	depends       []string // names only; of alternatives the first
	size          int64    // bytes
}

var errNoPackage = errors.New("no such package in the lists")

// show reads what the lists say; arg may be NAME or NAME/SUITE.
func (a *apt) show(ctx context.Context, arg string) (*pkg, error) {
	out, err := runTool(ctx, "", a.cache, append(a.options(true), "--no-all-versions", "show", arg)...)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", arg, errNoPackage)
	}
	p := parsePackage(string(out))
	if p.name == "" {
		return nil, fmt.Errorf("%s: %w", arg, errNoPackage)
	}
	return p, nil
}

var dependName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+`)

// parsePackage reads the first stanza.
func parsePackage(text string) *pkg {
	p := &pkg{}
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if l == "" && p.name != "" {
			break
		}
		key, v, _ := strings.Cut(l, ": ")
		switch key {
		case "Package":
			p.name = v
		case "Version":
			p.version = v
		case "Size":
			p.size, _ = strconv.ParseInt(v, 10, 64)
		case "Depends":
			for _, d := range strings.Split(v, ",") {
				if n := dependName.FindString(strings.TrimSpace(d)); n != "" {
					p.depends = append(p.depends, n)
				}
			}
		}
	}
	return p
}

// download fetches packages and returns their files.
func (a *apt) download(ctx context.Context, l ...*pkg) (files []string, err error) {
	dir, err := os.MkdirTemp(filepath.Join(a.dir, "debs"), "")
	if err != nil {
		return nil, err
	}
	args := append(a.options(true), "download")
	size := int64(0)
	for _, p := range l {
		args = append(args, p.name+"="+p.version)
		size += p.size
	}
	fmt.Fprintf(a.log, "downloading %d packages, %d MB\n", len(l), (size+500_000)/1_000_000)
	if _, err := runTool(ctx, dir, a.get, args...); err != nil {
		return nil, err
	}
	if files, err = filepath.Glob(filepath.Join(dir, "*.deb")); err == nil && len(files) != len(l) {
		err = fmt.Errorf("apt-get download: %d of %d packages came", len(files), len(l))
	}
	return files, err
}

// unpack unpacks packages into a directory and removes them.
func unpack(ctx context.Context, dir string, debs []string) error {
	dpkg, err := tool("dpkg", "dpkg")
	if err != nil {
		return err
	}
	for _, d := range debs {
		if _, err := runTool(ctx, "", dpkg, "-x", d, dir); err != nil {
			return err
		}
		os.Remove(d)
	}
	return nil
}

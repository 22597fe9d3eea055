package cli

import (
	"errors"
	"flag"
	"fmt"
	"runtime/debug"

	"cnuas/internal/fabric"
	"cnuas/internal/topology"
	"cnuas/topologies"
)

func (a *app) lint(args []string) error {
	files, err := a.parse(flag.NewFlagSet("lint", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return usageError("name a topology file")
	}
	bad := 0
	for _, f := range files {
		s, err := topology.Load(f)
		if err == nil {
			if err = fabric.CheckPartitions(s); err != nil {
				err = fmt.Errorf("%s: %w", f, err)
			}
		}
		if err != nil {
			fmt.Fprintln(a.out, err)
			bad++
			continue
		}
		fmt.Fprintf(a.out, "%s: ok: fabric %s with %s\n", f, s.Name, extent(s))
		a.warn(s)
	}
	if bad > 0 {
		return &exitError{status: exitFailed, err: fmt.Errorf("%d of %d files cannot be used", bad, len(files))}
	}
	return nil
}

func (a *app) topologies(args []string) error {
	names, err := a.parse(flag.NewFlagSet("topologies", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		for _, n := range topology.Shipped() {
			fmt.Fprintln(a.out, n)
		}
		return nil
	}
	for _, n := range names {
		b, err := topologies.Files.ReadFile(n + ".toml")
		if err != nil {
			return fmt.Errorf("no topology %q is shipped; cnuas topologies lists them", n)
		}
		if _, err := a.out.Write(b); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) export(args []string) error {
	names, err := a.parse(flag.NewFlagSet("export", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(names) != 1 {
		return usageError("name one topology file, or a shipped one: cnuas topologies lists them")
	}
	s, err := topology.Load(names[0])
	if err != nil {
		return err
	}
	if !s.HasIB() {
		return fmt.Errorf("fabric %s has no InfiniBand part, which is all that the format of ibnetdiscover knows", s.Name)
	}
	_, err = a.out.Write(topology.ExportIBNet(s))
	return err
}

func (a *app) version(args []string) error {
	pos, err := a.parse(flag.NewFlagSet("version", flag.ContinueOnError), args)
	if err != nil {
		return err
	}
	if len(pos) > 0 {
		return usageError("takes no arguments")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("the program was built without build information")
	}
	rev, mod := "unknown revision", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			rev = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				mod = ", modified"
			}
		}
	}
	fmt.Fprintf(a.out, "cnuas %s (%s%s), %s\n", info.Main.Version, rev, mod, info.GoVersion)
	return nil
}

package bmc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"cnuas/internal/vm"
)

// StandInMachine is the only board that the stand-in boots on.
const StandInMachine = "ast2600-evb"

// enabled are the nodes of the device tree that the board's leaves disabled:
// UART1, ttyS0 in Linux, is our way to the guest's shell; the first USB host
// controller is where QEMU's usb-bus.0 is.
var enabled = []string{"serial@1e783000", "usb@1e6a1000"}

// Files in the tree of the stand-in beside the packages.
const (
	releaseFile = "cnuas-release"
	kernelFile  = "cnuas-kernel"
	treeFile    = "cnuas.dtb"
)

var standIn = vm.Tree{
	Name: "bmc", Arch: "armhf", Kernel: "linux-image-armmp",
	Names:   []string{"busybox-static", "mbpoll", "dropbear-bin"},
	Prepare: prepareStandIn,
}

// StandInHere tells whether the stand-in's packages are in the cache.
func StandInHere() bool { return standIn.Here() }

// FetchStandIn gets the stand-in's packages through apt into the cache, some
// 50 MB. It returns at once if they are there. Progress goes to log.
func FetchStandIn(ctx context.Context, log io.Writer) error { return standIn.Fetch(ctx, log) }

// StandInDir is where they are.
func StandInDir() string { return standIn.Dir() }

// prepareStandIn makes what every boot needs of the unpacked packages.
func prepareStandIn(ctx context.Context, tree, release string) error {
	zImage := filepath.Join(tree, "boot", "vmlinuz-"+release)
	err := unpackKernel(ctx, zImage, filepath.Join(tree, kernelFile))
	if errors.Is(err, errNotUnpackable) {
		err = os.Link(zImage, filepath.Join(tree, kernelFile)) // it boots the long way
	}
	if err != nil {
		return err
	}
	dtb, err := os.ReadFile(filepath.Join(tree, "usr/lib", "linux-image-"+release, "aspeed-ast2600-evb.dtb"))
	if errors.Is(err, os.ErrNotExist) {
		dtb, err = os.ReadFile(filepath.Join(tree, "usr/lib", "linux-image-"+release, "aspeed", "aspeed-ast2600-evb.dtb"))
	}
	if err != nil {
		return fmt.Errorf("Linux %s has no device tree for %s: %w", release, StandInMachine, err)
	}
	for _, node := range enabled {
		if err := enable(dtb, node); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(tree, treeFile), dtb, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(tree, releaseFile), []byte(release+"\n"), 0o644)
}

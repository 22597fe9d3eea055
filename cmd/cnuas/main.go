// Command cnuas emulates the interconnect of an AI cluster on one Linux
// machine. See cnuas help.
package main

import (
	"os"

	"cnuas/internal/cli"
	"cnuas/internal/launch"
	"cnuas/internal/vm/agent"
)

func main() {
	agent.MaybeInit()
	launch.MaybeChild()
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

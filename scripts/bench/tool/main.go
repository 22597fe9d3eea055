// Command tool holds the small programs that scripts/bench measures against.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: tool vmwritev|taploop|udpsend|udprecv ..."))
	}
	var err error
	switch args := os.Args[2:]; os.Args[1] {
	case "vmwritev":
		err = vmwritev(seconds(args, 0))
	case "taploop":
		err = taploop(args)
	case "udpsend":
		err = udpsend(args[0], seconds(args, 1))
	case "udprecv":
		err = udprecv(args[0], seconds(args, 1))
	default:
		err = fmt.Errorf("unknown program %q", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "tool:", err)
	os.Exit(1)
}

func seconds(args []string, i int) time.Duration {
	if len(args) <= i {
		fail(fmt.Errorf("a duration in seconds is missing"))
	}
	f, err := strconv.ParseFloat(args[i], 64)
	if err != nil {
		fail(err)
	}
	return time.Duration(f * float64(time.Second))
}

// Command berth runs containers and virtual machines on hosts that you own: server, agent, and the client of both.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is set when berth is built.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second Ctrl-C ends the process at once: children end with it.
	context.AfterFunc(ctx, stop)
	a := &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, lookupEnv: os.LookupEnv}
	err := newRoot(a).ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	if !errors.Is(err, errTold) {
		fmt.Fprintln(os.Stderr, "berth:", err)
	}
	os.Exit(1)
}

// errTold ends a command with a failure that it has told already.
var errTold = errors.New("failed")

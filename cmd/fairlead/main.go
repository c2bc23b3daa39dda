// Command fairlead is a model routing gateway. This package turns flags and environment into calls of the app, and
// what they return into text and an exit code.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // budgets follow zones, also where the machine has no table of them
)

// version and commit are set when a release is built.
var (
	version = "dev"
	commit  = ""
)

// Exit codes that scripts rely on.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitProblems    = 3
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, newConsole(), os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes one command line and returns its exit code.
func run(ctx context.Context, c *console, args []string) int {
	root := newRoot(c)                        //nolint:contextcheck // commands get the context when they are run
	root.SetArgs(append([]string{}, args...)) // nil would mean the process's own
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if text := errorText(ctx, err); text != "" {
		fmt.Fprintln(c.err, text)
	}
	return exitCode(ctx, err)
}

func exitCode(ctx context.Context, err error) int {
	if _, ok := errors.AsType[*problemsError](err); ok {
		return exitProblems
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return exitFailed
}

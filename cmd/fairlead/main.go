// Command fairlead is a model routing gateway. This package turns flags and environment into calls of the app, and
// what they return into text and an exit code.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
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
	log.SetOutput(io.Discard) // net/http logs bytes of unsolicited provider responses there
	c := newConsole()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, stop := context.WithCancel(context.Background())
	go heed(signals, stop, func() {
		fmt.Fprintln(c.err, "interrupted again: ended at once, without waiting for what was under way")
		os.Exit(exitInterrupted)
	})
	os.Exit(run(ctx, c, os.Args[1:]))
}

// sameGesture is how long signals count as one: a terminal signals a whole group, and what started us may pass that on.
const sameGesture = time.Second

// heed stops with the first signal, and ends at once with one that comes while that takes its time.
func heed(signals <-chan os.Signal, stop, end func()) {
	<-signals
	stop()
	for first := time.Now(); ; {
		<-signals
		if time.Since(first) >= sameGesture {
			end()
			return
		}
	}
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

// Command bench compares the cost of Fairlead with a minimal Go proxy, nginx and a direct connection, in one run: CPU time
// per request, added latency, throughput, and memory per open stream. Every server is a separate process on loopback.
// Rounds are interleaved, so that other load on the machine affects all servers equally. Compare the ratios: absolute times
// mean little on a shared machine. Linux only.
//
//	go build -o bin/fairlead ./cmd/fairlead && go run ./bench
//	go run ./bench -quick                    # a few minutes instead of a quarter of an hour
//	go run ./bench -only chat-1k,stream-200
//	go run ./bench -against other/fairlead   # two builds in turn, without and with TLS
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// plan determines how much is measured.
type plan struct {
	binary string
	full   bool     // whether to run the Go benchmarks of single steps as well
	only   []string // names of the workloads and steps to measure; empty for all
	rounds int
	slice  time.Duration
	warmup time.Duration
	hold   time.Duration // time for which streams are kept open
	open   int           // number of open streams
	soak   time.Duration // duration of the load before memory is read

	sessions int // agent sessions per caller and round; there are eight callers
}

// manyStreams returns 10,000, or fewer if the limit on open files does not allow two files per stream.
func manyStreams() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return 1000
	}
	return int(min(10_000, files.Max/2-200))
}

// run runs one of the servers if the first argument names one. Otherwise it runs the measurements.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "upstream":
			return serveUpstream(ctx, out)
		case floor:
			return serveFloor(ctx, args[1:], out)
		}
	}
	p := plan{full: true, rounds: 4, slice: 5 * time.Second, warmup: 1500 * time.Millisecond, hold: 15 * time.Second, open: manyStreams(), soak: 5 * time.Minute, sessions: 3}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&p.binary, "fairlead", "bin/fairlead", "path of the binary to measure")
	only := flags.String("only", "", "measurements to run, separated by commas: one-caller, chat-1k, chat-10k, chat-100k, chat-100k-new, stream-200, hold, memory, agent, decide, log-sqlite, log-postgres")
	quick := flags.Bool("quick", false, "fewer and shorter rounds, fewer open streams, no Go benchmarks")
	against := flags.String("against", "", "path of a second build; measure both builds in turn, without and with TLS")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *quick {
		p = plan{binary: p.binary, rounds: 2, slice: 2 * time.Second, warmup: time.Second, hold: 6 * time.Second, open: 2000, soak: 20 * time.Second, sessions: 1}
	}
	if *only != "" {
		p.only = strings.Split(*only, ",")
	}
	dir, err := os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return err
	}
	b := &bench{plan: p, dir: dir, out: out}
	if *against != "" {
		err = b.compareBuilds(ctx, *against)
	} else {
		err = b.compare(ctx)
	}
	b.stopAll()
	return errors.Join(err, os.RemoveAll(dir))
}

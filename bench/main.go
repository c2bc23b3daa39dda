// Command bench measures what Fairlead costs beside a minimal reverse proxy, in one run: CPU time per request, and the
// latency it adds to a direct call. Every server is a process of its own on loopback; rounds are interleaved, so that
// whatever else the machine does meets all of them alike. Read the ratios: absolute times mean little on a shared machine.
//
//	go build -o bin/fairlead ./cmd/fairlead && go run ./bench
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run measures, or plays one of the servers when the first argument names it.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "upstream":
			return serveUpstream(ctx, out)
		case "floor":
			return serveFloor(ctx, args[1:], out)
		}
	}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	binary := flags.String("fairlead", "bin/fairlead", "path of the binary to measure")
	rounds := flags.Int("rounds", 5, "how often each workload is run on each server")
	slice := flags.Duration("slice", 2*time.Second, "how long each of them takes")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return measure(ctx, out, *binary, *rounds, *slice)
}

// measure starts the servers, runs every workload on each of them in turn, and prints a table.
func measure(ctx context.Context, out io.Writer, binary string, rounds int, slice time.Duration) (err error) {
	dir, err := os.MkdirTemp("", "fairlead-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	servers, stopAll, err := startServers(ctx, binary, dir)
	defer func() { err = errors.Join(err, stopAll()) }()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d rounds of %s each, medians; CPU of the server alone, in microseconds per request\n\n", rounds, slice)
	fmt.Fprintf(out, "%-22s %-9s %9s %8s %9s %9s %8s\n", "workload", "server", "CPU µs", "ratio", "p50 µs", "p99 µs", "req/s")
	for _, w := range workloads() {
		results := map[string][]sample{}
		for range rounds {
			for _, s := range servers {
				one, err := runSlice(ctx, s, w, slice)
				if err != nil {
					return fmt.Errorf("%s on %s: %w", w.name, s.name, err)
				}
				results[s.name] = append(results[s.name], one)
			}
		}
		report(out, w, servers, results)
	}
	return nil
}

// sample is what one slice measured.
type sample struct {
	cpu      float64 // microseconds per request
	p50, p99 float64 // microseconds
	rate     float64 // requests a second
}

func report(out io.Writer, w workload, servers []*server, results map[string][]sample) {
	floor := median(results["floor"], func(s sample) float64 { return s.cpu })
	for _, s := range servers {
		of := results[s.name]
		cpu := median(of, func(s sample) float64 { return s.cpu })
		ratio, cpuText := "", ""
		if s.pid > 0 {
			cpuText, ratio = fmt.Sprintf("%.0f", cpu), fmt.Sprintf("%.2f×", cpu/floor)
		}
		fmt.Fprintf(out, "%-22s %-9s %9s %8s %9.0f %9.0f %8.0f\n", w.name, s.name, cpuText, ratio,
			median(of, func(s sample) float64 { return s.p50 }), median(of, func(s sample) float64 { return s.p99 }),
			median(of, func(s sample) float64 { return s.rate }))
	}
}

func median(list []sample, of func(sample) float64) float64 {
	values := make([]float64, 0, len(list))
	for _, s := range list {
		values = append(values, of(s))
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// dataDir is where the measured gateway keeps its data.
func dataDir(dir string) string { return filepath.Join(dir, "data") }

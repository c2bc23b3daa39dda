package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"fairlead.dev/bench/load"
)

// startUp is the time after which every server has finished its startup work.
const startUp = 6 * time.Second

// bench is one run of this program.
type bench struct {
	plan
	dir     string
	out     io.Writer
	running []*child
}

// results holds the results of all measurements, by workload and server name.
type results map[string]map[string][]load.Result

func (r results) add(workload, server string, one load.Result) {
	if r[workload] == nil {
		r[workload] = map[string][]load.Result{}
	}
	r[workload][server] = append(r[workload][server], one)
}

// compare runs every workload against every server in turn and prints one table.
func (b *bench) compare(ctx context.Context) error {
	servers, err := b.startAll(ctx, deployment{models: 2, policies: 1})
	if err != nil {
		return err
	}
	got, memory := results{}, map[string]memory{}
	select { // idle memory is measured after startup
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(startUp):
	}
	for _, s := range servers {
		memory[s.name] = memoryOf(s)
	}
	for _, w := range b.workloads() {
		if w.spec.Hold {
			continue
		}
		for round := range b.rounds {
			for i := range servers {
				s := servers[(i+round)%len(servers)] // a different server goes first in each round
				if err := b.runWorkload(ctx, s, w, got); err != nil {
					return err
				}
			}
		}
	}
	b.stopAll()
	if len(b.only) == 0 || slices.Contains(b.only, "memory") {
		if err := b.loadLong(ctx, memory); err != nil {
			return err
		}
	}
	if err := b.holdAll(ctx, got); err != nil {
		return err
	}
	agents, err := b.measureAgents(ctx)
	if err != nil {
		return err
	}
	more, err := b.measureSteps(ctx)
	if err != nil {
		return err
	}
	file, err := os.Stat(b.binary)
	if err != nil {
		return err
	}
	binary := figure{"binary", float64(file.Size()) / 1e6, "MB", 60, 45, false}
	b.report(got, slices.Concat(figures(got, memory), []figure{binary}, agents, more))
	fmt.Fprintf(b.out, "\nmemory at rest without the pages of the program's file: %.1f MiB\n", mebibytes(memory[fairlead].idle-memory[fairlead].file))
	return nil
}

func (b *bench) runWorkload(ctx context.Context, s *server, w workload, got results) error {
	one, err := load.Run(ctx, s.at, w.spec)
	if err != nil {
		return fmt.Errorf("%s on %s: %w", w.name, s.name, err)
	}
	if w.spec.Hold {
		fmt.Fprintf(b.out, "%-11s %-9s %7d open %8.1f KB each  failures %v\n", w.name, s.name, one.Open, perStream(one), one.Failures)
		got.add(w.name, s.name, one)
		return nil
	}
	fmt.Fprintf(b.out, "%-11s %-9s %7.0f req/s %8.1f µs CPU  p50 %7.0f p99 %7.0f µs  failures %v\n",
		w.name, s.name, one.Rate(), micros(one.Each(one.CPU)), micros(one.P50), micros(one.P99), one.Failures)
	got.add(w.name, s.name, one)
	return nil
}

// holdAll opens many slow streams on each server. The servers are restarted, so that memory left by an earlier workload
// does not distort the result.
func (b *bench) holdAll(ctx context.Context, got results) error {
	for _, w := range b.workloads() {
		if !w.spec.Hold {
			continue
		}
		// The limit is twice the number of streams, because a single key may use only a share of the limit.
		servers, err := b.startAll(ctx, deployment{models: 2, policies: 1, concurrent: 2 * b.open})
		if err != nil {
			return err
		}
		for _, s := range servers {
			if s.name == direct {
				continue
			}
			if err := b.runWorkload(ctx, s, w, got); err != nil {
				return err
			}
		}
		b.stopAll()
	}
	return nil
}

// memory holds the memory use of a server: when idle, in the middle of a load run, and at the end of the run. file is the part of
// idle that is mapped from the program file.
type memory struct{ idle, file, middle, loaded int64 }

func memoryOf(s *server) memory {
	u, _ := load.UsageOf(s.at.PID) // the error is ignored: if the server has ended, the load run fails
	return memory{idle: u.Memory, file: u.File}
}

// loadLong measures the memory in the middle and at the end of a long load run. If memory does not grow, the two values are about equal.
// Fairlead is restarted, because earlier workloads leave memory behind.
func (b *bench) loadLong(ctx context.Context, of map[string]memory) error {
	servers, err := b.startAll(ctx, deployment{models: 2, policies: 1})
	if err != nil {
		return err
	}
	defer b.stopAll()
	gateway := servers[slices.IndexFunc(servers, func(s *server) bool { return s.name == fairlead })]
	spec := load.Spec{Prompt: 1 << 10, Callers: 32, Warmup: time.Second, Duration: b.soak / 2}
	first, err := load.Run(ctx, gateway.at, spec)
	if err != nil {
		return err
	}
	second, err := load.Run(ctx, gateway.at, spec)
	if err != nil {
		return err
	}
	m := of[fairlead]
	m.middle, m.loaded = first.After, second.After
	of[fairlead] = m
	return nil
}

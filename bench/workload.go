package main

import (
	"slices"
	"time"

	"fairlead.dev/bench/load"
	"fairlead.dev/internal/simulator"
)

// workload is a kind of traffic.
type workload struct {
	name string
	spec load.Spec
}

// workloads returns the workloads for every server. Prompts have the escapes and multi-byte characters of real prompts.
func (p plan) workloads() []workload {
	of := func(name string, callers, prompt int) workload {
		return workload{name, load.Spec{Callers: callers, Prompt: prompt, Warmup: p.warmup, Duration: p.slice}}
	}
	streaming := func(w workload, pace simulator.Pace) workload {
		w.spec.Stream, w.spec.Preface = true, pace.String()
		return w
	}
	held := streaming(of("hold", p.open, 1<<10), simulator.Pace{First: 200 * time.Millisecond, Gap: time.Second, Chunks: 1 << 30, Format: "completions"})
	held.spec.Hold, held.spec.Duration = true, p.hold
	held.spec.Spread = time.Duration(p.open)*time.Millisecond + 4*time.Second
	held.spec.Warmup = held.spec.Spread * 4 / 3 // time for late callers on a busy machine
	unrelated := of("chat-100k-new", 32, 100<<10)
	unrelated.spec.Unrelated = true
	all := []workload{
		of("one-caller", 1, 1<<10),
		of("chat-1k", 64, 1<<10),
		of("chat-10k", 64, 10<<10),
		of("chat-100k", 32, 100<<10),
		unrelated,
		streaming(of("stream-200", 200, 1<<10), simulator.Pace{First: 50 * time.Millisecond, Gap: 20 * time.Millisecond, Chunks: 50, Format: "completions"}),
		held,
	}
	if len(p.only) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(w workload) bool { return !slices.Contains(p.only, w.name) })
}

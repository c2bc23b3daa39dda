package main

import (
	"slices"
	"time"

	"fairlead/bench/load"
	"fairlead/bench/mock"
)

// workload is a kind of traffic, and how the upstream answers it.
type workload struct {
	name     string
	spec     load.Spec
	upstream mock.Config
}

// workloads are what every server is put to. Prompts have the escapes and the multi-byte characters of real ones.
func (p plan) workloads() []workload {
	of := func(name string, s load.Spec, chunks, first, gap int) workload {
		s.Warmup, s.Duration = p.warmup, p.slice
		up := mock.Default()
		up.Chunks, up.TTFTMS, up.GapMS = chunks, first, gap
		return workload{name, s, up}
	}
	held := of("hold", load.Spec{Stream: true, Hold: true, PromptBytes: 1 << 10, Concurrency: p.open}, 1<<30, 200, 1000)
	held.spec.Warmup = time.Duration(p.open)*1500*time.Microsecond + 4*time.Second
	held.spec.Duration = p.hold
	all := []workload{
		of("one-caller", load.Spec{PromptBytes: 1 << 10, Concurrency: 1}, 0, 0, 0),
		of("chat-1k", load.Spec{PromptBytes: 1 << 10, Concurrency: 64}, 0, 0, 0),
		of("chat-10k", load.Spec{PromptBytes: 10 << 10, Concurrency: 64}, 0, 0, 0),
		of("chat-100k", load.Spec{PromptBytes: 100 << 10, Concurrency: 32}, 0, 0, 0),
		of("stream-200", load.Spec{PromptBytes: 1 << 10, Concurrency: 200, Stream: true}, 50, 50, 20),
		held,
	}
	if len(p.only) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(w workload) bool { return !slices.Contains(p.only, w.name) })
}

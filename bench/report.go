package main

import (
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"fairlead.dev/bench/load"
)

// figure is a row of the table: a measured value with its required and its desired limit.
type figure struct {
	name          string
	value         float64
	unit          string
	must, stretch float64
	atLeast       bool // whether the limits are minimums
}

// against formats a limit, followed by "met" or "missed".
func (f figure) against(bound float64) string {
	sign, met := "≤", f.value <= bound
	if f.atLeast {
		sign, met = "≥", f.value >= bound
	}
	if met {
		return fmt.Sprintf("%s %g met", sign, bound)
	}
	return fmt.Sprintf("%s %g missed", sign, bound)
}

// report prints the figures and whether they meet their limits.
func (b *bench) report(got results, rows []figure) {
	fmt.Fprintln(b.out)
	t := tabwriter.NewWriter(b.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "figure\tfound\tmust\tstretch")
	for _, f := range rows {
		fmt.Fprintf(t, "%s\t%.2f %s\t%s\t%s\n", f.name, f.value, f.unit, f.against(f.must), f.against(f.stretch))
	}
	_ = t.Flush()
	b.reportCPU(got)
}

// figures computes the figures from the results.
func figures(got results, of map[string]memory) []figure {
	p50 := func(r load.Result) float64 { return micros(r.P50) }
	p99 := func(r load.Result) float64 { return micros(r.P99) }
	first := func(r load.Result) float64 { return micros(r.FirstP99) }
	ratio := func(w string) float64 { return median(got[w][fairlead], cpu) / median(got[w][floor], cpu) }
	added := func(w string, v func(load.Result) float64) float64 {
		return median(got[w][fairlead], v) - median(got[w][direct], v)
	}
	var rows []figure
	add := func(w string, f ...figure) {
		if len(got[w]) > 0 {
			rows = append(rows, f...)
		}
	}
	add("chat-1k", figure{"CPU per request, 1 KB, of the floor's", ratio("chat-1k"), "×", 3, 2.2, false})
	add("chat-10k", figure{"CPU per request, 10 KB, of the floor's", ratio("chat-10k"), "×", 3, 2.2, false})
	add("chat-100k", figure{"CPU per request, 100 KB, of the floor's", ratio("chat-100k"), "×", 3, 2, false})
	add("chat-100k-new", figure{"CPU per request, 100 KB, all new, of the floor's", ratio("chat-100k-new"), "×", 3, 2, false})
	add("stream-200", figure{"CPU per stream of 50 chunks, of the floor's", ratio("stream-200"), "×", 1.6, 1.3, false})
	add("one-caller", figure{"latency added, one caller, p50", added("one-caller", p50), "µs", 250, 150, false},
		figure{"latency added, one caller, p99", added("one-caller", p99), "µs", 1000, 600, false})
	add("stream-200", figure{"first chunk added, 200 streams, p99", added("stream-200", first), "µs", 1000, 400, false})
	open := median(got["hold"][fairlead], func(r load.Result) float64 { return float64(r.Open) })
	add("hold", figure{fmt.Sprintf("memory per open stream, %.0f open", open), median(got["hold"][fairlead], perStream), "KB", 60, 45, false})
	rows = append(rows, figure{"memory at rest", mebibytes(of[fairlead].idle), "MiB", 45, 30, false})
	if m := of[fairlead]; m.loaded > 0 {
		rows = append(rows, figure{"memory in the middle of a load by 32 callers", mebibytes(m.middle), "MiB", 90, 60, false},
			figure{"memory at its end", mebibytes(m.loaded), "MiB", 90, 60, false})
	}
	return rows
}

// reportCPU prints the CPU time per request of every server, and the overhead of the measurement: the CPU time of the
// callers and the upstream without a server between them.
func (b *bench) reportCPU(got results) {
	if len(got) == 0 {
		return
	}
	t := tabwriter.NewWriter(b.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(t, "\nCPU µs per request\tcallers\tupstream\t%s\t%s\t%s\n", nginx, floor, fairlead)
	for _, w := range b.workloads() {
		if w.spec.Hold || len(got[w.name]) == 0 {
			continue
		}
		own := func(r load.Result) float64 { return micros(r.Each(r.Own)) }
		fmt.Fprintf(t, "%s\t%.1f", w.name, median(got[w.name][direct], own))
		for _, name := range []string{direct, nginx, floor, fairlead} {
			fmt.Fprintf(t, "\t%.1f", median(got[w.name][name], cpu))
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush()
}

func cpu(r load.Result) float64 { return micros(r.Each(r.CPU)) }

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// perStream returns the memory per open stream in KB.
func perStream(r load.Result) float64 {
	return float64(r.After-r.Before) / 1024 / float64(max(r.Open, 1))
}

func mebibytes(n int64) float64 { return float64(n) / (1 << 20) }

func median(list []load.Result, of func(load.Result) float64) float64 {
	values := make([]float64, 0, len(list))
	for _, r := range list {
		values = append(values, of(r))
	}
	return middle(values)
}

// middle returns the median of values, or 0 if there are none.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	if n := len(values); n%2 == 0 {
		return (values[n/2-1] + values[n/2]) / 2
	}
	return values[len(values)/2]
}

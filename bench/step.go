package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// step is one processing step of a request. A Go benchmark measures it, because the load generator cannot measure it separately.
type step struct {
	name    string // name for the flag -only
	pkg     string
	bench   string
	metric  string
	bounded figure // name and limits; the value is not set
}

func (p plan) steps() []step {
	const perCPU = "entries/cpu-s" // unit of the throughput per core
	all := []step{
		{"log-sqlite", "./internal/store", "WriteEntriesSQLite", perCPU, figure{name: "log entries for a CPU second, SQLite", must: 5000, stretch: 15_000, atLeast: true}},
		{"log-postgres", "./internal/store", "WriteEntriesPostgres", perCPU, figure{name: "log entries for a CPU second, PostgreSQL", must: 10_000, stretch: 15_000, atLeast: true}},
	}
	if p.full && len(p.only) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s step) bool { return !slices.Contains(p.only, s.name) })
}

// measureSteps runs the Go benchmarks of the steps. Each one runs several times and the best result counts, because
// other load on the machine can only make a benchmark slower. A benchmark that cannot run, for example without PostgreSQL, is
// reported and skipped.
func (b *bench) measureSteps(ctx context.Context) ([]figure, error) {
	var found []figure
	if b.full && len(b.only) == 0 || slices.Contains(b.only, "decide") {
		f, err := b.measureDecision(ctx)
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	for _, s := range b.steps() {
		args := []string{"test", "-run", "^$", "-cpu", "1", "-count", "3", "-bench", exactly("Benchmark" + s.bench), s.pkg}
		out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		f, values := s.bounded, metrics(string(out), s.metric)
		if err != nil || len(values) == 0 {
			fmt.Fprintf(b.out, "%s is not measured: %v\n%s", s.name, err, out)
			continue
		}
		f.value = slices.Min(values)
		if f.atLeast {
			f.value = slices.Max(values)
		}
		fmt.Fprintf(b.out, "%-12s %.0f %s\n", s.name, values, s.metric)
		found = append(found, f)
	}
	return found, nil
}

// exactly returns a pattern that matches only the given benchmark. Each part of the name is anchored.
func exactly(name string) string {
	return "^" + strings.ReplaceAll(name, "/", "$/^") + "$"
}

// metrics returns the values with the given unit in the output of a benchmark.
func metrics(output, unit string) (values []float64) {
	for line := range strings.Lines(output) {
		fields := strings.Fields(line)
		at := slices.Index(fields, unit)
		if at < 1 || !strings.HasPrefix(line, "Benchmark") {
			continue
		}
		if value, err := strconv.ParseFloat(fields[at-1], 64); err == nil {
			values = append(values, value)
		}
	}
	return values
}

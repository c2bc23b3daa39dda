// Command run runs the fault catalogue, or selected cases, against the built binary: one process per case, one line per result,
// and a table in test-results/faults.md.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"fairlead.dev/test/faults"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	failed, err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, args []string) (failed int, err error) {
	flags := flag.NewFlagSet("run", flag.ContinueOnError)
	only := flags.String("only", "", "ids of the cases to run, such as F03,F21; all when empty")
	total := flags.Duration("total", faults.Total, "time limit for all cases together")
	if err := flags.Parse(args); err != nil {
		return 0, err
	}
	cases, err := choose(faults.Cases(), *only)
	if err != nil {
		return 0, err
	}
	root, err := harness.Root()
	if err != nil {
		return 0, err
	}
	r, err := newRunner(ctx, root, time.Now().Add(*total))
	if err != nil {
		return 0, err
	}
	defer r.close()
	report := newReport(out, filepath.Join(r.results, "faults.md"), machine(ctx, root))
	for _, c := range cases {
		result, output := r.try(ctx, c)
		if err := report.add(result, output); err != nil {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, errors.New("interrupted")
		}
	}
	return report.end()
}

// choose returns the cases in the order of the catalogue: all of them, or the selected ones.
func choose(cases []scenario.Case, only string) ([]scenario.Case, error) {
	cases = slices.Clone(cases)
	slices.SortStableFunc(cases, func(a, b scenario.Case) int { return cmp.Compare(a.ID, b.ID) })
	if only == "" {
		return cases, nil
	}
	var chosen []scenario.Case
	for id := range strings.FieldsFuncSeq(only, func(r rune) bool { return r == ',' || r == ' ' }) {
		i := slices.IndexFunc(cases, func(c scenario.Case) bool { return c.ID == id })
		if i < 0 {
			return nil, fmt.Errorf("unknown case %q", id)
		}
		chosen = append(chosen, cases[i])
	}
	return chosen, nil
}

// runner runs each case in its own process.
type runner struct {
	binary   string    // path of the compiled tests of the catalogue
	work     string    // temporary directory of this run
	source   string    // folder of the tests
	results  string    // folder for the output of the cases
	deadline time.Time // deadline of all cases
}

func newRunner(ctx context.Context, root string, deadline time.Time) (*runner, error) {
	work, err := os.MkdirTemp("", "fairlead-faults-")
	if err != nil {
		return nil, err
	}
	r := &runner{
		binary: filepath.Join(work, "faults.test"), work: work, deadline: deadline,
		source: filepath.Join(root, "test", "faults"), results: filepath.Join(root, "test-results"),
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", r.binary, ".")
	build.Dir = r.source
	if output, err := build.CombinedOutput(); err != nil {
		r.close()
		return nil, fmt.Errorf("build the cases: %w\n%s", err, output)
	}
	if err := os.MkdirAll(filepath.Join(r.results, "faults"), 0o755); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *runner) close() { _ = os.RemoveAll(r.work) }

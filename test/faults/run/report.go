package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"fairlead.dev/test/faults"
)

// report prints each result and writes the table of all results.
type report struct {
	out     io.Writer
	path    string
	about   string
	results []faults.Result
}

func newReport(out io.Writer, path, about string) *report {
	return &report{out: out, path: path, about: about}
}

// add prints a result, with the end of its output if it failed, and rewrites the table, so that an interrupted run also
// has a table.
func (r *report) add(result faults.Result, output []byte) error {
	r.results = append(r.results, result)
	fmt.Fprintln(r.out, result)
	if result.Verdict == faults.Fail {
		fmt.Fprint(r.out, indent(output))
	}
	return os.WriteFile(r.path, r.table(), 0o600)
}

// end prints the totals, and returns the number of failures.
func (r *report) end() (failed int, err error) {
	passed, failed := r.sum()
	fmt.Fprintf(r.out, "%d passed, %d failed\n", passed, failed)
	return failed, os.WriteFile(r.path, r.table(), 0o600)
}

func (r *report) sum() (passed, failed int) {
	for _, result := range r.results {
		if result.Verdict == faults.Pass {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}

// table returns the report in Markdown.
func (r *report) table() []byte {
	var b bytes.Buffer
	passed, failed := r.sum()
	fmt.Fprintf(&b, "%s\n\n%d passed, %d failed\n\n", r.about, passed, failed)
	fmt.Fprint(&b, "| case | fault | | measurements | time |\n|---|---|---|---|---:|\n")
	for _, result := range r.results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", result.ID, cell(result.Name), result.Verdict, cell(result.Figure), result.Took.Round(100*time.Millisecond))
	}
	return b.Bytes()
}

// cell returns text escaped for a table cell.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text)
}

// indent returns the end of a case's output, indented.
func indent(output []byte) string {
	const most = 40
	lines := strings.Split(strings.TrimRight(string(output), "\n"), "\n")
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	return "      " + strings.Join(lines, "\n      ") + "\n"
}

// machine describes the version that was tested and the machine on which the figures were measured.
func machine(ctx context.Context, root string) string {
	cmd := exec.CommandContext(ctx, "git", "describe", "--tags", "--always", "--dirty")
	cmd.Dir = root
	version, err := cmd.Output()
	if err != nil {
		version = []byte("unknown") // a source archive contains no git repository
	}
	return fmt.Sprintf("Commit %s, %s; %d cores, %s/%s, %s.", bytes.TrimSpace(version), time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH, runtime.Version())
}

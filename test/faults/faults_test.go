package faults

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

var only = flag.String("only", "", "IDs of the cases to run, such as F03,F21; all when empty")

// TestCatalogue runs every case in full, or in its fast form with -short. The cases run one after the other, because they measure times.
// In full, it writes a table of the results to test-results/faults.md, also after an interrupted run.
func TestCatalogue(t *testing.T) { //nolint:paralleltest // the cases share the machine's two cores
	size := scenario.Full
	if testing.Short() {
		size = scenario.Fast
	}
	passed, failed, rows := 0, 0, ""
	for _, c := range chosen(t) {
		began, figure, skipped := time.Now(), "", false
		ok := t.Run(c.ID, func(t *testing.T) {
			defer func() { skipped = t.Skipped() }()
			figure = c.Run(t, size)
		})
		verdict := "pass"
		if passed++; !ok || skipped { // a skipped case has not passed
			verdict, passed, failed = "fail", passed-1, failed+1
		}
		cell := strings.NewReplacer("|", `\|`, "\n", " ").Replace(cmp.Or(figure, "ended before it measured anything"))
		row := fmt.Sprintf("| %s | %s | %s | %s | %s |\n", c.ID, c.Name, verdict, cell, time.Since(began).Round(100*time.Millisecond))
		_, _ = fmt.Fprint(os.Stdout, row)
		if rows += row; size == scenario.Full {
			writeTable(t, fmt.Sprintf("%s\n\n%d passed, %d failed\n\n| case | fault | | measurements | time |\n|---|---|---|---|---:|\n%s", machine(t), passed, failed, rows))
		}
	}
}

// chosen returns the cases of the flag -only.
func chosen(t *testing.T) []scenario.Case {
	t.Helper()
	if *only == "" {
		return Cases()
	}
	var list []scenario.Case
	for id := range strings.SplitSeq(*only, ",") {
		i := slices.IndexFunc(Cases(), func(c scenario.Case) bool { return c.ID == id })
		if i < 0 {
			t.Fatalf("unknown case %q", id)
		}
		list = append(list, Cases()[i])
	}
	return list
}

func writeTable(t *testing.T, text string) {
	t.Helper()
	root, err := harness.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "test-results")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "faults.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// machine describes the version that was tested and the machine on which the figures were measured.
func machine(t *testing.T) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), "git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		version = []byte("unknown") // a source archive contains no git repository
	}
	return fmt.Sprintf("Commit %s, %s; %d cores, %s/%s, %s.", strings.TrimSpace(string(version)), time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.GOOS,
		runtime.GOARCH, runtime.Version())
}

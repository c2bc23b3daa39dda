package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/test/faults"
	"fairlead.dev/test/faults/scenario"
)

func TestChooseKeepsTheOrderOfTheCatalogue(t *testing.T) {
	t.Parallel()
	cases := []scenario.Case{{ID: "F21"}, {ID: "F02"}, {ID: "F21r"}}
	for only, want := range map[string]string{"": "F02 F21 F21r", "F21r,F02": "F21r F02"} {
		chosen, err := choose(cases, only)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, c := range chosen {
			ids = append(ids, c.ID)
		}
		if diff := cmp.Diff(want, strings.Join(ids, " ")); diff != "" {
			t.Errorf("choose(%q) (-want +got):\n%s", only, diff)
		}
	}
	if _, err := choose(cases, "F99"); err == nil {
		t.Error("choose(F99) returned no error, although the case does not exist")
	}
}

func TestReportCountsFailuresAndMissingCases(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	path := filepath.Join(t.TempDir(), "faults.md")
	r := newReport(&out, path, "Of a test.")
	for _, result := range []faults.Result{
		{ID: "F01", Name: "one", Verdict: faults.Pass, Figure: "1 | 2", Took: time.Second},
		{ID: "F02", Name: "two", Verdict: faults.Fail, Figure: "lost 3", Took: time.Minute},
	} {
		if err := r.add(result, []byte("said\n")); err != nil {
			t.Fatal(err)
		}
	}
	r.missing = []string{"F03"}
	failed, err := r.end()
	if err != nil || failed != 1 {
		t.Errorf("end() = %d, %v, want 1, nil", failed, err)
	}
	wantLines := "F01   pass       1s  one: 1 | 2\nF02   fail     1m0s  two: lost 3\n      said\nF03   missing\n1 passed, 1 failed\n"
	if diff := cmp.Diff(wantLines, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	wantTable := "Of a test.\n\n1 passed, 1 failed, missing: F03\n\n| case | fault | | measurements | time |\n|---|---|---|---|---:|\n" +
		"| F01 | one | pass | 1 \\| 2 | 1s |\n| F02 | two | fail | lost 3 | 1m0s |\n"
	table, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantTable, string(table)); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestTryFailsWithoutAResult(t *testing.T) { //nolint:paralleltest // a script cannot be run while another fork has it open for writing
	r := fakeRunner(t, "exit 3")
	result, _ := r.try(t.Context(), scenario.Case{ID: "F05", Name: "five"})
	if result.Verdict != faults.Fail || result.Figure != "no result: exit status 3" {
		t.Errorf("got %v, want a failure without a result", result)
	}
}

func TestTryFailsAfterTheTimeLimit(t *testing.T) { //nolint:paralleltest // a script cannot be run while another fork has it open for writing
	r := fakeRunner(t, "sleep 0.3; exit 2")
	r.deadline = time.Now().Add(200 * time.Millisecond)
	if result, _ := r.try(t.Context(), scenario.Case{ID: "F05"}); result.Verdict != faults.Fail || result.Figure != "not done within 0s" {
		t.Errorf("got %v, want a failure after the time limit", result)
	}
	if result, _ := r.try(t.Context(), scenario.Case{ID: "F07"}); result.Verdict != faults.Fail || !strings.HasPrefix(result.Figure, "not tried") {
		t.Errorf("got %v, want a failure of a case that was not tried", result)
	}
}

func TestTryFailsIfTheProcessFailsAfterAPass(t *testing.T) { //nolint:paralleltest // a script cannot be run while another fork has it open for writing
	r := fakeRunner(t, `echo '{"verdict":"pass","figure":"fine"}' >"$`+faults.ResultVariable+`"; exit 1`)
	if result, _ := r.try(t.Context(), scenario.Case{ID: "F05"}); result.Verdict != faults.Fail || result.Figure != "fine; cleaning up: exit status 1" {
		t.Errorf("got %v, want a failure after the result", result)
	}
}

// fakeRunner runs a script in place of the cases.
func fakeRunner(t *testing.T, script string) *runner {
	t.Helper()
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "faults"), 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "cases")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return &runner{binary: binary, work: dir, source: dir, results: dir, deadline: time.Now().Add(time.Minute)}
}

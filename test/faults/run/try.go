package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"fairlead.dev/test/faults"
	"fairlead.dev/test/faults/scenario"
)

// grace is the time in which a case that exceeds its limit can print where it hangs, before it is killed.
const grace = 20 * time.Second

// try runs one case within its time limit. Its output is stored in test-results/faults/ and returned.
func (r *runner) try(ctx context.Context, c scenario.Case) (faults.Result, []byte) {
	result := faults.Result{ID: c.ID, Name: c.Name, Verdict: faults.Fail}
	bound := min(faults.Bound(c.ID), time.Until(r.deadline))
	if bound <= 0 {
		result.Figure = "not tried: the time for all cases is used up"
		return result, nil
	}
	resultFile := filepath.Join(r.work, c.ID+".json")
	var output bytes.Buffer
	began := time.Now()
	ended := r.process(ctx, c.ID, resultFile, bound, &output)
	result.Took = time.Since(began)
	if err := os.WriteFile(filepath.Join(r.results, "faults", c.ID+".log"), output.Bytes(), 0o600); err != nil {
		output.WriteString(err.Error())
	}
	data, err := os.ReadFile(resultFile)
	if err == nil {
		err = json.Unmarshal(data, &result)
	}
	switch {
	case err != nil && result.Took >= bound:
		result.Figure = fmt.Sprintf("not done within %s", bound.Round(time.Second))
	case err != nil:
		result.Figure = fmt.Sprintf("no result: %v", ended)
	case ended != nil && result.Verdict == faults.Pass:
		// The case passed, but something failed afterwards, such as a process that did not end or a database that was
		// not released.
		result.Verdict, result.Figure = faults.Fail, result.Figure+"; cleaning up: "+ended.Error()
	}
	return result, output.Bytes()
}

// process runs the tests of one case. Processes that the case leaves behind are killed.
func (r *runner) process(ctx context.Context, id, resultFile string, bound time.Duration, output *bytes.Buffer) error {
	ctx, cancel := context.WithTimeout(ctx, bound+grace)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.binary, "-test.run", "^TestCatalogue$/^"+regexp.QuoteMeta(id)+"$", "-test.count=1", "-test.timeout", bound.String())
	cmd.Dir, cmd.Stdout, cmd.Stderr = r.source, output, output
	cmd.Env = append(os.Environ(), faults.ResultVariable+"="+resultFile, "CI=true") // a missing service fails the case
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // usually no process is left
	}
	return err
}

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// ResultVariable is the name of the environment variable with the file to which a run of one case writes its result.
const ResultVariable = "FAIRLEAD_FAULT_RESULT"

// Verdict is the result of a case: pass or fail.
type Verdict string

// Values of Verdict.
const (
	Pass Verdict = "pass"
	Fail Verdict = "fail"
)

// Result is the outcome of a case.
type Result struct {
	ID      string        `json:"id"`
	Name    string        `json:"name"`
	Verdict Verdict       `json:"verdict"`
	Figure  string        `json:"figure"` // measured figure, or the reason why nothing was measured
	Took    time.Duration `json:"took"`
}

// String returns the result in one line.
func (r Result) String() string {
	return fmt.Sprintf("%-4s  %s  %7s  %s: %s", r.ID, r.Verdict, r.Took.Round(100*time.Millisecond), r.Name, r.Figure)
}

// write writes the result to the file for the parent process.
func (r Result) write() error {
	path := os.Getenv(ResultVariable)
	if path == "" {
		return nil
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

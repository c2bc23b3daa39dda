package faults

import (
	"cmp"
	"fmt"
	"os"
	"testing"
	"time"

	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/test/faults/scenario"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestCatalogue runs every case in full, or in its fast form with -short. The cases run one after the other, because
// they measure times. `make faults` runs the test once for each case, so that a case that hangs or crashes does not
// affect the others.
func TestCatalogue(t *testing.T) { //nolint:paralleltest // the cases share the machine's two cores
	size := scenario.Full
	if testing.Short() {
		size = scenario.Fast
	}
	for _, c := range Cases() {
		t.Run(c.ID, func(t *testing.T) {
			began, figure := time.Now(), ""
			t.Cleanup(func() {
				r := Result{ID: c.ID, Name: c.Name, Verdict: Pass, Figure: figure, Took: time.Since(began)}
				switch {
				case t.Failed():
					r.Verdict, r.Figure = Fail, cmp.Or(figure, "ended before it measured anything")
				case t.Skipped(): // a skipped case has not passed
					r.Verdict, r.Figure = Fail, "was skipped"
				}
				_, _ = fmt.Fprintln(os.Stdout, r)
				if err := r.write(); err != nil {
					t.Error(err)
				}
			})
			figure = c.Run(t, size)
		})
	}
}

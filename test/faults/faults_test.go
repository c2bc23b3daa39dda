package faults

import (
	"cmp"
	"fmt"
	"os"
	"testing"
	"time"

	"fairlead/internal/store/pgtest"
	"fairlead/test/faults/scenario"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// TestCatalogue runs every case in full, or in its fast form with -short, one after the other: they measure. `make faults`
// runs it once for each case, so that one which hangs or ends the process takes no other with it.
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
				case t.Skipped(): // a fault that was not tried has not been survived
					r.Verdict, r.Figure = Fail, "was skipped"
				}
				_, _ = fmt.Fprintln(os.Stdout, r)
				if err := r.hand(); err != nil {
					t.Error(err)
				}
			})
			figure = c.Run(t, size)
		})
	}
}

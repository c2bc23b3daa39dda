package blackbox

import (
	"testing"

	"fairlead.dev/test/faults"
	"fairlead.dev/test/faults/replicas"
	"fairlead.dev/test/faults/scenario"
)

// TestFaults runs most of the fault catalogue in its fast form.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range faults.Cases() {
		if replicas.Alone(c.ID) || faults.Seldom(c.ID) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			t.Logf("%s: %s", c.Name, c.Run(t, scenario.Fast))
		})
	}
}

// TestFaultsAlone runs the cases of the catalogue that must not run concurrently with others.
func TestFaultsAlone(t *testing.T) { //nolint:paralleltest // the cases measure times
	for _, c := range faults.Cases() {
		if replicas.Alone(c.ID) && !faults.Seldom(c.ID) {
			t.Run(c.ID, func(t *testing.T) { t.Logf("%s: %s", c.Name, c.Run(t, scenario.Fast)) })
		}
	}
}

func TestEveryFaultOfTheCatalogueHasACase(t *testing.T) {
	t.Parallel()
	for _, id := range faults.Missing() {
		t.Errorf("the fault %s has no case", id)
	}
}

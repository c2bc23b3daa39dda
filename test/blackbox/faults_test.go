package blackbox

import (
	"testing"

	"fairlead.dev/test/faults"
	"fairlead.dev/test/faults/scenario"
)

// TestFaults runs the quick cases of the fault catalogue in their fast form.
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, c := range faults.Cases() {
		if !faults.Quick(c.ID) {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			t.Logf("%s: %s", c.Name, c.Run(t, scenario.Fast))
		})
	}
}

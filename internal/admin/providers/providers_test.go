package providers

import "testing"

func TestProviderIsDownWithEveryCircuitOpen(t *testing.T) {
	t.Parallel()
	down := &ProviderState{Targets: []TargetState{{Health: TargetHealth{Circuit: CircuitOpen}}}}
	if got := providerHealth(down); got != "down" {
		t.Errorf("providerHealth = %q, want down", got)
	}
}

package providers

import (
	"testing"

	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
)

func TestCircuitText(t *testing.T) {
	t.Parallel()
	for want, h := range map[string]TargetHealth{
		"":                                 {Circuit: "closed", Share: 1},
		"Paused after 5 failures in a row": {Circuit: CircuitOpen, Cause: health.Cause{Rule: health.ConsecutiveFailures, Failures: 5}},
		"Paused after 1 failure in a row":  {Circuit: CircuitOpen, Cause: health.Cause{Rule: health.ConsecutiveFailures, Failures: 1}},
		"Paused after 11 of the last 20 calls failed":                                  {Circuit: CircuitOpen, Cause: health.Cause{Rule: health.FailureShare, Failures: 11, Of: 20}},
		"Paused again after 2 failures while traffic was returning":                    {Circuit: CircuitOpen, Cause: health.Cause{Rule: health.FailedRecovery, Failures: 2}},
		"Paused after a failure on this replica and an outage reported by another one": {Circuit: CircuitOpen, Cause: health.Cause{Rule: health.ReplicaHint, Failures: 1}},
		"Still paused: the last try failed":                                            {Circuit: CircuitOpen, Cause: health.Cause{Rule: health.FailedProbe, Failures: 1}},
		"Still paused: the last 3 tries failed":                                        {Circuit: CircuitOpen, Cause: health.Cause{Rule: health.FailedProbe, Failures: 3}},
		"Rate-limited by the provider":                                                 {Circuit: CircuitOpen, Reason: string(llm.UpstreamRateLimited)},
		"Paused because the credential may not use this model":                         {Circuit: CircuitOpen, Reason: string(llm.UpstreamDenied)},
		"Paused; one request is being tried now":                                       {Circuit: CircuitHalfOpen},
		"Recovering: 40 % of the usual requests are sent":                              {Circuit: CircuitHalfOpen, Share: 0.409},
	} {
		if got := circuitText(&h); got != want {
			t.Errorf("circuitText = %q, want %q", got, want)
		}
	}
}

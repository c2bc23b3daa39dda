package providers

import (
	"fmt"
	"math"

	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
)

// circuitText describes a circuit that is not closed. It omits the time of the next attempt, because that time changes.
func circuitText(h *TargetHealth) string {
	switch {
	case h.Denied:
		return backoffText(llm.Kind(h.Reason))
	case h.Circuit == CircuitHalfOpen && h.Share > 0:
		return fmt.Sprintf("Recovering: %.0f %% of the usual requests are sent", math.Floor(100*h.Share))
	case h.Circuit == CircuitHalfOpen:
		return "Paused; one request is being tried now"
	case h.Circuit != CircuitOpen:
		return ""
	}
	c := h.Cause
	switch c.Rule {
	case health.ConsecutiveFailures:
		return fmt.Sprintf("Paused after %s in a row", failures(c.Failures))
	case health.FailureShare:
		return fmt.Sprintf("Paused after %d of the last %d calls failed", c.Failures, c.Of)
	case health.FailedRecovery:
		return fmt.Sprintf("Paused again after %s while traffic was returning", failures(c.Failures))
	case health.ReplicaHint:
		return "Paused after a failure on this replica and an outage reported by another one"
	case health.FailedProbe:
		if c.Failures == 1 {
			return "Still paused: the last try failed"
		}
		return fmt.Sprintf("Still paused: the last %d tries failed", c.Failures)
	}
	return backoffText(llm.Kind(h.Reason))
}

func failures(n int) string {
	if n == 1 {
		return "1 failure"
	}
	return fmt.Sprintf("%d failures", n)
}

// backoffText describes why a target or credential is not used for some time.
func backoffText(reason llm.Kind) string {
	switch reason { //nolint:exhaustive // only these kinds start a backoff
	case llm.UpstreamRateLimited:
		return "Rate-limited by the provider"
	case llm.UpstreamAuth:
		return "Paused because the provider rejected the credential"
	case llm.UpstreamDenied:
		return "Paused because the credential may not use this model"
	case llm.UpstreamNotFound:
		return "Paused because the provider does not have this model"
	}
	return "Paused"
}

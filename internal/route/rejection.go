package route

import (
	"fmt"
	"math"
	"slices"
	"time"

	"fairlead/internal/llm"
)

// rejection returns the error for a request without an available target.
func (r *ranking) rejection() error {
	out := slices.Concat(r.excluded, r.ranked)
	excluded := make([]map[string]any, 0, len(out))
	count := map[Reason]int{}
	for _, cand := range out {
		count[cand.excluded.Code]++
		if len(excluded) < 50 {
			excluded = append(excluded, map[string]any{"target": cand.Target, "code": cand.excluded.Code, "reason": cand.excluded.Reason()})
		}
	}
	need := r.minTokens(out)
	switch {
	case need > 0 && count[CircuitOpen]+count[CredentialBackingOff] == 0:
		return llm.Errorf(llm.ContextTooLong,
			"The request needs about %d tokens, which exceeds the maximum context length of every permitted model (context_length_exceeded). Shorten the messages or lower max_tokens.",
			need).With("excluded", excluded)
	case count[NotAllowedByKey] == len(out):
		e := llm.Errorf(llm.ModelNotAllowed, "This API key may not use model %q. Use one of the key's allowed models, or change them in the API key settings.", r.in.Model)
		e.Param = "model"
		return e.With("allowed_models", r.in.AllowedModels)
	case count[CircuitOpen]+count[CredentialBackingOff] > 0:
		return unavailable(out).With("excluded", excluded)
	}
	return llm.Errorf(llm.NoRoute, "No model meets the constraints of this request: %s. See details.excluded for the reason of each model.", mainReason(out)).
		With("excluded", excluded)
}

// minTokens returns the smallest token count of the targets excluded only for their context size; 0 without such targets.
func (r *ranking) minTokens(out []*candidate) (need int64) {
	for _, cand := range out {
		if cand.excluded.Code != ContextTooSmall && cand.excluded.Code != OutputLimitExceeded || r.rules.forbid(cand, &Exclusion{}) {
			continue
		}
		if n := r.in.longest(cand.prompt) + r.outputTokens(); need == 0 || n < need {
			need = n
		}
	}
	return need
}

// unavailable returns the error when every eligible target backs off or has an open circuit. It is retryable unless every
// provider rejected the credential or the model.
func unavailable(out []*candidate) *llm.Error {
	const untilProbe = 3 * time.Second // an open circuit admits a probe within seconds
	var open, limited int
	wait := time.Hour
	for _, cand := range out {
		switch {
		case cand.excluded.Code == CircuitOpen:
			open++
			wait = min(wait, untilProbe)
		case cand.excluded.Code == CredentialBackingOff && !cand.Seen.Rejected:
			limited++
			wait = min(wait, cand.Seen.BackingOff)
		}
	}
	if open+limited == 0 {
		return llm.Errorf(llm.UpstreamAuth, "Every provider that could serve this request rejected the gateway's credential or the model. Ask the operator to check the provider's credentials and models.")
	}
	kind, why := llm.NoTargetAvailable, "is failing or rate-limited"
	if open == 0 {
		kind, why = llm.UpstreamRateLimited, "is rate-limited"
	}
	e := llm.Errorf(kind, "Every provider that could serve this request %s. Retry in %s.", why, formatWait(wait))
	e.RetryAfter = wait
	return e
}

// formatWait formats a wait, rounded up.
func formatWait(wait time.Duration) string {
	if minutes := math.Ceil(wait.Minutes()); minutes > 2 {
		return fmt.Sprintf("%.0f minutes", minutes)
	}
	if seconds := math.Ceil(wait.Seconds()); seconds > 5 {
		return fmt.Sprintf("%.0f seconds", seconds)
	}
	return "a few seconds"
}

// mainReason returns the most frequent reason.
func mainReason(out []*candidate) string {
	count := map[string]int{}
	best := ""
	for _, cand := range out {
		text := cand.excluded.Reason()
		count[text]++
		if best == "" || count[text] > count[best] {
			best = text
		}
	}
	return best
}

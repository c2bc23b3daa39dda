package route

import (
	"fmt"
	"math"
	"slices"
	"time"

	"fairlead.dev/internal/llm"
)

// rejection returns the error for a request without an available target.
func (r *ranking) rejection() error {
	out := slices.Concat(r.excluded, r.ranked)
	excluded := make([]map[string]any, 0, len(out))
	count, sentences := map[Reason]int{}, map[string]int{}
	mainReason := "" // most frequent reason
	need := int64(0) // smallest number of tokens needed at a target that is excluded only for its context size or output limit
	for _, cand := range out {
		code, reason := cand.excluded.Code, cand.excluded.Reason()
		count[code]++
		if sentences[reason]++; mainReason == "" || sentences[reason] > sentences[mainReason] {
			mainReason = reason
		}
		if len(excluded) < 50 {
			excluded = append(excluded, map[string]any{"target": cand.Target, "code": code, "reason": reason})
		}
		if code != ContextTooSmall && code != OutputLimitExceeded || r.rules.forbid(cand, &Exclusion{}) {
			continue
		}
		if n := r.in.longest(cand.prompt) + r.outputTokens(); need == 0 || n < need {
			need = n
		}
	}
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
	return llm.Errorf(llm.NoRoute, "No model meets the constraints of this request: %s. See details.excluded for the reason of each model.", mainReason).
		With("excluded", excluded)
}

// unavailable returns the error for a request if every eligible target is backing off or has an open circuit. It is retryable unless every
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
	shown := "a few seconds"
	if minutes, seconds := math.Ceil(wait.Minutes()), math.Ceil(wait.Seconds()); minutes > 2 {
		shown = fmt.Sprintf("%.0f minutes", minutes)
	} else if seconds > 5 {
		shown = fmt.Sprintf("%.0f seconds", seconds)
	}
	e := llm.Errorf(kind, "Every provider that could serve this request %s. Retry in %s.", why, shown)
	e.RetryAfter = wait
	return e
}

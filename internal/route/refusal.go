package route

import (
	"fmt"
	"math"
	"slices"
	"time"

	"fairlead/internal/llm"
)

// refusal turns a field with nobody left into the error that fits the reasons.
func (r *race) refusal() error {
	out := slices.Concat(r.out, r.ranked)
	excluded := make([]map[string]any, 0, len(out))
	count := map[Reason]int{}
	for _, one := range out {
		count[one.why.Code]++
		if len(excluded) < 50 {
			excluded = append(excluded, map[string]any{"target": one.Target, "code": one.why.Code, "reason": one.why.Reason()})
		}
	}
	need := r.beyond(out)
	switch {
	case need > 0 && count[CircuitOpen]+count[CredentialBackingOff] == 0:
		return llm.Errorf(llm.ContextTooLong,
			"The request needs about %d tokens, which is beyond the maximum context length of every model it may use (context_length_exceeded). Shorten the messages or lower max_tokens.",
			need).With("excluded", excluded)
	case count[NotAllowedByKey] == len(out):
		e := llm.Errorf(llm.ModelNotAllowed, "This API key may not use model %q. Use one of the key's allowed models, or change them in API key settings.", r.in.Model)
		e.Param = "model"
		return e.With("allowed_models", r.in.AllowedModels)
	case count[CircuitOpen]+count[CredentialBackingOff] > 0:
		return unavailable(out).With("excluded", excluded)
	}
	return llm.Errorf(llm.NoRoute, "No model can serve this request under its conditions: %s. See details.excluded and relax one of them.", mainReason(out)).
		With("excluded", excluded)
}

// beyond is how many tokens the request has, by the least count, where a target is out for nothing but its length: a shorter one
// would be served. It is 0 where there is no such target.
func (r *race) beyond(out []*runner) (need int64) {
	for _, one := range out {
		if one.why.Code != ContextTooSmall && one.why.Code != OutputLimitExceeded || r.rules.forbid(one, &Exclusion{}) {
			continue
		}
		if n := r.in.longest(one.prompt) + r.room(); need == 0 || n < need {
			need = n
		}
	}
	return need
}

// unavailable is the error when every target that could serve backs off or has an open circuit. Only a rate limit and an open
// circuit pass by themselves: for a refused credential or model a repeat does not help.
func unavailable(out []*runner) *llm.Error {
	const untilProbe = 3 * time.Second // an open circuit admits a probe within seconds
	var open, limited int
	wait := time.Hour
	for _, one := range out {
		switch {
		case one.why.Code == CircuitOpen:
			open++
			wait = min(wait, untilProbe)
		case one.why.Code == CredentialBackingOff && !one.Seen.Refused:
			limited++
			wait = min(wait, one.Seen.BackingOff)
		}
	}
	if open+limited == 0 {
		return llm.Errorf(llm.UpstreamAuth, "Every provider that could serve this request has refused the gateway's credential or the model. Ask the operator to check the provider's credentials and models.")
	}
	kind, why := llm.NoTargetAvailable, "is failing or limits its rate"
	if open == 0 {
		kind, why = llm.UpstreamRateLimited, "limits its rate"
	}
	e := llm.Errorf(kind, "Every provider that could serve this request %s at the moment. Repeat it in %s.", why, inWords(wait))
	e.RetryAfter = wait
	return e
}

// inWords tells a wait to people, and never less of it than there is.
func inWords(wait time.Duration) string {
	if minutes := math.Ceil(wait.Minutes()); minutes > 2 {
		return fmt.Sprintf("%.0f minutes", minutes)
	}
	if seconds := math.Ceil(wait.Seconds()); seconds > 5 {
		return fmt.Sprintf("%.0f seconds", seconds)
	}
	return "a few seconds"
}

// mainReason is the most frequent reason in words.
func mainReason(out []*runner) string {
	count := map[string]int{}
	best := ""
	for _, one := range out {
		text := one.why.Reason()
		count[text]++
		if best == "" || count[text] > count[best] {
			best = text
		}
	}
	return best
}

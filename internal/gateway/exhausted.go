package gateway

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

// describe adds to an error that another target could not help with who refused the request.
func (g *Gateway) describe(x *exchange, e *llm.Error) *llm.Error {
	if !e.Kind.FromUpstream() {
		return e
	}
	last := x.entry.Attempts[len(x.entry.Attempts)-1]
	shown := *e
	shown.Message = fmt.Sprintf("%s refused the request: %s", last.Provider, strings.TrimSpace(e.Message))
	return shown.With("attempts", attempts(x)).With("provider", last.Provider).With("model", last.Model)
}

// exhausted is the error when every attempt failed, or none could be made.
func exhausted(x *exchange) *llm.Error {
	tried := x.entry.Attempts
	if len(tried) == 0 {
		return unavailable(x.passed)
	}
	var kinds []llm.Kind
	var wait time.Duration
	var told []string
	for _, a := range tried {
		kinds = append(kinds, a.Class)
		if a.RetryAfter > 0 && (wait == 0 || a.RetryAfter < wait) {
			wait = a.RetryAfter
		}
		told = append(told, fmt.Sprintf("%s/%s %s", a.Provider, a.Model, sentence(a)))
	}
	kind, final := inCommon(kinds)
	if final && slices.ContainsFunc(x.passed, func(e *llm.Error) bool { return e.Kind.Retryable() }) {
		kind, final = llm.UpstreamServer, false // a target that was passed over may serve a repeat
	}
	e := llm.Errorf(kind, "No provider could answer: %s. %s", strings.Join(told, "; "), advice(kind, final))
	e.RetryAfter, e.Final = wait, final
	e.UpstreamStatus = tried[len(tried)-1].Status
	return e.With("attempts", attempts(x))
}

// unavailable is the error when every target was passed over without an attempt.
func unavailable(passed []*llm.Error) *llm.Error {
	limited, refused := 0, 0
	wait := time.Hour
	for _, e := range passed {
		switch e.Kind { //nolint:exhaustive // the others are open circuits and full providers
		case llm.UpstreamRateLimited:
			limited++
			wait = min(wait, e.RetryAfter)
		case llm.UpstreamAuth:
			refused++
		}
	}
	switch len(passed) {
	case 0:
	case refused:
		return llm.Errorf(llm.UpstreamAuth, "Every provider that could serve this request has refused the gateway's credential or the model. Ask the operator to check the provider's credentials and models.")
	case refused + limited:
		e := llm.Errorf(llm.UpstreamRateLimited, "Every provider that could serve this request limits its rate at the moment. Repeat it later.")
		e.RetryAfter = wait
		return e
	}
	e := llm.Errorf(llm.NoTargetAvailable, "Every provider that could serve this request is failing, limits its rate or is at its concurrency cap. Repeat it in a few seconds.")
	e.RetryAfter = min(wait, 2*time.Second) // a circuit admits a probe, and a provider has a free slot, within seconds
	return e
}

// inCommon is the kind that stands for several failures, and whether none of them passes by itself.
func inCommon(kinds []llm.Kind) (kind llm.Kind, final bool) {
	kind, final = kinds[len(kinds)-1], true
	same, client := true, true
	for _, k := range kinds {
		same = same && k == kind
		client = client && k.Origin() == llm.FromClient
		final = final && !k.Retryable()
	}
	if same || client {
		return kind, final
	}
	return llm.UpstreamServer, final
}

// advice is what the caller can do after failures of one kind: repeating is none where it does not help.
func advice(kind llm.Kind, final bool) string {
	switch {
	case kind == llm.UpstreamContext:
		return "Send less, or allow a model with a larger window."
	case final && kind.Origin() == llm.FromProvider:
		return "Ask the operator to check the provider's credentials and models, or allow more fallbacks."
	case final:
		return "Change the request, or allow more fallbacks."
	}
	return "Repeat the request, or allow more fallbacks."
}

func sentence(a requestlog.Attempt) string {
	what := "failed (" + string(a.Class) + ")"
	if a.Status != 0 {
		what = fmt.Sprintf("answered %d (%s)", a.Status, a.Class)
	}
	if a.Message == "" {
		return what
	}
	return what + ": " + strings.TrimRight(a.Message, ". ")
}

// attempts is what a client may know of the attempts.
func attempts(x *exchange) []map[string]any {
	list := make([]map[string]any, 0, len(x.entry.Attempts))
	for _, a := range x.entry.Attempts {
		list = append(list, map[string]any{
			"provider": a.Provider, "model": a.Model, "status": a.Status, "class": a.Class,
			"ms": a.Duration.Milliseconds(), "message": a.Message,
		})
	}
	return list
}

package upstream

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// rejected returns the error to send to the client after a failure that rules out other targets; see mayTryNext. For a provider's error,
// this is a copy of e with the provider's name and the attempts; otherwise it is e.
func (s *Series) rejected(e *llm.Error) *llm.Error {
	if !e.Kind.FromUpstream() {
		return e
	}
	last := s.Attempts[len(s.Attempts)-1]
	shown := *e
	shown.Message = fmt.Sprintf("%s rejected the request: %s", last.Provider, strings.TrimSpace(e.Message))
	return shown.With("attempts", s.details()).With("provider", last.Provider).With("model", last.Model)
}

// exhausted returns the error for a request for which every attempt failed or no attempt could be made.
func (s *Series) exhausted() *llm.Error {
	if len(s.Attempts) == 0 {
		return unavailable(s.skipped)
	}
	last := s.Attempts[len(s.Attempts)-1]
	kind, final, same, client := last.Class, true, true, true
	var wait time.Duration
	var failures []string
	for _, a := range s.Attempts {
		same = same && a.Class == kind
		client = client && a.Class.Origin() == llm.FromClient
		final = final && !a.Class.Retryable()
		if a.RetryAfter > 0 && (wait == 0 || a.RetryAfter < wait) {
			wait = a.RetryAfter
		}
		failure := fmt.Sprintf("%s/%s failed (%s)", a.Provider, a.Model, a.Class)
		if a.Status != 0 {
			failure = fmt.Sprintf("%s/%s returned %d (%s)", a.Provider, a.Model, a.Status, a.Class)
		}
		if text := shownMessage(&a); text != "" {
			failure += ": " + strings.TrimRight(text, ". ")
		}
		failures = append(failures, failure)
	}
	if !same && !client {
		kind = llm.UpstreamServer
	}
	if final && slices.ContainsFunc(s.skipped, func(e *llm.Error) bool { return e.Kind.Retryable() }) {
		kind, final = llm.UpstreamServer, false // a target that was skipped may serve a retry
	}
	advice := "Retry the request or allow more fallbacks."
	switch {
	case kind == llm.UpstreamContext:
		advice = "Send a shorter prompt or allow a model with a larger context window."
	case final && kind.Origin() == llm.FromProvider:
		advice = "Ask the operator to check the provider's credentials and models, or allow more fallbacks."
	case final:
		advice = "Change the request or allow more fallbacks."
	}
	e := llm.Errorf(kind, "No provider could serve the request: %s. %s", strings.Join(failures, "; "), advice)
	e.RetryAfter, e.Final = wait, final
	e.UpstreamStatus = last.Status
	return e.With("attempts", s.details())
}

// unavailable returns the error for a request for which every target was skipped without an attempt.
func unavailable(skipped []*llm.Error) *llm.Error {
	limited, rejected := 0, 0
	wait := time.Hour
	for _, e := range skipped {
		switch e.Kind { //nolint:exhaustive // the other kinds are open circuits and full providers
		case llm.UpstreamRateLimited:
			limited++
			wait = min(wait, e.RetryAfter)
		case llm.UpstreamAuth:
			rejected++
		}
	}
	switch len(skipped) {
	case 0:
	case rejected:
		return llm.Errorf(llm.UpstreamAuth, "Every provider for this request has rejected the gateway's credential or the model. Ask the operator to check the provider's credentials and models.")
	case rejected + limited:
		e := llm.Errorf(llm.UpstreamRateLimited, "Every provider for this request is rate limited. Retry later.")
		e.RetryAfter = wait
		return e
	}
	e := llm.Errorf(llm.NoTargetAvailable, "Every provider for this request is failing, rate limited or at its concurrency limit. Retry in a few seconds.")
	e.RetryAfter = min(wait, 2*time.Second) // circuits are probed and slots become free within seconds
	return e
}

// details returns the attempts as error details.
func (s *Series) details() []map[string]any {
	list := make([]map[string]any, 0, len(s.Attempts))
	for _, a := range s.Attempts {
		list = append(list, map[string]any{
			"provider": a.Provider, "model": a.Model, "status": a.Status, "class": a.Class,
			"ms": a.Duration.Milliseconds(), "message": shownMessage(&a),
		})
	}
	return list
}

// shownMessage returns the message of an attempt for the client. What a provider says about the gateway's credential is only for the
// operator, who finds it in the request log: clients take it for their own credential, and Claude Code asks its user to sign in.
func shownMessage(a *requestlog.Attempt) string {
	if a.Class == llm.UpstreamAuth {
		return "The provider does not accept the gateway's credential."
	}
	return a.Message
}

package gateway

import (
	"fmt"
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
		e := llm.Errorf(llm.NoTargetReady, "Every provider that could serve this request is failing, resting or at its cap. Repeat it in a few seconds.")
		e.RetryAfter = 2 * time.Second
		return e
	}
	kind := tried[len(tried)-1].Class
	var wait time.Duration
	var told []string
	for _, a := range tried {
		if a.Class != kind {
			kind = llm.UpstreamServer
		}
		if a.RetryAfter > 0 && (wait == 0 || a.RetryAfter < wait) {
			wait = a.RetryAfter
		}
		told = append(told, fmt.Sprintf("%s/%s %s", a.Provider, a.Model, sentence(a)))
	}
	e := llm.Errorf(kind, "No provider could answer: %s. %s", strings.Join(told, "; "), advice(kind))
	e.RetryAfter = wait
	e.UpstreamStatus = tried[len(tried)-1].Status
	return e.With("attempts", attempts(x))
}

// advice is what the caller can do after failures of one kind: repeating is none where it does not help.
func advice(kind llm.Kind) string {
	switch {
	case kind == llm.UpstreamContext:
		return "Send less, or allow a model with a larger window."
	case !kind.Retryable():
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

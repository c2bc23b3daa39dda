package requests

import (
	"fmt"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// failureTexts describes failure classes. The descriptions are printed after a provider's name.
var failureTexts = map[llm.Kind]string{
	llm.UpstreamConnect:       "could not be reached",
	llm.UpstreamTimeout:       "timed out",
	llm.UpstreamRateLimited:   "is rate limiting",
	llm.UpstreamOverloaded:    "was overloaded",
	llm.UpstreamServer:        "returned a server error",
	llm.UpstreamAuth:          "rejected the credential",
	llm.UpstreamDenied:        "denied the credential access to the model",
	llm.UpstreamNotFound:      "does not have the model",
	llm.UpstreamMalformed:     "sent a malformed response",
	llm.StreamInterrupted:     "interrupted the stream",
	llm.UpstreamRejected:      "rejected the request",
	llm.UpstreamUnsupported:   "does not support a parameter of the request",
	llm.UpstreamContext:       "does not have enough context for this prompt",
	llm.UpstreamContentPolicy: "rejected the content",
}

// FailureText returns the description of a failure class, or class itself if it is unknown.
func FailureText(class string) string {
	if text, ok := failureTexts[llm.Kind(class)]; ok {
		return text
	}
	return class
}

// fallbackReason returns why the first choice did not serve the request, or an empty string if it did.
func fallbackReason(e *requestlog.Entry) string {
	if e.DecisionKind != route.Fallback {
		return ""
	}
	for i := range e.Attempts {
		a := &e.Attempts[i]
		if a.Class == "" {
			continue
		}
		reason := fmt.Sprintf("%s/%s %s", a.Provider, a.Model, FailureText(string(a.Class)))
		if a.Status != 0 {
			reason += fmt.Sprintf(" (%d)", a.Status)
		}
		return reason
	}
	return "the first choice was backing off or at its limit and was not tried"
}

// Price kinds.
const (
	priceList     = "list"
	PriceOverride = "override"
	priceReported = "provider-reported"
	priceLocal    = "local"
)

// PriceSource returns the price kind of a source: the list price, unless the source is an override, the provider or a local
// server.
func PriceSource(source string) string {
	switch source {
	case PriceOverride, priceLocal:
		return source
	case "provider", priceReported:
		return priceReported
	}
	return priceList
}

package requests

import (
	"fmt"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// did says of a provider what a class of failure means, to be read after its name.
var did = map[llm.Kind]string{
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
	llm.HedgeLost:             "was slower than the hedged attempt",
}

// words is what a class of failure means; what is no class is said as it is.
func FailureText(class string) string {
	if text, ok := did[llm.Kind(class)]; ok {
		return text
	}
	return class
}

// fallbackReason says why another target served than the first choice; empty when it was the first choice.
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

// The ways in which a price is known.
const (
	priceList     = "list"
	PriceOverride = "override"
	priceReported = "provider-reported"
	priceLocal    = "local"
)

// priceSource puts the source of a price card in one word. What is no override and no word of the provider itself is a
// list price, whichever lists it was read from.
func PriceSource(source string) string {
	switch source {
	case PriceOverride, priceLocal:
		return source
	case "provider", priceReported:
		return priceReported
	}
	return priceList
}

package requests

import (
	"fmt"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// verdict returns a summary of a request in one sentence: target, route, latency and cost, or the failure with its origin and a fix.
func verdict(e *requestlog.Entry) string {
	if e.Outcome == requestlog.OK {
		return served(e) + "."
	}
	text := ending(e)
	if e.Error != nil && e.Error.Message != "" {
		text += ": " + e.Error.Message
	} else {
		text += "."
	}
	switch e.Outcome { // the messages of other failures suggest a fix
	case requestlog.UpstreamError:
		text += " See the attempts below. Test the providers:  fairlead providers test"
	case requestlog.Interrupted:
		text += " Retry the request."
	case requestlog.GatewayError:
		text += " Retry the request. If it fails again, report its id."
	default:
	}
	if e.Model != "" && len(e.Attempts) > 0 && e.Cost != nil && *e.Cost > 0 {
		text += fmt.Sprintf(" Cost: %s.", cli.Dollars(*e.Cost))
	}
	return text
}

func served(e *requestlog.Entry) string {
	price := "for " + cli.Amount(e.Cost)
	switch {
	case e.Cost == nil:
		price = "at an unknown cost"
	case *e.Cost == 0:
		price = "for free"
	}
	provider := cli.OrDash(e.Provider)
	if e.Simulated {
		provider += " (SIMULATED)"
	}
	return fmt.Sprintf("Served by %s on %s – %s – in %s %s%s", cli.OrDash(e.Model), provider, routeText(e), cli.Duration(e.Latency), price, savedText(e))
}

func routeText(e *requestlog.Entry) string {
	switch e.DecisionKind {
	case route.Expected:
		return "expected route"
	case route.Policy:
		return "controlled by policy " + cli.OrDash(e.Policy)
	case route.Fallback:
		for i := range e.Attempts {
			if a := &e.Attempts[i]; a.Class != "" {
				return fmt.Sprintf("fallback after %s/%s failed (%s)", a.Provider, a.Model, a.Class)
			}
		}
		return "fallback"
	}
	return "no decision"
}

// ending describes how an incomplete request ended.
func ending(e *requestlog.Entry) string {
	after := cli.Duration(e.Latency)
	switch e.Outcome {
	case requestlog.ClientError:
		return "Rejected after " + after + " because the request is invalid"
	case requestlog.Rejected:
		return "Rejected after " + after + " by " + rejecter(e)
	case requestlog.UpstreamError:
		return fmt.Sprintf("Failed at the providers after %s and %s", after, cli.Plural(len(e.Attempts), "attempt"))
	case requestlog.Cancelled:
		return "Cancelled: the client disconnected after " + after
	case requestlog.Partial:
		return fmt.Sprintf("Interrupted after %s: %s on %s delivered part of the response and then failed", after, cli.OrDash(e.Model), cli.OrDash(e.Provider))
	case requestlog.Interrupted:
		return "Interrupted: the gateway stopped before the request was finished"
	case requestlog.GatewayError:
		return "Failed inside the gateway after " + after
	case requestlog.OK:
	}
	return "Ended after " + after
}

func rejecter(e *requestlog.Entry) string {
	if e.Error == nil {
		return "the gateway"
	}
	switch {
	case e.Error.Origin == llm.FromPolicy:
		return "policy " + cli.OrDash(e.Policy)
	case e.Error.Code == llm.RateLimited.Code():
		return "a rate limit"
	case e.Error.Code == llm.BudgetExceeded.Code():
		return "a budget"
	case e.Error.Origin == llm.FromClient:
		return "the permissions of the key"
	}
	return "the gateway"
}

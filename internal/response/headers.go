package response

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/requestlog"
)

// TraceOf returns the routing decision of a request with its attempts and its cost as JSON.
func TraceOf(e *requestlog.Entry) []byte {
	data, err := json.Marshal(map[string]any{
		"request_id":        e.ID,
		"decision":          e.DecisionKind,
		"model":             e.Model,
		"provider":          e.Provider,
		"trace":             e.Decision,
		"attempts":          e.Attempts,
		"usage":             e.Usage,
		"cost_usd":          e.Cost,
		"baseline_model":    e.BaselineModel,
		"baseline_cost_usd": e.BaselineCost,
		"cache":             e.Cache,
		"warnings":          e.Warnings,
	})
	if err != nil {
		return []byte(`null`) // a trace that cannot be encoded must not fail the response
	}
	return data
}

// SetHeaders sets the headers that describe the decision and its cost.
func SetHeaders(h http.Header, e *requestlog.Entry) {
	values := make([]string, 0, 15) // a single allocation for all values
	set := func(name, value string) {
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)] // names are in canonical form, so Header.Set is not needed
	}
	set("X-Fairlead-Decision", string(e.DecisionKind))
	set("X-Fairlead-Model", e.Model)
	set("X-Fairlead-Provider", e.Provider)
	set("X-Fairlead-Attempts", strconv.Itoa(len(e.Attempts)))
	if e.Policy != "" {
		set("X-Fairlead-Policy", headerText(e.Policy))
	}
	if e.BaselineModel != "" {
		set("X-Fairlead-Baseline-Model", e.BaselineModel)
	}
	if e.Cost != nil {
		set("X-Fairlead-Cost", e.Cost.String())
	}
	if e.BaselineCost != nil {
		set("X-Fairlead-Baseline-Cost", e.BaselineCost.String())
	}
	if e.Simulated {
		set("X-Fairlead-Simulated", "true")
	}
	if len(e.Warnings) > 0 {
		set("X-Fairlead-Warnings", headerText(strings.Join(e.Warnings, "; ")))
	}
	if e.Cache != nil {
		set("X-Fairlead-Cache", string(e.Cache.Status))
		if e.CacheHit() {
			set("Age", strconv.FormatInt(int64(e.Cache.Age/time.Second), 10))
		}
		if e.Cache.Status == requestlog.CacheBypass {
			set("X-Fairlead-Cache-Reason", e.Cache.Reason)
		}
	}
	set("X-Fairlead-Overhead-Us", strconv.FormatInt(e.Overhead.Microseconds(), 10))
	if e.Wait > 0 {
		set("X-Fairlead-Wait-Us", strconv.FormatInt(e.Wait.Microseconds(), 10))
	}
}

// headerText converts s to a header value: printable ASCII of limited length.
func headerText(s string) string {
	if len(s) > 1000 {
		s = s[:1000]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
}

package requests

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead/internal/admin/adminapi"
	"fairlead/internal/spelling"
)

// column is one column of an export. value returns nil if unknown, and a string only for text set by clients.
type column struct {
	name  string
	value func(*RequestRow) any
}

// columns are all columns of an export, in default order.
var columns = []column{
	{"id", func(r *RequestRow) any { return r.ID }},
	{"time", func(r *RequestRow) any { return r.Time.Format(time.RFC3339Nano) }},
	{"outcome", func(r *RequestRow) any { return orNil(r.Outcome) }},
	{"status", func(r *RequestRow) any { return orNil(r.Status) }},
	{"endpoint", func(r *RequestRow) any { return r.Endpoint }},
	{"stream", func(r *RequestRow) any { return r.Stream }},
	{"requested_model", func(r *RequestRow) any { return r.Requested }},
	{"model", func(r *RequestRow) any { return orNil(r.Model) }},
	{"provider", func(r *RequestRow) any { return orNil(r.Provider) }},
	{"decision", func(r *RequestRow) any { return orNil(r.Decision) }},
	{"policy", func(r *RequestRow) any { return orNil(r.Policy) }},
	{"attempt_count", func(r *RequestRow) any { return r.Attempts }},
	{"input_tokens", func(r *RequestRow) any { return r.Tokens.Input }},
	{"cache_read_tokens", func(r *RequestRow) any { return r.Tokens.CacheRead }},
	{"cache_write_tokens", func(r *RequestRow) any { return r.Tokens.CacheWrite }},
	{"output_tokens", func(r *RequestRow) any { return r.Tokens.Output }},
	{"reasoning_tokens", func(r *RequestRow) any { return r.Tokens.Reasoning }},
	{"cost_usd", func(r *RequestRow) any { return orNil(r.Cost) }},
	{"baseline_model", func(r *RequestRow) any { return orNil(r.BaselineModel) }},
	{"baseline_cost_usd", func(r *RequestRow) any { return orNil(r.BaselineCost) }},
	{"saved_usd", func(r *RequestRow) any { return orNil(r.Saved) }},
	{"latency_ms", func(r *RequestRow) any { return orNil(r.LatencyMS) }},
	{"ttft_ms", func(r *RequestRow) any { return orNil(r.TTFTMS) }},
	{"key_id", func(r *RequestRow) any { return orNil(r.KeyID) }},
	{"key_name", func(r *RequestRow) any { return orNil(r.KeyName) }},
	{"finish_reason", func(r *RequestRow) any { return orNil(r.Finish) }},
	{"error_code", func(r *RequestRow) any { return r.failure().Code }},
	{"error_message", func(r *RequestRow) any { return r.failure().Message }},
	{"simulated", func(r *RequestRow) any { return r.Simulated }},
	{"session", func(r *RequestRow) any { return orNil(r.Session) }},
	{"end_user", func(r *RequestRow) any { return orNil(r.EndUser) }},
	{"tags", func(r *RequestRow) any { return tagText(r.Tags) }},
	{"client", func(r *RequestRow) any { return r.Client }},
	{"ip", func(r *RequestRow) any { return r.IP }},
	{"fallback_reason", func(r *RequestRow) any { return orNil(r.Fallback) }},
	{"source", func(r *RequestRow) any { return r.Source }},
	{"preview", func(r *RequestRow) any { return r.Preview }},
}

// usualColumns is the number of columns that are exported by default.
const usualColumns = 25

func orNil[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func (r *RequestRow) failure() Failure {
	if r.Error == nil {
		return Failure{}
	}
	return *r.Error
}

func tagText(tags map[string]string) string {
	parts := []string{}
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		parts = append(parts, name+"="+tags[name])
	}
	return strings.Join(parts, ";")
}

// cell returns the value in CSV. Only strings are neutralized, so that negative numbers are unchanged.
func (c column) cell(r *RequestRow) string {
	switch v := c.value(r).(type) {
	case nil:
		return ""
	case string:
		return neutral(v)
	default:
		return fmt.Sprint(v)
	}
}

// json returns the value in JSON.
func (c column) json(r *RequestRow) ([]byte, error) { return json.Marshal(c.value(r)) }

func columnNames() []string {
	names := make([]string, 0, len(columns))
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// chooseColumns parses a list of column names.
func chooseColumns(list string) ([]column, error) {
	if list == "" {
		return columns[:usualColumns], nil
	}
	chosen := []column{}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
		if i < 0 {
			return nil, adminapi.InvalidAll([]adminapi.Problem{{
				In: "query", Param: "columns", Message: fmt.Sprintf("unknown column %q", name), Suggestion: spelling.Closest(name, columnNames()),
			}})
		}
		chosen = append(chosen, columns[i])
	}
	return chosen, nil
}

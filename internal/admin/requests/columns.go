package requests

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/admin/adminapi"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/spelling"
)

// exportRow is a row of an export.
type exportRow struct {
	RequestRow
	entry *requestlog.Entry
}

// column is a column of an export. value returns nil for an unknown value. It must not return a number as a string,
// because strings are protected against formulas.
type column struct {
	name  string
	value func(*exportRow) any
}

// columns are all columns of an export, in default order.
var columns = exportColumns()

// exportColumns returns all columns: the columns of the request log, and the columns that exist only in exports. Log columns that
// are not in the list below are appended.
func exportColumns() []column {
	list := []column{
		logged("id"),
		{"time", func(r *exportRow) any { return r.Time.Format(time.RFC3339Nano) }},
		logged("outcome"),
		logged("status"),
		{"endpoint", func(r *exportRow) any { return r.Endpoint }},
		logged("stream"),
		logged("requested_model"),
		logged("model"),
		logged("provider"),
		logged("decision"),
		logged("policy"),
		{"attempt_count", func(r *exportRow) any { return r.Attempts }},
		{"input_tokens", func(r *exportRow) any { return r.Tokens.Input }},
		{"cache_read_tokens", func(r *exportRow) any { return r.Tokens.CacheRead }},
		{"cache_write_tokens", func(r *exportRow) any { return r.Tokens.CacheWrite }},
		{"output_tokens", func(r *exportRow) any { return r.Tokens.Output }},
		{"reasoning_tokens", func(r *exportRow) any { return r.Tokens.Reasoning }},
		logged("cost_usd"),
		{"baseline_model", func(r *exportRow) any { return orNil(r.BaselineModel) }},
		{"baseline_cost_usd", func(r *exportRow) any { return orNil(r.BaselineCost) }},
		logged("saved_usd"),
		logged("latency_ms"),
		{"ttft_ms", func(r *exportRow) any { return orNil(r.TTFTMS) }},
		logged("key_id"),
		{"key_name", func(r *exportRow) any { return orNil(r.KeyName) }},
		logged("finish_reason"),
		{"error_code", func(r *exportRow) any { return r.failure().Code }},
		{"error_message", func(r *exportRow) any { return r.failure().Message }},
		logged("simulated"),
		logged("session"),
		logged("end_user"),
		{"tags", func(r *exportRow) any {
			parts := []string{}
			for _, name := range slices.Sorted(maps.Keys(r.Tags)) {
				parts = append(parts, name+"="+r.Tags[name])
			}
			return strings.Join(parts, ";")
		}},
		logged("client"),
		{"ip", func(r *exportRow) any { return r.IP }},
		{"fallback_reason", func(r *exportRow) any { return orNil(r.Fallback) }},
		{"source", func(r *exportRow) any { return r.Source }},
		{"preview", func(r *exportRow) any { return r.Preview }},
		logged("cache"),
		{"cache_saved_usd", func(r *exportRow) any {
			if r.CacheUse == nil {
				return nil
			}
			return orNil(r.CacheUse.Saved)
		}},
	}
	for _, c := range requestlog.Columns() {
		if !slices.ContainsFunc(list, func(listed column) bool { return listed.name == c.Export }) {
			list = append(list, logged(c.Export))
		}
	}
	return list
}

// logged returns the request log column with the given export name.
func logged(name string) column {
	all := requestlog.Columns()
	c := &all[slices.IndexFunc(all, func(c requestlog.Column) bool { return c.Export == name })]
	return column{name, func(r *exportRow) any {
		switch v := c.Value(r.entry).(type) {
		case string:
			if v == "" && name != "id" && name != "requested_model" && name != "client" { // these three are never null
				return nil
			}
			return v
		case time.Duration:
			return v.Milliseconds()
		default:
			return v
		}
	}}
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

func columnNames() []string {
	names := make([]string, 0, len(columns))
	for _, c := range columns {
		names = append(names, c.name)
	}
	return names
}

// chooseColumns parses a comma-separated list of column names.
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

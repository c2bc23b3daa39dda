package report

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// Filters lists the request log filters that a report supports.
func Filters() []string {
	return []string{"from", "to", "model", "provider", "policy", "key", "user", "session", "client", "tag", "simulated", "source"}
}

// Parameters lists the parameters of a report.
func Parameters() []string { return append(Filters(), "by", "then", "measure", "limit") }

// Parse parses the parameters of a report. Without from, the report covers the last
// 24 hours. Playground requests are excluded unless source is set.
func Parse(values url.Values, now time.Time) (Query, error) {
	var q Query
	filters := url.Values{"from": {"now-24h"}, "to": {"now"}}
	var err error
	for name, given := range values {
		value := values.Get(name)
		switch {
		case value == "":
		case name == "by":
			q.By, err = ParseDimension(name, value)
		case name == "then":
			q.Then, err = ParseDimension(name, value)
		case name == "measure":
			q.Measure, err = ParseMeasure(value)
		case name == "limit":
			q.Limit, err = strconv.Atoi(value)
			if err != nil || q.Limit < 1 {
				err = &llm.Error{Kind: llm.InvalidRequest, Param: name, Message: "Parameter limit: must be between 1 and " + strconv.Itoa(MaxLimit) + "."}
			}
		case slices.Contains(Filters(), name):
			filters[name] = given
		default:
			err = &llm.Error{Kind: llm.InvalidRequest, Param: name, Message: "Parameter " + name + ": the report has no such parameter."}
		}
		if err != nil {
			return q, err
		}
	}
	f, _, err := requestlog.ParseFilter(filters, now)
	if err != nil {
		return q, err
	}
	if filters.Get("source") == "" {
		f.Source = requestlog.SourceKey
	}
	if q.Measure == "" {
		q.Measure = Spend
	}
	q.RollupFilter = requestlog.RollupFilter{
		From: f.From, To: f.To, Key: f.Key, Model: f.Model, Provider: f.Provider, Policy: f.Policy, Simulated: f.Simulated, Source: f.Source,
	}
	q.User, q.Session, q.Client, q.Tag = f.User, f.Session, f.Client, f.Tag
	return q, q.validate()
}

// Reveals reports whether the report reveals request content, because the query filters or groups by users, sessions, clients or tags.
func (q *Query) Reveals() bool {
	return slices.ContainsFunc(q.Needed(), func(d Dimension) bool { return !d.rolled() && d != Member })
}

// Selects returns the request log filter that selects a value of the dimension. ok is false if the log has no such filter. keys returns the
// keys that a member created.
func (d Dimension) Selects(value string, keys func(member string) []string) (f requestlog.Filter, ok bool) {
	if value == "" {
		return f, false
	}
	values := []string{value}
	switch d {
	case Model:
		f.Model = values
	case Provider:
		f.Provider = values
	case Key:
		f.Key = values
	case Policy:
		f.Policy = values
	case User:
		f.User = values
	case Session:
		f.Session = values
	case Client:
		f.Client = values
	case Member:
		f.Key = keys(value)
		return f, len(f.Key) > 0
	default:
		name, tag := d.Tag()
		f.Tag = []string{name + "=" + value}
		return f, tag
	}
	return f, true
}

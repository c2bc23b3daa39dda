// Package report computes reports: figures of requests over any time range, grouped by one or two dimensions. It selects the
// roll-ups for a query and reports the requests that the result does not cover.
package report

import (
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// Dimension is a property by which requests are grouped. "tag:NAME" groups by the values of a tag. The empty Dimension puts all requests
// in one group.
type Dimension string

// The dimensions except tags.
const (
	Model    Dimension = "model"
	Provider Dimension = "provider"
	Key      Dimension = "key"
	Policy   Dimension = "policy"
	Member   Dimension = "member"
	User     Dimension = "user"
	Session  Dimension = "session"
	Client   Dimension = "client"
)

const tagPrefix = "tag:"

// maxTag is the maximum length of a tag name in a dimension.
const maxTag = 100

// Dimensions lists the dimensions except tags.
func Dimensions() []Dimension {
	return []Dimension{Model, Provider, Key, Policy, Member, User, Session, Client}
}

// Tag returns the dimension for a tag name.
func Tag(name string) Dimension { return Dimension(tagPrefix + name) }

// Tag returns the tag name of a tag dimension. ok is false for other dimensions.
func (d Dimension) Tag() (name string, ok bool) { return strings.CutPrefix(string(d), tagPrefix) }

// rolled reports whether the overview roll-ups have the dimension.
func (d Dimension) rolled() bool {
	return d == "" || d == Model || d == Provider || d == Key || d == Policy
}

// ParseDimension parses the value of a parameter.
func ParseDimension(param, text string) (Dimension, error) {
	d := Dimension(text)
	if name, ok := d.Tag(); ok && name != "" && len(name) <= maxTag {
		return Tag(requestlog.Term(name)), nil
	}
	if d == "" || slices.Contains(Dimensions(), d) {
		return d, nil
	}
	return "", &llm.Error{
		Kind: llm.InvalidRequest, Param: param,
		Message: fmt.Sprintf("Parameter %s: use model, provider, key, policy, member, user, session, client or tag:NAME.", param),
	}
}

// Measure is the figure by which groups are sorted.
type Measure string

// The measures.
const (
	Spend    Measure = "spend"
	Savings  Measure = "savings"
	Requests Measure = "requests"
	Latency  Measure = "latency" // 95th percentile of the latency
	Errors   Measure = "errors"
)

// Measures lists the measures.
func Measures() []Measure { return []Measure{Spend, Savings, Requests, Latency, Errors} }

// ParseMeasure parses the value of the parameter measure. An empty value selects Spend.
func ParseMeasure(text string) (Measure, error) {
	if text == "" {
		return Spend, nil
	}
	if m := Measure(text); slices.Contains(Measures(), m) {
		return m, nil
	}
	return "", &llm.Error{Kind: llm.InvalidRequest, Param: "measure", Message: "Parameter measure: use spend, savings, requests, latency or errors."}
}

// Of returns the value of the measure in f.
func (m Measure) Of(f *requestlog.Figures) int64 {
	switch m {
	case Savings:
		return int64(f.Saved())
	case Requests:
		return f.Requests
	case Latency:
		return f.LatencyP95
	case Errors:
		return f.Errors
	default:
		return int64(f.Cost)
	}
}

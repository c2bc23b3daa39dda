package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
)

const (
	// FactAge is the age up to which facts are kept. Older ranges are rounded to whole days.
	FactAge = 35 * 24 * time.Hour
	// MaxFactRange is the maximum range of a query that only facts can answer: one with more than two dimensions in its groups and filters.
	MaxFactRange = 7 * 24 * time.Hour
	// DefaultLimit is the number of groups of a result on each level.
	DefaultLimit = 20
	// MaxLimit is the maximum number of groups on each level.
	MaxLimit = 500

	minuteAge = 47 * time.Hour       // roll-ups by minute are kept a little longer
	hourAge   = 399 * 24 * time.Hour // roll-ups by hour are kept a little longer
)

// Query selects the requests of a report and its groups.
type Query struct {
	requestlog.RollupFilter
	User    []string
	Session []string
	Client  []string
	Tag     []string // "name=value", or "name" for any value

	By      Dimension
	Then    Dimension // second level; requires By
	Measure Measure   // order of the groups; Spend when empty
	Limit   int       // maximum number of groups on each level; DefaultLimit when 0
}

// validate rejects combinations that have no meaning.
func (q *Query) validate() error {
	reject := func(param, message string) error {
		return &llm.Error{Kind: llm.InvalidRequest, Param: param, Message: "Parameter " + param + ": " + message}
	}
	switch {
	case !q.From.Before(q.To):
		return reject("from", "must be before to.")
	case q.Then != "" && q.By == "":
		return reject("then", "requires by.")
	case q.Then != "" && q.Then == q.By:
		return reject("then", "must differ from by.")
	case q.Limit < 0 || q.Limit > MaxLimit:
		return reject("limit", fmt.Sprintf("must be between 1 and %d.", MaxLimit))
	case len(q.Tag) > 1:
		return reject("tag", "a report can filter by one tag.")
	}
	return nil
}

// Condition is a filter on one dimension: any of the values.
type Condition struct {
	Dimension Dimension
	Values    []string
	Any       bool // any value that is not empty
}

// Conditions lists the filters by dimension.
func (q *Query) Conditions() []Condition {
	var all []Condition
	for _, c := range []Condition{
		{Dimension: Model, Values: q.Model},
		{Dimension: Provider, Values: q.Provider},
		{Dimension: Key, Values: q.Key},
		{Dimension: Policy, Values: q.Policy},
		{Dimension: User, Values: q.User},
		{Dimension: Session, Values: q.Session},
		{Dimension: Client, Values: q.Client},
	} {
		if len(c.Values) > 0 {
			c.Values = requestlog.Terms(c.Values)
			all = append(all, c)
		}
	}
	for _, tag := range q.Tag {
		all = append(all, tagCondition(tag))
	}
	return all
}

// Needed lists the dimensions of the groups and the filters, each once.
func (q *Query) Needed() []Dimension {
	var all []Dimension
	add := func(d Dimension) {
		if d != "" && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	add(q.By)
	add(q.Then)
	for _, c := range q.Conditions() {
		add(c.Dimension)
	}
	return all
}

// Reader sums the requests that a query selects. A Reader ignores measure and limit.
type Reader interface {
	Slices(ctx context.Context, q *Query) (Slices, error)
}

// Slices is what a Reader found.
type Slices struct {
	Rows  []Row
	Rest  requestlog.Sums // requests of values that the roll-ups do not keep; in Total only
	Kept  bool            // the roll-ups have all values; Rest is empty
	Since time.Time       // earlier requests of the range are missing; zero when all are included
}

// Row is the sums of one group.
type Row struct {
	By, Then string
	requestlog.Sums
}

// Group is one group of a result.
type Group struct {
	Value string
	requestlog.Figures
	Groups []Group             // second level
	Rest   *requestlog.Figures // requests of the group that are in none of Groups; nil if there are none
}

// Result is a report.
type Result struct {
	From, To time.Time // the range that the figures cover, rounded to whole buckets
	Total    requestlog.Figures
	Groups   []Group
	Rest     *requestlog.Figures // requests in no listed group; nil if there are none
	// Since is the time from which requests are grouped, when it is later than From. Earlier requests are in Total and Uncovered only.
	Since     time.Time
	Uncovered *requestlog.Figures // nil when all requests are covered, or when their number is unknown
	Notes     []Note
}

// Note describes requests that a result does not cover, or a figure that is not exact.
type Note struct {
	Code    string
	Message string
}

// The codes of notes.
const (
	NoteRange     = "range_rounded"
	NoteTop       = "top_values"
	NoteCovered   = "not_covered"
	NoteQuantiles = "latency_estimated"
)

// Source has the two kinds of roll-ups: those of the overview, and those by every dimension.
type Source struct {
	Figures Reader
	Facts   Reader
	// Owner returns the account that created a key; empty when unknown.
	Owner func(key string) string
}

// Run answers a query.
func (s *Source) Run(ctx context.Context, q Query, now time.Time) (*Result, error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	q.Limit = cmp.Or(q.Limit, DefaultLimit)
	asked := q
	q.round(now)
	total := q
	total.By, total.Then = "", ""
	sum, _, err := s.read(ctx, &total)
	if err != nil {
		return nil, err
	}
	all := sum.total()
	result := &Result{From: q.From, To: q.To, Total: all.Total(), Groups: []Group{}}
	if q.By == "" {
		result.Since = sum.Since
		result.note(&asked, true)
		return result, nil
	}
	first := q
	first.Then = ""
	outer, kept, err := s.read(ctx, &first)
	if err != nil {
		return nil, err
	}
	result.Since = outer.Since
	groups := s.groups(outer.Rows, q.By, false)
	var inner map[string][]named
	if q.Then != "" {
		both, whole, err := s.read(ctx, &q)
		if err != nil {
			return nil, err
		}
		kept = kept && whole
		inner = s.inner(both.Rows, &q)
	}
	all = requestlog.Sums{Figures: result.Total}
	if !outer.Since.IsZero() { // otherwise the groups and the rest add up to the total
		all = outer.total()
	}
	result.fill(groups, inner, &all.Figures, &q)
	result.note(&asked, kept)
	return result, nil
}

// round extends the range to the buckets that are kept: minutes for two days, then hours, then days.
func (q *Query) round(now time.Time) {
	oldest := hourAge
	if !rolledOnly(q.Needed()) {
		oldest = FactAge - 24*time.Hour
	}
	width := func(t time.Time) time.Duration {
		switch age := now.Sub(t); {
		case age < minuteAge:
			return time.Minute
		case age < oldest:
			return time.Hour
		}
		return 24 * time.Hour
	}
	q.From = q.From.UTC().Truncate(width(q.From))
	if to := q.To.UTC().Truncate(width(q.To)); !to.Equal(q.To) {
		q.To = to.Add(width(q.To))
	}
}

func rolledOnly(all []Dimension) bool {
	return !slices.ContainsFunc(all, func(d Dimension) bool { return !d.rolled() })
}

// read reads the roll-ups that answer a query fastest. Those of the overview have all values and reach back to the first request; those by
// every dimension are faster for two dimensions. kept reports whether all values were found.
func (s *Source) read(ctx context.Context, q *Query) (found Slices, kept bool, err error) {
	stored := *q
	if q.Source == requestlog.SourceKey { // every request has a key, and the key names the member
		stored.By, stored.Then = byKey(q.By), byKey(q.Then)
		if stored.Then == stored.By {
			stored.Then = ""
		}
	}
	needed := stored.Needed()
	rolled := rolledOnly(needed)
	if rolled && len(needed) <= 1 {
		found, err = s.Figures.Slices(ctx, &stored)
		return found, true, err
	}
	if !rolled || len(needed) == 2 {
		found, err = s.Facts.Slices(ctx, &stored)
		if err != nil || !rolled || found.Kept && found.Since.IsZero() {
			return found, found.Kept, err
		}
	}
	found, err = s.Figures.Slices(ctx, &stored)
	return found, true, err
}

func byKey(d Dimension) Dimension {
	if d == Member {
		return Key
	}
	return d
}

// total returns the sums of all rows and of the values that were not kept.
func (s *Slices) total() requestlog.Sums {
	var sum requestlog.Sums
	sum.Merge(&s.Rest)
	for i := range s.Rows {
		sum.Merge(&s.Rows[i].Sums)
	}
	return sum
}

// named is the sums of one value.
type named struct {
	value string
	sums  *requestlog.Sums
}

// groups merges rows by their value on one level. Keys become members where the dimension is Member.
func (s *Source) groups(rows []Row, d Dimension, second bool) []named {
	index := map[string]int{}
	var all []named
	for i := range rows {
		r := &rows[i]
		if r.Requests == 0 { // only failed attempts, which count for the model that was tried
			continue
		}
		value := r.By
		if second {
			value = r.Then
		}
		value = s.resolve(d, value)
		at, ok := index[value]
		if !ok {
			at = len(all)
			index[value] = at
			all = append(all, named{value, &requestlog.Sums{}})
		}
		all[at].sums.Merge(&r.Sums)
	}
	return all
}

func (s *Source) resolve(d Dimension, value string) string {
	if d != Member || s.Owner == nil || value == "" {
		return value
	}
	return cmp.Or(s.Owner(value), value)
}

// inner returns the second level by the value of the first.
func (s *Source) inner(rows []Row, q *Query) map[string][]named {
	if q.Source == requestlog.SourceKey { // rows by key have both levels in By
		for i := range rows {
			switch {
			case q.By == Member && q.Then == Key, q.By == Key && q.Then == Member:
				rows[i].Then = rows[i].By
			}
		}
	}
	parts := map[string][]Row{}
	for i := range rows {
		value := s.resolve(q.By, rows[i].By)
		parts[value] = append(parts[value], rows[i])
	}
	inner := map[string][]named{}
	for value, part := range parts {
		inner[value] = s.groups(part, q.Then, true)
	}
	return inner
}

// fill sets the groups, and the requests that are in no group.
func (r *Result) fill(groups []named, inner map[string][]named, covered *requestlog.Figures, q *Query) {
	r.Groups, r.Rest = limited(groups, covered, q)
	for i := range r.Groups {
		g := &r.Groups[i]
		if q.Then != "" {
			g.Groups, g.Rest = limited(inner[g.Value], &g.Figures, q)
		}
	}
	if left := r.Total.Without(covered); left.Requests > 0 && !r.Since.IsZero() {
		r.Uncovered = &left
	}
}

// limited returns the first groups by measure, and the figures of all others.
func limited(all []named, whole *requestlog.Figures, q *Query) ([]Group, *requestlog.Figures) {
	if q.Measure == Latency { // the other measures do not need the quantiles of groups that are not listed
		for _, n := range all {
			n.sums.Figures = n.sums.Total()
		}
	}
	slices.SortFunc(all, func(a, b named) int {
		x, y := &a.sums.Figures, &b.sums.Figures
		return cmp.Or(cmp.Compare(q.Measure.Of(y), q.Measure.Of(x)), cmp.Compare(y.Requests, x.Requests), cmp.Compare(a.value, b.value))
	})
	all = all[:min(len(all), q.Limit)]
	groups := make([]Group, 0, len(all))
	for _, n := range all {
		groups = append(groups, Group{Value: n.value, Figures: n.sums.Total()})
	}
	rest := *whole
	for i := range groups {
		rest = rest.Without(&groups[i].Figures)
	}
	if rest.Requests <= 0 {
		return groups, nil
	}
	return groups, &rest
}

// note adds the notes of a result.
func (r *Result) note(asked *Query, kept bool) {
	add := func(code, message string) { r.Notes = append(r.Notes, Note{code, message}) }
	if r.From.Before(asked.From.Truncate(time.Minute)) || r.To.After(asked.To.Add(time.Minute)) {
		add(NoteRange, "The ends of the range are rounded to whole hours if they are older than two days, and to whole days if they are older than 34 days.")
	}
	if !r.Since.IsZero() {
		add(NoteCovered, fmt.Sprintf("Requests before %s are not grouped by these dimensions.", r.Since.UTC().Format("2006-01-02 15:04 MST")))
	}
	if !kept {
		add(NoteTop, fmt.Sprintf("Each day stores the %d most expensive and the %d most frequent values. Requests with other values are in the rest, so the figures of a listed value can be too low. Totals are exact.", TopCost, TopRequests))
	}
	if r.Total.LatencyP95 > 0 {
		add(NoteQuantiles, "Latencies are estimated from histograms, within 10 %.")
	}
}

// TopCost and TopRequests are the number of values that the roll-ups of a day keep by cost and by requests.
const (
	TopCost     = 600
	TopRequests = 600
)

package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

const (
	// FactAge is the age up to which facts, the figures of single requests, are kept. Older ranges are rounded to whole days.
	FactAge = 400 * 24 * time.Hour
	// MaxFacts is the maximum number of facts that a query reads. A query that needs more reads a sample.
	MaxFacts = 1_000_000
	// DefaultLimit is the default maximum number of groups on each level.
	DefaultLimit = 20
	// MaxLimit is the maximum number of groups on each level.
	MaxLimit = 500
	// LatencyGroups is the minimum number of groups considered when sorting by latency. The groups with the most requests are considered.
	LatencyGroups = 200

	day       = 24 * time.Hour
	minuteAge = 47 * time.Hour       // age up to which per-minute buckets are used; the roll-ups by minute are kept slightly longer
	hourAge   = 398 * 24 * time.Hour // age up to which hourly buckets are used; the roll-ups by hour and the facts are kept slightly longer
)

// Query selects the requests of a report and its groups.
type Query struct {
	requestlog.RollupFilter
	User    []string
	Session []string
	Client  []string
	Tag     []string // tags as "name=value", or "name" for any value

	By      Dimension
	Then    Dimension // dimension of the second level; requires By
	Measure Measure   // sort order of the groups; Spend if empty
	Limit   int       // maximum number of groups on each level; DefaultLimit if 0

	// Within lists the values of By whose groups Source needs; empty for all values. A Reader may ignore it.
	Within []string
}

// validate rejects invalid combinations of parameters.
func (q *Query) validate() error {
	reject := func(param, message string) error {
		return &llm.Error{Kind: llm.InvalidRequest, Param: param, Message: "Parameter " + param + ": " + message}
	}
	switch {
	case !q.From.Before(q.To):
		return reject("from", "must be earlier than \"to\".")
	case q.Then != "" && q.By == "":
		return reject("then", "requires \"by\".")
	case q.Then != "" && q.Then == q.By:
		return reject("then", "must differ from \"by\".")
	case q.Limit < 0 || q.Limit > MaxLimit:
		return reject("limit", fmt.Sprintf("must be between 1 and %d.", MaxLimit))
	case len(q.Tag) > 1:
		return reject("tag", "a report can filter by only one tag.")
	}
	return nil
}

// Condition is a filter on one dimension. It matches any of the values.
type Condition struct {
	Dimension Dimension
	Values    []string
	Any       bool // whether every non-empty value matches
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
		name, value, valued := strings.Cut(tag, "=")
		c := Condition{Dimension: Tag(requestlog.Term(name)), Any: !valued}
		if valued {
			c.Values = []string{requestlog.Term(value)}
		}
		all = append(all, c)
	}
	return all
}

// Needed lists the dimensions of the groups and the filters, without duplicates.
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

// Reader sums the requests that a query selects. If the query has a limit, a Reader may omit groups that are not among the top
// groups by measure.
type Reader interface {
	Slices(ctx context.Context, q *Query) (Slices, error)
}

// Slices holds the result of a query to a Reader.
type Slices struct {
	Rows    []Row
	Kept    bool      // whether the roll-ups contain all values
	Sampled bool      // whether the figures are estimates from a sample
	Since   time.Time // start of the included requests if earlier requests in the range are missing; otherwise zero
}

// Row holds the sums of one group.
type Row struct {
	By, Then string
	requestlog.Sums
}

// Group is one group in a result.
type Group struct {
	Value string
	requestlog.Figures
	Groups []Group             // groups of the second level
	Rest   *requestlog.Figures // figures of the requests in the group that are not in Groups; nil if there are none
}

// Result holds the figures of a report.
type Result struct {
	From, To time.Time // time range of the figures, rounded to whole buckets
	Total    requestlog.Figures
	Groups   []Group
	Rest     *requestlog.Figures // figures of the requests that are not in Groups; nil if there are none
	// Since is the time from which requests are grouped, if it is later than From; otherwise zero. Earlier requests are only in
	// Total and Uncovered.
	Since     time.Time
	Uncovered *requestlog.Figures // figures of the requests before Since; nil if all requests are covered or their number is unknown
	Sampled   bool                // whether the figures of the groups on the last level are estimates from a sample; Total is exact
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
	NoteSampled   = "sampled"
	NoteCovered   = "not_covered"
	NoteQuantiles = "latency_estimated"
)

// Source reads two kinds of roll-ups: the overview roll-ups, and the roll-ups by every dimension.
type Source struct {
	Figures Reader
	Facts   Reader
	// Owner returns the account that created a key, or an empty string if it is unknown.
	Owner func(key string) string
}

// Run executes a query.
func (s *Source) Run(ctx context.Context, q Query, now time.Time) (*Result, error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	q.Limit = cmp.Or(q.Limit, DefaultLimit)
	requested := q
	q.round(now)
	total := q
	total.By, total.Then = "", ""
	sum, err := s.read(ctx, &total)
	if err != nil {
		return nil, err
	}
	if sum.Sampled || !sum.Kept {
		return nil, &llm.Error{
			Kind: llm.InvalidRequest, Param: "from",
			Message: "The total of these filters over this range would be an estimate. Choose a shorter range or remove a filter.",
		}
	}
	result := &Result{From: q.From, To: q.To, Total: sum.total(), Groups: []Group{}}
	if q.By == "" {
		result.Since = sum.Since
		result.note(&requested, true)
		return result, nil
	}
	first := q
	first.Then = ""
	outer, err := s.read(ctx, &first)
	if err != nil {
		return nil, err
	}
	result.Since, result.Sampled = outer.Since, outer.Sampled
	kept, covered := outer.Kept, result.Total
	if !outer.Since.IsZero() { // if Since is zero, the groups and the rest add up to the total
		total.From = outer.Since
		since, err := s.read(ctx, &total)
		if err != nil {
			return nil, err
		}
		covered = since.total()
	}
	result.Groups, result.Rest = limited(s.groups(outer.Rows, q.By, false), &covered, &q)
	if left := result.Total.Without(&covered); left.Requests > 0 && !result.Since.IsZero() {
		result.Uncovered = &left
	}
	if q.Then != "" {
		if q.By != Member {
			for i := range result.Groups {
				q.Within = append(q.Within, result.Groups[i].Value)
			}
		}
		both, err := s.read(ctx, &q)
		if err != nil {
			return nil, err
		}
		kept, result.Sampled = kept && both.Kept, result.Sampled || both.Sampled
		inner := s.inner(both.Rows, &q)
		for i := range result.Groups {
			g := &result.Groups[i]
			g.Groups, g.Rest = limited(inner[g.Value], &g.Figures, &q)
		}
	}
	result.note(&requested, kept)
	return result, nil
}

// round extends the range to whole buckets. Each bound is rounded to minutes, hours or days, depending on its age.
func (q *Query) round(now time.Time) {
	width := func(t time.Time) time.Duration { return bucketWidth(now.Sub(t)) }
	q.From = q.From.UTC().Truncate(width(q.From))
	if to := q.To.UTC().Truncate(width(q.To)); !to.Equal(q.To) {
		q.To = to.Add(width(q.To))
	}
}

// bucketWidth returns the width of the buckets used for requests of the given age.
func bucketWidth(age time.Duration) time.Duration {
	switch {
	case age < minuteAge:
		return time.Minute
	case age < hourAge:
		return time.Hour
	}
	return day
}

func rolledOnly(all []Dimension) bool {
	return !slices.ContainsFunc(all, func(d Dimension) bool { return !d.rolled() })
}

// read runs a query on the fastest suitable roll-ups. The overview roll-ups contain all values and go back to the first request. The
// roll-ups by every dimension are faster for two dimensions.
func (s *Source) read(ctx context.Context, q *Query) (found Slices, err error) {
	stored := *q
	if q.Source == requestlog.SourceKey { // read keys instead of members: every request has a key, and the key determines the member
		stored.By, stored.Then = byKey(q.By), byKey(q.Then)
		if stored.Then == stored.By {
			stored.Then = ""
		}
	}
	if q.By == Member || q.Then == Member { // read all keys, because several keys can belong to one member
		stored.Limit = 0
	}
	needed := stored.Needed()
	rolled := rolledOnly(needed)
	// Groups by key alone are read from the facts, because there can be many keys.
	if rolled && (len(needed) == 0 || len(needed) == 1 && stored.By != Key || len(needed) > 2) {
		return s.Figures.Slices(ctx, &stored)
	}
	found, err = s.Facts.Slices(ctx, &stored)
	if err != nil || !rolled || found.Since.IsZero() && (found.Kept && !found.Sampled || stored.By != "") {
		return found, err
	}
	return s.Figures.Slices(ctx, &stored)
}

func byKey(d Dimension) Dimension {
	if d == Member {
		return Key
	}
	return d
}

// total returns the total of all rows.
func (s *Slices) total() requestlog.Figures {
	var sum requestlog.Sums
	for i := range s.Rows {
		sum.Merge(&s.Rows[i].Sums)
	}
	return sum.Total()
}

// named holds the sums for one value of a dimension.
type named struct {
	value string
	sums  *requestlog.Sums
}

// groups merges rows with equal values on one level. If the dimension is Member, it replaces keys with members.
func (s *Source) groups(rows []Row, d Dimension, second bool) []named {
	index := map[string]int{}
	var all []named
	for i := range rows {
		r := &rows[i]
		if r.Requests == 0 { // the row contains only failed attempts, which are counted under the attempt's model
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

// inner returns the groups of the second level by the value on the first level.
func (s *Source) inner(rows []Row, q *Query) map[string][]named {
	if q.Source == requestlog.SourceKey { // the rows are grouped only by key, which determines the member
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

// limited returns the top groups by measure and the combined figures of the remaining groups.
func limited(all []named, whole *requestlog.Figures, q *Query) ([]Group, *requestlog.Figures) {
	if q.Measure == Latency { // for the other measures, the quantiles of unlisted groups are not needed
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
	for _, n := range rest.Counts() { // the sum of estimated groups can exceed the whole
		*n = max(*n, 0)
	}
	if rest.Requests <= 0 {
		return groups, nil
	}
	return groups, &rest
}

// note adds the notes to a result.
func (r *Result) note(requested *Query, kept bool) {
	add := func(code, message string) { r.Notes = append(r.Notes, Note{code, message}) }
	if r.From.Before(requested.From.Truncate(time.Minute)) || r.To.After(requested.To.Add(time.Minute)) {
		add(NoteRange, "The ends of the range are rounded to whole hours if they are older than two days, and to whole days if they are older than 13 months.")
	}
	if !r.Since.IsZero() {
		add(NoteCovered, fmt.Sprintf("Requests before %s are not grouped by these dimensions.", r.Since.UTC().Format("2006-01-02 15:04 MST")))
	}
	if r.Sampled {
		add(NoteSampled, "The groups of the last level are estimated from a sample of about 4,000 requests per day. The total is exact.")
	} else if !kept {
		add(NoteTop, fmt.Sprintf("Each day stores the %d most expensive and the %d most frequent values of a dimension, and %d of each for pairs with end users, sessions, clients or tags. Requests with other values are in the rest, so the figures of a listed value can be too low. Totals are exact.", TopValues, TopValues, TopPairs))
	}
	if r.Total.LatencyP95 > 0 {
		message := "Latencies are estimated from histograms, within 10 %."
		if requested.Measure == Latency && requested.By != "" {
			message += fmt.Sprintf(" The groups are those with the highest latency among the %d with the most requests.", max(requested.Limit, LatencyGroups))
		}
		add(NoteQuantiles, message)
	}
}

// Limits on the number of values kept in the roll-ups of a day. Each limit applies both to the values with the highest cost and
// to the values with the most requests.
const (
	TopValues     = 800  // values of one dimension
	TopConfigured = 5000 // pairs among the dimensions model, provider, key, policy and member
	TopPairs      = 600  // pairs of any other two dimensions
)

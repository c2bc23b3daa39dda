package requestlog

import (
	"slices"
	"strconv"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route"
)

// Filter selects entries of one workspace. Fields are combined with "and", and several values of one field with "or". The zero Filter with
// a workspace selects all entries. From is inclusive, To exclusive.
type Filter struct {
	WorkspaceID string
	From, To    time.Time
	Lists
	Ranges
	Stream    *bool
	Unpriced  bool
	Simulated *bool
	Source    string // source of the requests: SourceKey or SourcePlayground; empty for both
	Q         string // literal text searched in previews, ids and errors
	Text      string // text searched in stored bodies, ignoring case
}

// Lists holds the accepted values of each column. An empty list accepts all values.
type Lists struct {
	ID        []string
	Decision  []string
	Outcome   []string
	Status    []int
	Model     []string
	Requested []string
	Provider  []string
	Policy    []string
	Key       []string
	Tag       []string // tags as "name=value", or "name" for any value
	Finish    []string
	Cache     []string
	Session   []string
	User      []string
	Client    []string
}

// Ranges holds the accepted ranges of amounts and durations, including their bounds. A nil amount or a zero duration sets no bound.
type Ranges struct {
	MinCost    *money.Amount
	MaxCost    *money.Amount
	MinLatency time.Duration
	MaxLatency time.Duration
	MinSaved   *money.Amount
	MaxSaved   *money.Amount
}

// Kind is the type of a column. It determines how the column is stored, and how its filter is parsed and compared.
type Kind int

// The kinds of columns.
const (
	Text     Kind = iota // the filter is a list of values
	Number               // the filter is a list of values
	Truth                // the filter is true or false
	Amount               // amount in dollars; the filter is a range
	Duration             // the filter is a range
)

// Column declares a column of the request log. The columns of the requests table, the filters of the API, the command line and the
// dashboard, their documentation, the exports and the redaction are derived from it. To add a filterable column, add a field to Lists or
// Ranges, an element to columns, and a migration that adds the stored column.
type Column struct {
	Name    string   // filter parameter; a range has the parameters min_NAME and max_NAME
	Label   string   // display name
	Help    string   // description of the filter
	Example string   // sample value, shown in the dashboard's text input; empty if the dashboard has another control
	Stored  string   // column of the requests table
	Export  string   // column of CSV and JSON exports
	Kind    Kind     // type of the column
	Values  []string // allowed values; nil for any

	// Rank orders the indexed columns of kind Text and Number by selectivity. The most selective column has rank 1. Rank is 0 if the column
	// has no index.
	Rank int
	// Partial reports whether the index omits the rows with the value Common, which most rows have.
	Partial bool
	Common  string

	// Redacted returns a pointer to the column's value in an entry, which redaction rules can change. It is nil if callers cannot choose the
	// value.
	Redacted func(*Entry) *string

	terms  func(*Filter) *[]string // filter field of a column of kind Text
	codes  func(*Filter) *[]int    // filter field of a column of kind Number
	truth  func(*Filter) **bool    // filter field of a column of kind Truth
	bounds func(*Filter) bounds    // filter fields of a column of kind Amount or Duration
	text   func(*Entry) string
	number func(*Entry) (n int64, known bool)
}

// Columns returns the declared columns in the order in which users see them.
func Columns() []Column { return columns }

var columns = []Column{
	{
		Name: "id", Label: "id", Help: "Request IDs.", Stored: "id", Export: "id", Rank: 1,
		terms: func(f *Filter) *[]string { return &f.ID }, text: func(e *Entry) string { return e.ID },
	},
	{
		Name: "decision", Label: "decision", Help: "Kinds of decisions.", Stored: "decision", Export: "decision", Rank: 6, Partial: true, Common: string(route.Expected),
		Values: []string{string(route.Expected), string(route.Fallback), string(route.Policy)},
		terms:  func(f *Filter) *[]string { return &f.Decision }, text: func(e *Entry) string { return string(e.DecisionKind) },
	},
	{
		Name: "outcome", Label: "outcome", Help: "Outcomes.", Stored: "outcome", Export: "outcome", Rank: 4, Partial: true, Common: string(OK),
		Values: []string{
			string(OK), string(ClientError), string(UpstreamError), string(Rejected), string(Cancelled), string(Partial), string(Interrupted),
			string(GatewayError),
		},
		terms: func(f *Filter) *[]string { return &f.Outcome }, text: func(e *Entry) string { return string(e.Outcome) },
	},
	{
		Name: "status", Label: "status", Help: "HTTP status codes sent to the client.", Example: "429,502", Stored: "status", Export: "status", Kind: Number, Rank: 11, Partial: true, Common: "200",
		codes: func(f *Filter) *[]int { return &f.Status }, number: func(e *Entry) (int64, bool) { return int64(e.Status), true },
	},
	{
		Name: "model", Label: "model", Help: "Models that served the request.", Stored: "model", Export: "model", Rank: 9,
		terms: func(f *Filter) *[]string { return &f.Model }, text: func(e *Entry) string { return e.Model },
	},
	{
		Name: "requested", Label: "requested", Help: "Models as requested by the client.", Example: "auto", Stored: "requested", Export: "requested_model", Rank: 8, Partial: true, Common: "auto",
		terms: func(f *Filter) *[]string { return &f.Requested }, text: func(e *Entry) string { return e.Requested },
	},
	{
		Name: "provider", Label: "provider", Help: "Providers that served the request.", Stored: "provider", Export: "provider", Rank: 10,
		terms: func(f *Filter) *[]string { return &f.Provider }, text: func(e *Entry) string { return e.Provider },
	},
	{
		Name: "policy", Label: "policy", Help: "Policies that changed the decision.", Stored: "policy", Export: "policy", Rank: 5, Partial: true,
		terms: func(f *Filter) *[]string { return &f.Policy }, text: func(e *Entry) string { return e.Policy },
	},
	{
		Name: "key", Label: "key", Help: "Key IDs.", Stored: "key_id", Export: "key_id", Rank: 7,
		terms: func(f *Filter) *[]string { return &f.Key }, text: func(e *Entry) string { return e.KeyID },
	},
	{
		Name: "finish", Label: "finish reason", Help: "Finish reasons.", Example: "length", Stored: "finish", Export: "finish_reason",
		terms: func(f *Filter) *[]string { return &f.Finish }, text: func(e *Entry) string { return e.Finish },
	},
	{
		Name: "cache", Label: "cache", Help: "How the response cache was used.", Stored: "cache", Export: "cache",
		Values: []string{string(CacheHit), string(CacheMiss), string(CacheBypass)},
		terms:  func(f *Filter) *[]string { return &f.Cache },
		text: func(e *Entry) string {
			if e.Cache == nil {
				return ""
			}
			return string(e.Cache.Status)
		},
	},
	{
		Name: "session", Label: "session", Help: "Session IDs.", Example: "session id", Stored: "session", Export: "session", Rank: 2, Partial: true,
		Redacted: func(e *Entry) *string { return &e.Session },
		terms:    func(f *Filter) *[]string { return &f.Session }, text: func(e *Entry) string { return e.Session },
	},
	{
		Name: "user", Label: "user", Help: "End users as reported by the client.", Example: "end user", Stored: "end_user", Export: "end_user", Rank: 3, Partial: true,
		Redacted: func(e *Entry) *string { return &e.EndUser },
		terms:    func(f *Filter) *[]string { return &f.User }, text: func(e *Entry) string { return e.EndUser },
	},
	{
		Name: "client", Label: "client", Help: "Clients as reported by the User-Agent header.", Example: "openai-python/2.1", Stored: "client", Export: "client",
		Redacted: func(e *Entry) *string { return &e.Client },
		terms:    func(f *Filter) *[]string { return &f.Client }, text: func(e *Entry) string { return e.Client },
	},
	{
		Name: "stream", Label: "stream", Help: "Whether the response was streamed.", Stored: "stream", Export: "stream", Kind: Truth,
		truth: func(f *Filter) **bool { return &f.Stream }, number: func(e *Entry) (int64, bool) { return truthNumber(e.Stream), true },
	},
	{
		Name: "simulated", Label: "simulated", Help: "Whether a simulated model served the request.", Stored: "simulated", Export: "simulated", Kind: Truth,
		truth: func(f *Filter) **bool { return &f.Simulated }, number: func(e *Entry) (int64, bool) { return truthNumber(e.Simulated), true },
	},
	{
		Name: "cost", Label: "cost", Help: "Cost in US dollars.", Example: "USD", Stored: "cost", Export: "cost_usd", Kind: Amount,
		bounds: func(f *Filter) bounds { return bounds{minAmount: &f.MinCost, maxAmount: &f.MaxCost} },
		number: func(e *Entry) (int64, bool) {
			if e.Cost == nil {
				return 0, false
			}
			return int64(*e.Cost), true
		},
	},
	{
		Name: "latency", Label: "latency", Help: "Latency in milliseconds, or a duration such as 2s.", Example: "ms or 2s", Stored: "latency", Export: "latency_ms", Kind: Duration,
		bounds: func(f *Filter) bounds { return bounds{minDuration: &f.MinLatency, maxDuration: &f.MaxLatency} },
		number: func(e *Entry) (int64, bool) { return int64(e.Latency), true },
	},
	{
		Name: "saved", Label: "saved", Help: "Savings in US dollars compared with the baseline; negative when the request cost more.", Example: "USD", Stored: "saved", Export: "saved_usd", Kind: Amount,
		bounds: func(f *Filter) bounds { return bounds{minAmount: &f.MinSaved, maxAmount: &f.MaxSaved} },
		number: func(e *Entry) (int64, bool) {
			saved, known := e.Saved()
			return int64(saved), known
		},
	},
}

// bounds points to the minimum and the maximum of a range in a filter. The range consists of amounts or durations.
type bounds struct {
	minAmount, maxAmount     **money.Amount
	minDuration, maxDuration *time.Duration
}

// IsRange reports whether the column is filtered by a range.
func (c *Column) IsRange() bool { return c.Kind == Amount || c.Kind == Duration }

// TextOf returns the stored text of a column of kind Text.
func (c *Column) TextOf(e *Entry) string { return Term(c.text(e)) }

// NumberOf returns the stored number of a column of any kind except Text. known is false if the entry has no value.
func (c *Column) NumberOf(e *Entry) (n int64, known bool) { return c.number(e) }

// Value returns the value of the column in an entry: a string, an int64, a bool, a money.Amount or a time.Duration. It returns nil if the
// entry has no amount, and for a status or duration of 0.
func (c *Column) Value(e *Entry) any {
	if c.Kind == Text {
		return c.text(e)
	}
	n, known := c.number(e)
	switch {
	case c.Kind == Truth:
		return n == 1
	case !known, c.Kind != Amount && n <= 0:
		return nil
	case c.Kind == Amount:
		return money.Amount(n)
	case c.Kind == Duration:
		return time.Duration(n)
	}
	return n
}

// Terms returns the values that a filter lists for a column of kind Text.
func (c *Column) Terms(f *Filter) []string {
	if c.terms == nil {
		return nil
	}
	return *c.terms(f)
}

// Codes returns the values that a filter lists for a column of kind Number.
func (c *Column) Codes(f *Filter) []int {
	if c.codes == nil {
		return nil
	}
	return *c.codes(f)
}

// Truth returns the value that a filter requires for a column of kind Truth; nil if any value is accepted.
func (c *Column) Truth(f *Filter) *bool {
	if c.truth == nil {
		return nil
	}
	return *c.truth(f)
}

// Range returns the bounds that a filter sets for a column whose filter is a range; nil for no bound.
func (c *Column) Range(f *Filter) (low, high *int64) {
	if c.bounds == nil {
		return nil, nil
	}
	b := c.bounds(f)
	if c.Kind == Amount {
		return amountBound(*b.minAmount), amountBound(*b.maxAmount)
	}
	return durationBound(*b.minDuration), durationBound(*b.maxDuration)
}

// Covered reports whether the filter has values for this column, and the column's index includes all rows with these values.
func (c *Column) Covered(f *Filter) bool {
	if c.Rank == 0 {
		return false
	}
	if c.Kind == Number {
		return len(c.Codes(f)) > 0 && (!c.Partial || !slices.ContainsFunc(c.Codes(f), func(n int) bool { return strconv.Itoa(n) == c.Common }))
	}
	terms := c.Terms(f)
	return len(terms) > 0 && (!c.Partial || !slices.Contains(terms, c.Common))
}

// match reports whether an entry has the value that the filter requires of the column.
func (c *Column) match(f *Filter, e *Entry) bool {
	switch c.Kind {
	case Text:
		return oneOf(c.Terms(f), c.text(e))
	case Number:
		n, _ := c.number(e)
		return len(c.Codes(f)) == 0 || slices.Contains(c.Codes(f), int(n))
	case Truth:
		n, _ := c.number(e)
		want := c.Truth(f)
		return want == nil || truthNumber(*want) == n
	default:
		low, high := c.Range(f)
		if low == nil && high == nil {
			return true
		}
		n, known := c.number(e)
		return known && (low == nil || n >= *low) && (high == nil || n <= *high)
	}
}

func truthNumber(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func amountBound(a *money.Amount) *int64 {
	if a == nil {
		return nil
	}
	return new(int64(*a))
}

func durationBound(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	return new(int64(d))
}

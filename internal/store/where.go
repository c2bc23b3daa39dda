package store

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/money"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// Where collects the conditions of a statement with their arguments.
type Where struct {
	Conds []string
	Args  []any
}

// Arg adds an argument and returns its placeholder.
func (w *Where) Arg(v any) string {
	w.Args = append(w.Args, v)
	return fmt.Sprintf("$%d", len(w.Args))
}

// And adds a condition; %s stands for the arguments' placeholders.
func (w *Where) And(format string, args ...any) {
	marks := make([]any, len(args))
	for i, v := range args {
		marks[i] = w.Arg(v)
	}
	w.Conds = append(w.Conds, fmt.Sprintf(format, marks...))
}

// In adds "column is one of values"; no values, no condition.
func (w *Where) In(column string, values []string) {
	if len(values) > 0 {
		w.Conds = append(w.Conds, column+" in ("+w.terms(values)+")")
	}
}

// terms adds values in the form in which they are stored, and returns their placeholders.
func (w *Where) terms(values []string) string {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = w.Arg(requestlog.Term(v))
	}
	return strings.Join(marks, ",")
}

func (w *Where) String() string { return strings.Join(w.Conds, " and ") }

// match adds the conditions of a filter on "requests r". Filter.Match means the same. It must come first: the workspace
// is the statement's first argument.
func (db *DB) match(w *Where, f *requestlog.Filter) {
	w.And("r.workspace_id = %s", f.WorkspaceID)
	if !f.From.IsZero() {
		w.And("r.id >= %s", floorID(f.From))
	}
	if !f.To.IsZero() {
		w.And("r.id < %s", floorID(f.To))
	}
	for _, c := range termConditions(f) {
		w.In(c.column, c.values)
		if c.walkable() && c.partial {
			w.Conds = append(w.Conds, fmt.Sprintf("%s <> '%s'", c.column, c.common))
		}
	}
	if len(f.Status) > 0 {
		w.Conds = append(w.Conds, "r.status in ("+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(f.Status)), ","), "[]")+")")
		if !slices.Contains(f.Status, usualStatus) {
			w.Conds = append(w.Conds, fmt.Sprintf("r.status <> %d", usualStatus))
		}
	}
	if len(f.Tag) > 0 {
		w.Conds = append(w.Conds, "r.id in (select t.request_id from tags t where t.workspace_id = $1 and t.tag in ("+w.terms(f.Tag)+"))")
	}
	db.matchRest(w, f)
}

// usualStatus is the status that the index leaves out.
const usualStatus = http.StatusOK

// usualName is the name that most requests ask for, and that the index leaves out.
const usualName = "auto"

// termCondition is "column is one of values". A partial index leaves out the value that most rows have in common; it is
// Used only where the statement says that this value is not wanted.
type termCondition struct {
	column  string
	values  []string
	partial bool
	common  string
}

// termConditions lists a filter's conditions on texts, the most selective first.
func termConditions(f *requestlog.Filter) []termCondition {
	return []termCondition{
		{column: "r.id", values: f.ID},
		{column: "r.session", values: f.Session, partial: true},
		{column: "r.end_user", values: f.User, partial: true},
		{column: "r.outcome", values: f.Outcome, partial: true, common: string(requestlog.OK)},
		{column: "r.policy", values: f.Policy, partial: true},
		{column: "r.decision", values: f.Decision, partial: true, common: string(route.Expected)},
		{column: "r.key_id", values: f.Key},
		{column: "r.key_id", values: keyless(f)},
		{column: "r.requested", values: f.Requested, partial: true, common: usualName},
		{column: "r.model", values: f.Model},
		{column: "r.provider", values: f.Provider},
	}
}

// keyless is the key of requests that came without one, where only those are wanted.
func keyless(f *requestlog.Filter) []string {
	if f.Source == requestlog.SourcePlayground {
		return []string{""}
	}
	return nil
}

// walkable reports whether an index has all the rows that the condition selects.
func (c termCondition) walkable() bool {
	return len(c.values) > 0 && (!c.partial || !slices.Contains(c.values, c.common))
}

func (db *DB) matchRest(w *Where, f *requestlog.Filter) {
	if f.Stream != nil {
		w.And("r.stream = %s", Flag(*f.Stream))
	}
	if f.Simulated != nil {
		w.Conds = append(w.Conds, fmt.Sprintf("r.simulated = %d", Flag(*f.Simulated))) // spelt out: an index has only the simulated ones
	}
	if f.Source == requestlog.SourceKey {
		w.Conds = append(w.Conds, "r.key_id <> ''")
	}
	if f.Unpriced {
		w.And("r.cost is null and r.model <> ''")
	}
	between(w, "latency", positive(f.MinLatency), positive(f.MaxLatency))
	between(w, "cost", number(f.MinCost), number(f.MaxCost))
	between(w, "saved", number(f.MinSaved), number(f.MaxSaved))
	if onlyLosses(f) {
		w.Conds = append(w.Conds, losses)
	}
	if f.Q != "" {
		db.matchText(w, requestlog.Fold(f.Q))
	}
}

// matchText adds a search for a text. Ids are looked at only when they can contain it: a search reads every row, and
// each comparison counts.
func (db *DB) matchText(w *Where, text string) {
	columns := []string{"r.preview", "r.failure"}
	if strings.Trim(text, idLetters) == "" {
		columns = append(columns, "r.id")
	}
	pattern := w.Arg("%" + escapeLike(text) + "%")
	parts := make([]string, len(columns))
	for i, column := range columns {
		parts[i] = fmt.Sprintf(`%s %s %s escape '\'`, column, db.dialect.like(), pattern)
	}
	if kept := db.bodiesKept(); kept != "" { // an expired text must not be found either
		parts[0] = "(" + parts[0] + " and r.id >= " + w.Arg(kept) + ")"
	}
	w.Conds = append(w.Conds, "("+strings.Join(parts, " or ")+")")
}

// idLetters are those of request ids, in lower case.
const idLetters = "_0123456789abcdefghjkmnpqrstvwxyz"

// like is the operator that disregards the case of ASCII letters.
func (d Dialect) like() string {
	if d == Postgres {
		return "ilike"
	}
	return "like"
}

// escapeLike makes a text stand for itself in a pattern.
func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// between bounds a column that has a class beside it. The class repeats the bound in a form that an index can use.
func between(w *Where, column string, low, high *int64) {
	if low != nil {
		w.And("r."+column+" >= %s", *low)
		w.And("r."+column+"_class >= %s", class(*low))
	}
	if high != nil {
		w.And("r."+column+" <= %s", *high)
		w.And("r."+column+"_class <= %s", class(*high))
	}
}

// losses is what the index by savings has: the requests that cost more than their baseline.
const losses = "r.saved_class < 0"

func onlyLosses(f *requestlog.Filter) bool { return f.MaxSaved != nil && *f.MaxSaved < 0 }

func positive(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	n := int64(d)
	return &n
}

func number(a *money.Amount) *int64 {
	if a == nil {
		return nil
	}
	n := int64(*a)
	return &n
}

// floorID is the smallest id that a request received at t or later can have.
func floorID(t time.Time) string {
	if t.Nanosecond()%int(time.Millisecond) > 0 {
		t = t.Add(time.Millisecond) // ids know whole milliseconds
	}
	return id.Floor("req", t)
}

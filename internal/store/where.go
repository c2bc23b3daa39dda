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

// where collects the conditions of a statement with their arguments.
type where struct {
	conds []string
	args  []any
}

// arg adds an argument and returns its placeholder.
func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d", len(w.args))
}

// and adds a condition; %s stands for the arguments' placeholders.
func (w *where) and(format string, args ...any) {
	marks := make([]any, len(args))
	for i, v := range args {
		marks[i] = w.arg(v)
	}
	w.conds = append(w.conds, fmt.Sprintf(format, marks...))
}

// in adds "column is one of values"; no values, no condition.
func (w *where) in(column string, values []string) {
	if len(values) > 0 {
		w.conds = append(w.conds, column+" in ("+w.terms(values)+")")
	}
}

// terms adds values in the form in which they are stored, and returns their placeholders.
func (w *where) terms(values []string) string {
	marks := make([]string, len(values))
	for i, v := range values {
		marks[i] = w.arg(requestlog.Term(v))
	}
	return strings.Join(marks, ",")
}

func (w *where) String() string { return strings.Join(w.conds, " and ") }

// match adds the conditions of a filter on "requests r". Filter.Match means the same. It must come first: the workspace
// is the statement's first argument.
func (db *DB) match(w *where, f *requestlog.Filter) {
	w.and("r.workspace_id = %s", f.WorkspaceID)
	if !f.From.IsZero() {
		w.and("r.id >= %s", floorID(f.From))
	}
	if !f.To.IsZero() {
		w.and("r.id < %s", floorID(f.To))
	}
	for _, c := range termConditions(f) {
		w.in(c.column, c.values)
		if c.walkable() && c.partial {
			w.conds = append(w.conds, fmt.Sprintf("%s <> '%s'", c.column, c.common))
		}
	}
	if len(f.Status) > 0 {
		w.conds = append(w.conds, "r.status in ("+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(f.Status)), ","), "[]")+")")
		if !slices.Contains(f.Status, usualStatus) {
			w.conds = append(w.conds, fmt.Sprintf("r.status <> %d", usualStatus))
		}
	}
	if len(f.Tag) > 0 {
		w.conds = append(w.conds, "r.id in (select t.request_id from tags t where t.workspace_id = $1 and t.tag in ("+w.terms(f.Tag)+"))")
	}
	db.matchRest(w, f)
}

// usualStatus is the status that the index leaves out.
const usualStatus = http.StatusOK

// usualName is the name that most requests ask for, and that the index leaves out.
const usualName = "auto"

// termCondition is "column is one of values". A partial index leaves out the value that most rows have in common; it is
// used only where the statement says that this value is not wanted.
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

func (db *DB) matchRest(w *where, f *requestlog.Filter) {
	if f.Stream != nil {
		w.and("r.stream = %s", flag(*f.Stream))
	}
	if f.Simulated != nil {
		w.conds = append(w.conds, fmt.Sprintf("r.simulated = %d", flag(*f.Simulated))) // spelt out: an index has only the simulated ones
	}
	if f.Source == requestlog.SourceKey {
		w.conds = append(w.conds, "r.key_id <> ''")
	}
	if f.Unpriced {
		w.and("r.cost is null and r.model <> ''")
	}
	between(w, "latency", positive(f.MinLatency), positive(f.MaxLatency))
	between(w, "cost", number(f.MinCost), number(f.MaxCost))
	between(w, "saved", number(f.MinSaved), number(f.MaxSaved))
	if onlyLosses(f) {
		w.conds = append(w.conds, losses)
	}
	if f.Q != "" {
		db.matchText(w, requestlog.Fold(f.Q))
	}
}

// matchText adds a search for a text. Ids are looked at only when they can contain it: a search reads every row, and
// each comparison counts.
func (db *DB) matchText(w *where, text string) {
	columns := []string{"r.preview", "r.failure"}
	if strings.Trim(text, idLetters) == "" {
		columns = append(columns, "r.id")
	}
	pattern := w.arg("%" + escapeLike(text) + "%")
	parts := make([]string, len(columns))
	for i, column := range columns {
		parts[i] = fmt.Sprintf(`%s %s %s escape '\'`, column, db.dialect.like(), pattern)
	}
	if kept := db.bodiesKept(); kept != "" { // an expired text must not be found either
		parts[0] = "(" + parts[0] + " and r.id >= " + w.arg(kept) + ")"
	}
	w.conds = append(w.conds, "("+strings.Join(parts, " or ")+")")
}

// idLetters are those of request ids, in lower case.
const idLetters = "_0123456789abcdefghjkmnpqrstvwxyz"

// like is the operator that disregards the case of ASCII letters.
func (d dialect) like() string {
	if d == dialectPostgres {
		return "ilike"
	}
	return "like"
}

// escapeLike makes a text stand for itself in a pattern.
func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

// between bounds a column that has a class beside it. The class repeats the bound in a form that an index can use.
func between(w *where, column string, low, high *int64) {
	if low != nil {
		w.and("r."+column+" >= %s", *low)
		w.and("r."+column+"_class >= %s", class(*low))
	}
	if high != nil {
		w.and("r."+column+" <= %s", *high)
		w.and("r."+column+"_class <= %s", class(*high))
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

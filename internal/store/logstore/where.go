package logstore

import (
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// queryBuilder builds statements for one dialect.
type queryBuilder struct {
	Dialect     sqldb.Dialect
	EntriesFrom string // smallest id of an unexpired entry; empty when none have expired
	BodiesFrom  string // smallest id of an entry whose bodies have not expired; empty when none have expired
}

// idBounds are the ids between which a statement selects entries.
type idBounds struct {
	Low, High  string // Low <= id < High; empty for no bound
	After      string // id > After; empty for no bound
	Descending bool
}

// Within removes the time span from a filter and returns it as bounds on ids, combined with the position of a page: a
// database can use only one bound on each side to limit an index scan.
func (b queryBuilder) Within(f *requestlog.Filter, p requestlog.Page) (requestlog.Filter, idBounds) {
	bounds := idBounds{Low: b.EntriesFrom, High: p.Before, After: p.After, Descending: p.After == ""}
	if !f.From.IsZero() {
		bounds.Low = max(bounds.Low, requestlog.FloorID(f.From))
	}
	if !f.To.IsZero() {
		if to := requestlog.FloorID(f.To); bounds.High == "" || to < bounds.High {
			bounds.High = to
		}
	}
	timeless := *f
	timeless.From, timeless.To = time.Time{}, time.Time{}
	return timeless, bounds
}

func (b idBounds) direction() string {
	if b.Descending {
		return "desc"
	}
	return "asc"
}

func (b idBounds) conds(w *sqldb.Where, column string) []string {
	var out []string
	if b.Low != "" {
		out = append(out, column+" >= "+w.Arg(b.Low))
	}
	if b.High != "" {
		out = append(out, column+" < "+w.Arg(b.High))
	}
	if b.After != "" {
		out = append(out, column+" > "+w.Arg(b.After))
	}
	return out
}

// Where returns the conditions of a filter and of bounds on "requests r". The workspace is the first argument.
func (b queryBuilder) Where(f *requestlog.Filter, bounds idBounds) *sqldb.Where {
	w := &sqldb.Where{}
	b.match(w, f)
	w.Conds = append(w.Conds, bounds.conds(w, "r.id")...)
	return w
}

// match adds the conditions of a filter on "requests r"; they select the same entries as Filter.Match. It must come first:
// the workspace is the statement's first argument.
func (b queryBuilder) match(w *sqldb.Where, f *requestlog.Filter) {
	w.And("r.workspace_id = %s", f.WorkspaceID)
	if !f.From.IsZero() {
		w.And("r.id >= %s", requestlog.FloorID(f.From))
	}
	if !f.To.IsZero() {
		w.And("r.id < %s", requestlog.FloorID(f.To))
	}
	for _, c := range requestlog.Columns() {
		matchColumn(w, &c, f)
	}
	if len(f.Tag) > 0 {
		w.Conds = append(w.Conds, "r.id in (select t.request_id from tags t where t.workspace_id = $1 and t.tag in ("+w.Marks(requestlog.Terms(f.Tag))+"))")
	}
	switch f.Source {
	case requestlog.SourceKey:
		w.Conds = append(w.Conds, "r.key_id <> ''")
	case requestlog.SourcePlayground:
		w.In("r.key_id", []string{""})
	}
	if f.Unpriced {
		w.And("r.cost is null and r.model <> ''")
	}
	if onlyLosses(f) {
		w.Conds = append(w.Conds, losses)
	}
	if f.Text != "" {
		w.Conds = append(w.Conds, "r.body_state = 'stored'") // the text of these entries is searched afterwards
	}
	if f.Q != "" {
		b.matchText(w, requestlog.Fold(f.Q))
	}
}

// matchColumn adds the condition on one column. A partial index is used only when the statement excludes the value that
// the index omits.
func matchColumn(w *sqldb.Where, c *requestlog.Column, f *requestlog.Filter) {
	column := "r." + c.Stored
	switch c.Kind {
	case requestlog.Text:
		w.In(column, requestlog.Terms(c.Terms(f)))
		if c.Partial && c.Covered(f) {
			w.Conds = append(w.Conds, fmt.Sprintf("%s <> '%s'", column, c.Common))
		}
	case requestlog.Number:
		if codes := c.Codes(f); len(codes) > 0 {
			w.Conds = append(w.Conds, column+" in ("+strings.Trim(strings.Join(strings.Fields(fmt.Sprint(codes)), ","), "[]")+")")
		}
		if c.Partial && c.Covered(f) {
			w.Conds = append(w.Conds, fmt.Sprintf("%s <> %s", column, c.Common))
		}
	case requestlog.Truth:
		if want := c.Truth(f); want != nil { // compare with a literal, so that the partial index of simulated requests can be used
			w.Conds = append(w.Conds, fmt.Sprintf("%s = %d", column, sqldb.Flag(*want)))
		}
	case requestlog.Amount, requestlog.Duration:
		// The condition on the class repeats the bound in a form that an index can use.
		low, high := c.Range(f)
		if low != nil {
			w.And(column+" >= %s", *low)
			w.And(column+"_class >= %s", classOf(*low))
		}
		if high != nil {
			w.And(column+" <= %s", *high)
			w.And(column+"_class <= %s", classOf(*high))
		}
	}
}

// matchText adds a text search, which reads every row. IDs are compared only if they can contain the text.
func (b queryBuilder) matchText(w *sqldb.Where, text string) {
	columns := []string{"r.preview", "r.failure"}
	if strings.Trim(text, idLetters) == "" {
		columns = append(columns, "r.id")
	}
	like := "like" // ignores the case of ASCII letters
	if b.Dialect == sqldb.Postgres {
		like = "ilike"
	}
	pattern := w.Arg("%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%")
	parts := make([]string, len(columns))
	for i, column := range columns {
		parts[i] = fmt.Sprintf(`%s %s %s escape '\'`, column, like, pattern)
	}
	if b.BodiesFrom != "" { // expired text must not be found either
		parts[0] = "(" + parts[0] + " and r.id >= " + w.Arg(b.BodiesFrom) + ")"
	}
	w.Conds = append(w.Conds, "("+strings.Join(parts, " or ")+")")
}

// idLetters are the characters of request ids, in lower case.
const idLetters = "_0123456789abcdefghjkmnpqrstvwxyz"

// losses selects the rows of the index on savings: requests that cost more than their baseline.
const losses = "r.saved_class < 0"

func onlyLosses(f *requestlog.Filter) bool { return f.MaxSaved != nil && *f.MaxSaved < 0 }

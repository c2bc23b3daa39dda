package logquery

import (
	"fmt"
	"strings"
	"time"

	"fairlead.dev/internal/fulltext"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/outline"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

const (
	// maxTextDays is the maximum number of days that one search covers in SQLite, because each day has its own index.
	maxTextDays = 400
	// maxTextMatches is the maximum number of documents per day that a text search considers in SQLite, newest first.
	maxTextMatches = 20_000
)

// TextTable returns the name of the full-text index of a day in SQLite.
func TextTable(day int64) string { return fmt.Sprintf("text_%d", day) }

// textDay holds the full-text index of a day and the bounds of the ids of the day's entries.
type textDay struct{ table, low, high string }

// textDays returns the indexes of the days within the bounds, newest first.
func (b Builder) textDays(f *requestlog.Filter, bounds Bounds) []textDay {
	first, last := idDay(max(bounds.Low, bounds.After)), idDay(bounds.High)
	if !f.From.IsZero() {
		first = outline.DayOf(f.From)
	}
	if !f.To.IsZero() {
		last = outline.DayOf(f.To)
	}
	var days []textDay
	for _, day := range b.TextDays {
		if (first != unknownDay && day < first) || (last != unknownDay && day > last) || len(days) == maxTextDays {
			continue
		}
		start := time.Unix(day*24*60*60, 0)
		days = append(days, textDay{TextTable(day), id.Floor("req", start), id.Floor("req", start.AddDate(0, 0, 1))})
	}
	return days
}

const unknownDay = -1

// idDay returns the day encoded in an id, or unknownDay.
func idDay(name string) int64 {
	at, ok := id.Time(name)
	if !ok {
		return unknownDay
	}
	return outline.DayOf(at)
}

// matchWords adds the condition of Filter.Text. The text was parsed together with the filter. A text without words matches no entry.
func (b Builder) matchWords(w *sqldb.Where, f *requestlog.Filter, bounds Bounds) {
	if f.Text == "" {
		return
	}
	query, err := fulltext.Parse(f.Text)
	if err != nil {
		w.Conds = append(w.Conds, "1 = 0")
		return
	}
	w.Conds = append(w.Conds, "r.body_state = 'stored'")
	if b.Dialect == sqldb.Postgres {
		conds := append(bounds.conds(w, "t.request_id"), "t.words @@ "+w.Arg(query.TSQuery(fulltext.Tag(f.WorkspaceID)))+"::text::tsquery")
		if b.BodiesFrom != "" {
			conds = append(conds, "t.request_id >= "+w.Arg(b.BodiesFrom))
		}
		w.Conds = append(w.Conds, "r.id in (select t.request_id from request_text t where t.workspace_id = $1 and "+strings.Join(conds, " and ")+")")
		return
	}
	match := w.Arg(query.FTS5(fulltext.Tag(f.WorkspaceID)))
	var days []string
	for _, d := range b.textDays(f, bounds) {
		days = append(days, fmt.Sprintf("(r.id >= %s and r.id < %s and r.place in (select rowid from %[3]s where %[3]s match %[4]s))", w.Arg(d.low), w.Arg(d.high), d.table, match))
	}
	if len(days) == 0 {
		days = []string{"1 = 0"}
	}
	w.Conds = append(w.Conds, "("+strings.Join(days, " or ")+")")
}

// textScans returns scans that start with the full-text indexes, one per day.
func (b Builder) textScans(w *sqldb.Where, f *requestlog.Filter, bounds Bounds) []scan {
	none := []scan{{from: fromRequests, id: "r.id", cond: "1 = 0"}}
	query, err := fulltext.Parse(f.Text)
	if err != nil {
		return none
	}
	match := w.Arg(query.FTS5(fulltext.Tag(f.WorkspaceID)))
	var out []scan
	for _, d := range b.textDays(f, bounds) {
		out = append(out, scan{
			from: fmt.Sprintf("(select rowid as place from %[1]s where %[1]s match %[2]s order by rowid desc limit %[3]d) x cross join requests r indexed by requests_place", d.table, match, maxTextMatches),
			id:   "r.id", cond: fmt.Sprintf("r.place = x.place and r.body_state = 'stored' and r.id >= %s and r.id < %s", w.Arg(d.low), w.Arg(d.high)),
		})
	}
	if len(out) == 0 {
		return none
	}
	return out
}

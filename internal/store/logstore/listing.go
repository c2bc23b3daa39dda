package logstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store/sqldb"
)

// scan is one index scan in order of ids. A listing for several values of a column merges one scan per value, because no
// index is in order of ids across values.
type scan struct {
	from  string // from clause, in which the requests table has the alias r
	id    string // column that the index is ordered by
	cond  string
	class bool // whether the scan reads one class of a number column
}

const (
	fromRequests = "requests r"
	// The cross join makes SQLite read the tags first.
	fromTags = "tags g cross join requests r"
)

// scans chooses the index for a filter: that of the most selective indexed condition, otherwise the index on ids. The
// statement also contains the other conditions of the filter.
func scans(w *sqldb.Where, f *requestlog.Filter) []scan {
	if len(f.ID) > 0 {
		return []scan{{from: fromRequests, id: "r.id"}}
	}
	if len(f.Tag) > 0 {
		var out []scan
		for _, tag := range f.Tag { // $1 is the workspace, which match adds first
			out = append(out, scan{from: fromTags, id: "g.request_id", cond: "g.workspace_id = $1 and g.tag = " + w.Arg(requestlog.Term(tag)) +
				" and r.workspace_id = g.workspace_id and r.id = g.request_id"})
		}
		return out
	}
	for _, c := range indexedColumns() {
		if c.Kind == requestlog.Text && c.Covered(f) {
			var out []scan
			for _, v := range c.Terms(f) {
				out = append(out, scan{from: fromRequests, id: "r.id", cond: "r." + c.Stored + " = " + w.Arg(requestlog.Term(v))})
			}
			return out
		}
	}
	if f.Source == requestlog.SourcePlayground {
		return []scan{{from: fromRequests, id: "r.id", cond: "r.key_id = " + w.Arg("")}}
	}
	return figureScans(f)
}

// indexedColumns returns the columns with an index, the most selective first.
func indexedColumns() []requestlog.Column {
	indexed := slices.DeleteFunc(slices.Clone(requestlog.Columns()), func(c requestlog.Column) bool { return c.Rank == 0 })
	slices.SortFunc(indexed, func(a, b requestlog.Column) int { return cmp.Compare(a.Rank, b.Rank) })
	return indexed
}

// figureScans chooses an index for the conditions on numbers, such as cost or latency. Without such a condition it returns one scan
// in order of ids, and the database chooses the index.
func figureScans(f *requestlog.Filter) []scan {
	for _, c := range indexedColumns() {
		if c.Kind == requestlog.Number && c.Covered(f) {
			var out []scan
			for _, code := range c.Codes(f) {
				out = append(out, scan{from: fromRequests, id: "r.id", cond: fmt.Sprintf("r.%s = %d", c.Stored, code)})
			}
			return out
		}
	}
	if f.Unpriced {
		return []scan{{from: fromRequests, id: "r.id"}}
	}
	for _, c := range requestlog.Columns() {
		low, high := c.Range(f)
		if (low == nil && high == nil) || (c.Stored == "saved" && !onlyLosses(f)) { // skip the index on savings: it contains only losses
			continue
		}
		return classScans("r."+c.Stored+"_class", low, high)
	}
	return []scan{{from: fromRequests, id: "r.id"}}
}

// classScans returns one scan for each class between the bounds.
func classScans(column string, low, high *int64) []scan {
	first, last := int64(-maxClass), int64(maxClass)
	if low != nil {
		first = classOf(*low)
	}
	if high != nil {
		last = classOf(*high)
	}
	var out []scan
	for c := first; c <= last; c++ {
		out = append(out, scan{from: fromRequests, id: "r.id", cond: fmt.Sprintf("%s = %d and %s is not null", column, c, column), class: true})
	}
	if len(out) == 0 { // the range is empty
		return []scan{{from: fromRequests, id: "r.id", cond: "1 = 0"}}
	}
	return out
}

// Listing builds the statement that lists the ids of matching entries in order, at most limit of them.
func (b queryBuilder) Listing(f *requestlog.Filter, bounds idBounds, limit int) (string, []any) {
	return b.ListingOf("r.id as id", f, bounds, limit)
}

// ListingOf is like Listing, but selects the given columns of requests. The table has the alias r, and the columns must include id.
func (b queryBuilder) ListingOf(columns string, f *requestlog.Filter, bounds idBounds, limit int) (string, []any) {
	w := &sqldb.Where{}
	rest := *f
	if len(f.ID) == 0 {
		rest.Tag = nil // the scans contain the conditions on tags
	}
	b.match(w, &rest)
	var selects []string
	all := scans(w, f)
	if b.Dialect == sqldb.Postgres && len(f.Status) == 0 && len(all) > 1 && all[0].class {
		all = []scan{{from: fromRequests, id: "r.id"}}
	}
	for _, s := range all {
		conds := append(bounds.conds(w, s.id), w.String())
		if s.from == fromTags && b.Dialect == sqldb.Postgres {
			conds = append(conds, bounds.conds(w, "r.id")...) // limits which partitions of requests are read
		}
		if s.cond != "" {
			conds = append(conds, s.cond)
		}
		selects = append(selects, fmt.Sprintf("select %s from %s where %s order by %s %s limit %d",
			columns, s.from, strings.Join(conds, " and "), s.id, bounds.direction(), limit))
	}
	if len(selects) == 1 {
		return selects[0], w.Args
	}
	for i, s := range selects {
		selects[i] = fmt.Sprintf("select * from (%s) part%d", s, i)
	}
	return fmt.Sprintf("select * from (%s) parts order by id %s limit %d", strings.Join(selects, " union "), bounds.direction(), limit), w.Args
}

// Indexed reports whether an index can be used to find the next matching entry directly. A filter with several conditions, a text
// search, or a value that the index omits may have to skip any number of entries. The same applies to ranges in PostgreSQL, where
// each class of each day would need a separate scan.
func (b queryBuilder) Indexed(f *requestlog.Filter) bool {
	switch conditions := f.Conditions(); {
	case conditions == 0:
		return true
	case conditions > 1, f.Q != "", f.Text != "", f.Source == requestlog.SourceKey:
		return false
	}
	for _, c := range requestlog.Columns() {
		if len(c.Terms(f)) > 0 || len(c.Codes(f)) > 0 {
			return c.Covered(f)
		}
	}
	if b.Dialect == sqldb.Postgres && len(figureScans(f)) > 1 {
		return false
	}
	return f.Stream == nil && (f.Simulated == nil || *f.Simulated) && (f.MinSaved == nil && f.MaxSaved == nil || onlyLosses(f))
}

// Counting builds the statement that counts matching entries, at most limit of them. Entries are counted by their tags alone,
// without reading them, if the filter has no other condition. An entry with several tags counts once.
func (b queryBuilder) Counting(f *requestlog.Filter, bounds idBounds, limit int) (string, []any) {
	if len(f.Tag) == 0 || f.Conditions() > 1 {
		w := b.Where(f, bounds)
		return fmt.Sprintf(`select count(*) from (select 1 from requests r where %s limit %d) matching`, w, max(limit, 0)), w.Args
	}
	w := &sqldb.Where{}
	w.And("g.workspace_id = %s", f.WorkspaceID)
	w.In("g.tag", requestlog.Terms(f.Tag))
	w.Conds = append(w.Conds, bounds.conds(w, "g.request_id")...)
	selected := "g.request_id"
	if len(f.Tag) > 1 {
		selected = "distinct g.request_id"
	}
	return fmt.Sprintf(`select count(*) from (select %s from tags g where %s limit %d) matching`, selected, w, max(limit, 0)), w.Args
}

// Ranking builds the statement that lists ids, the greatest values of a column first.
func (b queryBuilder) Ranking(f *requestlog.Filter, column, cond string, limit int) (string, []any) {
	w := b.Where(f, idBounds{Low: b.EntriesFrom})
	return fmt.Sprintf("select r.id from requests r where %[1]s and %[3]s order by r.%[2]s desc, r.id desc limit %[4]d", w, column, cond, limit), w.Args
}

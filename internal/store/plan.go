package store

import (
	"fmt"
	"slices"
	"strings"

	"fairlead/internal/requestlog"
)

// part is one index to walk in order of ids. A listing by several values of a column walks one index range per value
// And merges them, because no index is in order of ids across values.
type part struct {
	from  string // tables, with requests as r
	id    string // the column that the index is ordered by
	cond  string
	class bool // one of the classes of a figure
}

const (
	fromRequests = "requests r"
	// The join is written so that SQLite begins with the tags.
	fromTags = "tags g cross join requests r"
)

// parts chooses the index for a filter: the most selective condition that has one, else the order of ids alone.
// The statement contains all other conditions of the filter besides.
func parts(w *Where, f *requestlog.Filter) []part {
	if len(f.ID) > 0 {
		return []part{{from: fromRequests, id: "r.id"}}
	}
	if len(f.Tag) > 0 {
		return tagParts(w, f.Tag)
	}
	for _, c := range termConditions(f) {
		if !c.walkable() {
			continue
		}
		var out []part
		for _, v := range c.values {
			out = append(out, part{from: fromRequests, id: "r.id", cond: c.column + " = " + w.Arg(requestlog.Term(v))})
		}
		return out
	}
	return figureParts(f)
}

// tagParts begins with the tags. The workspace is the statement's first argument.
func tagParts(w *Where, tags []string) []part {
	var out []part
	for _, tag := range tags {
		out = append(out, part{from: fromTags, id: "g.request_id", cond: "g.workspace_id = $1 and g.tag = " + w.Arg(requestlog.Term(tag)) +
			" and r.workspace_id = g.workspace_id and r.id = g.request_id"})
	}
	return out
}

// figureParts chooses an index by status or figures. Without any of them it is the order of ids, or an index in that
// order which the database finds by itself.
func figureParts(f *requestlog.Filter) []part {
	switch {
	case len(f.Status) > 0 && !slices.Contains(f.Status, usualStatus):
		var out []part
		for _, status := range f.Status {
			out = append(out, part{from: fromRequests, id: "r.id", cond: fmt.Sprintf("r.status = %d", status)})
		}
		return out
	case f.Unpriced:
		return []part{{from: fromRequests, id: "r.id"}}
	case f.MinCost != nil || f.MaxCost != nil:
		return classParts("r.cost_class", number(f.MinCost), number(f.MaxCost))
	case onlyLosses(f):
		return classParts("r.saved_class", number(f.MinSaved), number(f.MaxSaved))
	case f.MinLatency > 0 || f.MaxLatency > 0:
		return classParts("r.latency_class", positive(f.MinLatency), positive(f.MaxLatency))
	}
	return []part{{from: fromRequests, id: "r.id"}}
}

// classParts walks every class that lies within the bounds.
func classParts(column string, low, high *int64) []part {
	first, last := int64(-maxClass), int64(maxClass)
	if low != nil {
		first = class(*low)
	}
	if high != nil {
		last = class(*high)
	}
	var out []part
	for c := first; c <= last; c++ {
		out = append(out, part{from: fromRequests, id: "r.id", cond: fmt.Sprintf("%s = %d and %s is not null", column, c, column), class: true})
	}
	if len(out) == 0 { // the bounds exclude each other
		return []part{{from: fromRequests, id: "r.id", cond: "1 = 0"}}
	}
	return out
}

// bounds are where a listing begins and ends, as ids.
type bounds struct {
	low, high  string // low <= id < high, empty for none
	after      string // id > after, empty for none
	descending bool
}

// listing makes the statement that lists matching ids in order, at most limit of them.
func (db *DB) listing(f *requestlog.Filter, b bounds, limit int) (string, []any) {
	w := &Where{}
	rest := *f
	if len(f.ID) == 0 {
		rest.Tag = nil // parts begins with the tags
	}
	db.match(w, &rest)
	var selects []string
	all := parts(w, f)
	if db.dialect == Postgres && len(f.Status) == 0 && len(all) > 1 && all[0].class {
		all = []part{{from: fromRequests, id: "r.id"}}
	}
	for _, p := range all {
		conds := append(b.conds(w, p.id), w.String())
		if p.from == fromTags && db.dialect == Postgres {
			conds = append(conds, b.conds(w, "r.id")...) // so that no other days of requests are looked at
		}
		if p.cond != "" {
			conds = append(conds, p.cond)
		}
		selects = append(selects, fmt.Sprintf("select r.id as id from %s where %s order by %s %s limit %d",
			p.from, strings.Join(conds, " and "), p.id, b.direction(), limit))
	}
	if len(selects) == 1 {
		return selects[0], w.Args
	}
	for i, s := range selects {
		selects[i] = fmt.Sprintf("select id from (%s) part%d", s, i)
	}
	return fmt.Sprintf("select id from (%s) parts order by id %s limit %d", strings.Join(selects, " union "), b.direction(), limit), w.Args
}

func (b bounds) direction() string {
	if b.descending {
		return "desc"
	}
	return "asc"
}

func (b bounds) conds(w *Where, column string) []string {
	var out []string
	if b.low != "" {
		out = append(out, column+" >= "+w.Arg(b.low))
	}
	if b.high != "" {
		out = append(out, column+" < "+w.Arg(b.high))
	}
	if b.after != "" {
		out = append(out, column+" > "+w.Arg(b.after))
	}
	return out
}

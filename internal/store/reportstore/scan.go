package reportstore

import (
	"cmp"
	"slices"

	"fairlead.dev/internal/report"
)

// selection describes a query: up to two dimensions, and the conditions of a filter.
type selection struct {
	by, then   report.Dimension
	conditions []condition
}

// condition is a report.Condition with its values as a set.
type condition struct {
	dimension report.Dimension
	any       bool
	values    map[string]bool
}

// newSelection returns a selection with the given dimensions and conditions.
func newSelection(by, then report.Dimension, conditions ...report.Condition) *selection {
	sel := &selection{by: by, then: then}
	for _, c := range conditions {
		sel.conditions = append(sel.conditions, condition{c.Dimension, c.Any, map[string]bool{}})
		for _, value := range c.Values {
			sel.conditions[len(sel.conditions)-1].values[value] = true
		}
	}
	return sel
}

// group is one group of a query. Its row is nil until a row is added to the group.
type group struct {
	by, then          string
	measure, requests int64
	row               *report.Row
}

// grouping finds and stores the groups of a query or a day.
type grouping struct {
	names  map[string]uint64
	index  map[[2]uint64]*group
	groups []*group
}

// find returns the group with the given values.
func (g *grouping) find(by, then string) *group {
	if g.names == nil {
		g.names, g.index = map[string]uint64{}, map[[2]uint64]*group{}
	}
	var key [2]uint64
	for i, name := range [...]string{by, then} {
		id, ok := g.names[name]
		if !ok {
			id = uint64(len(g.names))
			g.names[name] = id
		}
		key[i] = id
	}
	found := g.index[key]
	if found == nil {
		found = &group{by: by, then: then}
		g.index[key] = found
		g.groups = append(g.groups, found)
	}
	return found
}

// sums returns the row of the group. It creates the row if necessary.
func (g *group) sums() *report.Row {
	if g.row == nil {
		g.row = &report.Row{By: g.by, Then: g.then}
	}
	return g.row
}

// maxDense is the maximum number of pairs of values for which grouping.each uses a list instead of a map.
const maxDense = 1 << 16

// each calls fn for every selected row, with the group of the row.
func (g *grouping) each(t rows, sel *selection, fn func(i int, to *group) error) error {
	by, err := textsOf(t, sel.by)
	if err != nil {
		return err
	}
	then, err := textsOf(t, sel.then)
	if err != nil {
		return err
	}
	filters, err := newFilters(t, sel.conditions)
	if err != nil || filters == nil {
		return err
	}
	width := uint64(len(then.values))
	pairs := uint64(len(by.values)) * width
	var list []*group
	many := map[uint64]*group{}
	if pairs <= maxDense {
		list = make([]*group, pairs)
	}
	for i := range t.len() {
		keep := true
		for k := range filters {
			id := filters[k].index.at(i)
			if id >= uint64(len(filters[k].allowed)) {
				return errBlock
			}
			if keep = filters[k].allowed[id]; !keep {
				break
			}
		}
		if !keep || t.skips(i) {
			continue
		}
		a, b := by.index.at(i), then.index.at(i)
		if a >= uint64(len(by.values)) || b >= width {
			return errBlock
		}
		var to *group
		pair := a*width + b
		if list != nil {
			to = list[pair]
		} else {
			to = many[pair]
		}
		if to == nil {
			to = g.find(by.values[a], then.values[b])
			if list != nil {
				list[pair] = to
			} else {
				many[pair] = to
			}
		}
		if err := fn(i, to); err != nil {
			return err
		}
	}
	return nil
}

// add adds the selected rows of a table to the groups.
func (g *grouping) add(t rows, sel *selection) error {
	return g.each(t, sel, func(i int, to *group) error { return t.addTo(i, to.sums()) })
}

// textsOf returns the column of a dimension. The empty dimension has one empty value.
func textsOf(t rows, d report.Dimension) (texts, error) {
	if d == "" {
		return texts{values: []string{""}}, nil
	}
	return t.texts(d)
}

// filter contains, for each value of a column, whether a condition allows the value.
type filter struct {
	index   column
	allowed []bool
}

// newFilters returns the filters for a table; nil when no row can match.
func newFilters(t rows, conditions []condition) ([]filter, error) {
	all := make([]filter, len(conditions))
	for k := range conditions {
		c := &conditions[k]
		found, err := t.texts(c.dimension)
		if err != nil {
			return nil, err
		}
		all[k] = filter{found.index, make([]bool, len(found.values))}
		possible := false
		for i, value := range found.values {
			if c.any && value != "" || c.values[value] {
				all[k].allowed[i], possible = true, true
			}
		}
		if !possible {
			return nil, nil
		}
	}
	return all, nil
}

// top returns the groups with the highest measure, at most limit. If second is true, it returns at most limit groups for each value of
// the first dimension.
func (g *grouping) top(limit int, second bool) []*group {
	slices.SortFunc(g.groups, func(a, b *group) int {
		if second && a.by != b.by {
			return cmp.Compare(a.by, b.by)
		}
		return cmp.Or(cmp.Compare(b.measure, a.measure), cmp.Compare(b.requests, a.requests), cmp.Compare(a.by, b.by), cmp.Compare(a.then, b.then))
	})
	var kept []*group
	taken := 0
	for i, one := range g.groups {
		if second && i > 0 && one.by != g.groups[i-1].by {
			taken = 0
		}
		if taken++; taken <= limit {
			kept = append(kept, one)
		}
	}
	return kept
}

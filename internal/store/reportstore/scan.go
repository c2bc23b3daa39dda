package reportstore

import (
	"slices"

	"fairlead/internal/money"
	"fairlead/internal/report"
	"fairlead/internal/requestlog"
)

// selection is what to sum: up to two dimensions, and the conditions of a filter.
type selection struct {
	by, then   report.Dimension
	conditions []report.Condition
}

// sums holds the sums of groups by their encoded names.
type sums map[string]*report.Row

// row returns the sums of a group.
func (s sums) row(by, then string) *report.Row {
	key := string(appendText(appendText(nil, by), then))
	r := s[key]
	if r == nil {
		r = &report.Row{By: by, Then: then}
		s[key] = r
	}
	return r
}

// maxDense is the maximum number of pairs of values for which a block's groups are in a list.
const maxDense = 1 << 16

// scan adds the facts of a block whose minute is in [from, to) to the groups.
func (b *block) scan(sel *selection, from, to int, into sums) error {
	by, then := b.column(sel.by), b.column(sel.then)
	filters := make([]filter, len(sel.conditions))
	for i := range sel.conditions {
		filters[i] = newFilter(b.column(sel.conditions[i].Dimension), &sel.conditions[i])
	}
	width := uint64(max(len(then.values), 1))
	groups := newGroups(uint64(max(len(by.values), 1)) * width)
	byIndex, thenIndex := cursor{by.index}, cursor{then.index}
	var numbers [numberColumns]cursor
	for i := range numbers {
		numbers[i] = cursor{b.numbers[i]}
	}
	for i := range b.n {
		var f fact
		f.flags, f.latency, f.ttft = b.flags[i], b.latency[i], b.ttft[i]
		for k := range numbers {
			n, ok := numbers[k].varint()
			if !ok {
				return errBlock
			}
			f.numbers[k] = n
		}
		a, okA := next(&byIndex, &by)
		c, okC := next(&thenIndex, &then)
		keep := true
		for k := range filters {
			allowed, ok := filters[k].next()
			if !ok {
				return errBlock
			}
			keep = keep && allowed
		}
		if !okA || !okC {
			return errBlock
		}
		if minute := int(b.minutes[i]); !keep || minute < from || minute >= to {
			continue
		}
		group := groups.at(a*width + c)
		if *group == nil {
			*group = &into.row(valueAt(&by, a), valueAt(&then, c)).Sums
		}
		f.addTo(*group)
	}
	return nil
}

// next returns the next number of a column; 0 for a column that is not read.
func next(c *cursor, column *textColumn) (uint64, bool) {
	if column.values == nil {
		return 0, true
	}
	id, ok := c.uvarint()
	return id, ok && id < uint64(len(column.values))
}

func valueAt(column *textColumn, id uint64) string {
	if column.values == nil {
		return ""
	}
	return column.values[id]
}

// groups maps a pair of numbers to the sums of a group: a list, or a map if there are many pairs.
type groups struct {
	list []*requestlog.Sums
	many map[uint64]**requestlog.Sums
}

func newGroups(n uint64) *groups {
	if n <= maxDense {
		return &groups{list: make([]*requestlog.Sums, n)}
	}
	return &groups{many: map[uint64]**requestlog.Sums{}}
}

func (g *groups) at(i uint64) **requestlog.Sums {
	if g.list != nil {
		return &g.list[i]
	}
	p := g.many[i]
	if p == nil {
		p = new(*requestlog.Sums)
		g.many[i] = p
	}
	return p
}

// filter evaluates one condition for each fact of a block.
type filter struct {
	index   cursor
	allowed []bool // by number of the value
}

func newFilter(column textColumn, c *report.Condition) filter {
	f := filter{index: cursor{column.index}, allowed: make([]bool, len(column.values))}
	for i, value := range column.values {
		f.allowed[i] = matches(c, value)
	}
	return f
}

func (f *filter) next() (allowed, ok bool) {
	id, ok := f.index.uvarint()
	if !ok || id >= uint64(len(f.allowed)) {
		return false, false
	}
	return f.allowed[id], true
}

func matches(c *report.Condition, value string) bool {
	if c.Any {
		return value != ""
	}
	return slices.Contains(c.Values, value)
}

// fact is the figures of one request.
type fact struct {
	flags, latency, ttft byte
	numbers              [numberColumns]int64
}

// addTo counts the fact as Sums.Add counts its entry.
func (f *fact) addTo(s *requestlog.Sums) {
	s.Requests++
	if f.flags&flagError != 0 {
		s.Errors++
	}
	if f.flags&flagRejected != 0 {
		s.Rejected++
	}
	switch f.flags >> decisionShift {
	case 1:
		s.Expected++
	case 2:
		s.Fallbacks++
	case 3:
		s.Policies++
	}
	cost := money.Amount(f.numbers[costNumber])
	if f.flags&flagCacheHit != 0 {
		s.CacheHits++
	} else if f.flags&flagCost != 0 {
		s.Priced++
		s.Cost = s.Cost.Add(cost)
	}
	if f.flags&flagCost != 0 && f.flags&flagBaseline != 0 {
		s.Compared++
		s.ComparedCost = s.ComparedCost.Add(cost)
		s.BaselineCost = s.BaselineCost.Add(money.Amount(f.numbers[baselineNumber]))
	}
	s.CacheSaved = s.CacheSaved.Add(money.Amount(f.numbers[cacheSavedNumber]))
	s.InputTokens += f.numbers[inputNumber]
	s.CachedTokens += f.numbers[cachedNumber]
	s.OutputTokens += f.numbers[outputNumber]
	if f.flags&flagServed != 0 {
		s.Served++
		if f.latency > 0 {
			s.Latency.AddBucket(int(f.latency)-1, 1)
		}
		if f.ttft > 0 {
			s.TTFT.AddBucket(int(f.ttft)-1, 1)
		}
	}
}

package reportstore

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"fairlead/internal/report"
	"fairlead/internal/requestlog"
)

// grain is the dimensions of a row of report_days: one, or two in the order of report.Dimensions followed by tags.
type grain [2]report.Dimension

// separator is between the two dimensions in the stored name of a grain.
const separator = "\x1f"

// newGrain returns the grain of one or two dimensions.
func newGrain(a, b report.Dimension) grain {
	if b != "" && (a == "" || rank(b) < rank(a) || rank(a) == rank(b) && b < a) {
		a, b = b, a
	}
	return grain{a, b}
}

// rank orders the dimensions; tags are last.
func rank(d report.Dimension) int {
	if i := slices.Index(report.Dimensions(), d); i >= 0 {
		return i
	}
	return tagColumn
}

func (g grain) String() string {
	if g[1] == "" {
		return string(g[0])
	}
	return string(g[0]) + separator + string(g[1])
}

// grains lists all grains of the dimensions and the given tags.
func grains(tags []string) []grain {
	all := report.Dimensions()
	for _, name := range tags {
		all = append(all, report.Tag(name))
	}
	var out []grain
	for i, a := range all {
		out = append(out, newGrain(a, ""))
		for _, b := range all[i+1:] {
			out = append(out, newGrain(a, b))
		}
	}
	return out
}

// day is the sums of a day by one grain.
type day struct {
	groups sums
	rest   requestlog.Sums // of groups that were dropped
}

// encode returns the stored form of a day without compression.
func (d *day) encode() []byte {
	out := d.rest.AppendBinary([]byte{blockVersion})
	out = binary.AppendUvarint(out, uint64(len(d.groups)))
	for _, key := range slices.Sorted(maps.Keys(d.groups)) {
		out = d.groups[key].AppendBinary(append(out, key...))
	}
	return out
}

// parse adds an encoded day.
func (d *day) parse(data []byte) error {
	return eachGroup(data, &d.rest, func(key []byte, by, then string, data []byte) ([]byte, error) {
		r := d.groups[string(key)]
		if r == nil {
			r = &report.Row{By: by, Then: then}
			d.groups[string(key)] = r
		}
		return r.MergeBinary(data)
	})
}

// eachGroup adds the rest of an encoded day, and calls fn for each group with its names and the data that begins with its sums. fn returns
// the data after the sums.
func eachGroup(data []byte, rest *requestlog.Sums, fn func(key []byte, by, then string, data []byte) ([]byte, error)) error {
	if len(data) == 0 || data[0] != blockVersion {
		return errBlock
	}
	data, err := rest.MergeBinary(data[1:])
	if err != nil {
		return err
	}
	c := cursor{data}
	count, ok := c.uvarint()
	if !ok {
		return errBlock
	}
	for range count {
		start := c.data
		by, okA := c.text()
		then, okB := c.text()
		if !okA || !okB {
			return errBlock
		}
		key := start[:len(start)-len(c.data)]
		if c.data, err = fn(key, string(by), string(then), c.data); err != nil {
			return err
		}
	}
	return nil
}

// prune moves all groups except the most expensive and the most frequent ones to the rest.
func (d *day) prune() {
	if len(d.groups) <= report.TopCost+report.TopRequests {
		return
	}
	keys := slices.Sorted(maps.Keys(d.groups))
	kept := map[string]bool{}
	for _, top := range []struct {
		n       int
		compare func(a, b *report.Row) int
	}{
		{report.TopCost, func(a, b *report.Row) int { return cmp.Compare(b.Cost, a.Cost) }},
		{report.TopRequests, func(a, b *report.Row) int { return cmp.Compare(b.Requests, a.Requests) }},
	} {
		slices.SortStableFunc(keys, func(a, b string) int { return top.compare(d.groups[a], d.groups[b]) })
		for _, key := range keys[:top.n] {
			kept[key] = true
		}
	}
	for _, key := range keys {
		if !kept[key] {
			d.rest.Merge(&d.groups[key].Sums)
			delete(d.groups, key)
		}
	}
}

// maxTags is the number of tag names by which the requests of a day are grouped.
const maxTags = 12

// tagsOf returns the tag names of a day: those that it has, and the most frequent ones of the block up to maxTags.
func tagsOf(stored []string, b *block) []string {
	tags := slices.Clone(stored)
	counts := map[string]int{}
	index := cursor{b.text[tagColumn].index}
	perSet := make([]int, len(b.text[tagColumn].values))
	for range b.n {
		if id, ok := index.uvarint(); ok && id < uint64(len(perSet)) {
			perSet[id]++
		}
	}
	for i, text := range b.text[tagColumn].values {
		eachTag(text, func(name, _ string) { counts[name] += perSet[i] })
	}
	found := slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b)) })
	for _, name := range found {
		if len(tags) < maxTags && !slices.Contains(tags, name) {
			tags = append(tags, name)
		}
	}
	return tags
}

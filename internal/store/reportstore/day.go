package reportstore

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"fairlead.dev/internal/report"
	"fairlead.dev/internal/requestlog"
)

// grain holds the one or two dimensions by which the sums of a day are grouped. They are in the order of report.Dimensions, tags last.
type grain [2]report.Dimension

// separator separates the two dimensions in the stored name of a grain.
const separator = "\x1f"

// newGrain returns the grain of one or two dimensions.
func newGrain(a, b report.Dimension) grain {
	if b != "" && (a == "" || rank(b) < rank(a) || rank(a) == rank(b) && b < a) {
		a, b = b, a
	}
	return grain{a, b}
}

// rank returns the position of a dimension in a grain's order, which is also the index of its text column. Tags are last.
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

// limit returns the number n of groups that a day keeps: the n groups with the highest cost and the n groups with the most requests.
// For pairs, n is lower if a dimension is an end user, a session, a client or a tag, because these have many values.
func (g grain) limit() int {
	switch {
	case g[1] == "":
		return report.TopValues
	case rank(g[0]) < rank(report.User) && rank(g[1]) < rank(report.User):
		return report.TopConfigured
	}
	return report.TopPairs
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

// day holds the sums of one day, grouped by the dimensions of a grain.
type day struct {
	grouping
	rest requestlog.Sums // sums of groups that were dropped
}

// encode returns the uncompressed form of a day: the sums of the dropped groups, the group names, one column per figure, and the
// histograms.
func (d *day) encode() []byte {
	slices.SortFunc(d.groups, func(a, b *group) int { return cmp.Or(strings.Compare(a.by, b.by), strings.Compare(a.then, b.then)) })
	var names [2]dictionary
	var counts [len(storedDay{}.counts)][]uint64
	var ends []uint64
	var histograms []byte
	for _, g := range d.groups {
		names[0].add(g.by)
		names[1].add(g.then)
		row := g.sums()
		for i, n := range row.Counts() {
			counts[i] = append(counts[i], zigzag(*n))
		}
		histograms = row.AppendHistograms(histograms)
		ends = append(ends, uint64(len(histograms)))
	}
	out := binary.AppendUvarint([]byte{blockVersion}, uint64(len(d.groups)))
	out = d.rest.AppendBinary(out)
	out = names[1].append(names[0].append(out))
	for i := range counts {
		out = appendColumn(out, counts[i])
	}
	return append(appendColumn(out, ends), histograms...)
}

// storedDay holds the parsed sums of one day.
type storedDay struct {
	grain      grain
	n          int
	rest       requestlog.Sums
	names      [2]textColumn
	counts     [19]column
	ends       column // end offset of each group's histograms
	histograms []byte
}

func parseDay(g grain, data []byte) (*storedDay, error) {
	if len(data) == 0 || data[0] != blockVersion {
		return nil, errBlock
	}
	c := cursor{data[1:]}
	n, ok := c.uvarint()
	if !ok || n > uint64(len(data)) {
		return nil, errBlock
	}
	d := &storedDay{grain: g, n: int(n)} //nolint:gosec // the count is at most the length of the data
	var err error
	if c.data, err = d.rest.MergeBinary(c.data); err != nil {
		return nil, err
	}
	for i := range d.names {
		if d.names[i], ok = c.dictionary(d.n); !ok {
			return nil, errBlock
		}
	}
	for i := range d.counts {
		if d.counts[i], ok = c.column(d.n); !ok {
			return nil, errBlock
		}
	}
	if d.ends, ok = c.column(d.n); !ok {
		return nil, errBlock
	}
	d.histograms = c.data
	return d, nil
}

func (d *storedDay) len() int { return d.n }

func (d *storedDay) texts(of report.Dimension) (texts, error) {
	i := slices.Index(d.grain[:], of)
	if i < 0 {
		return texts{values: make([]string, 1)}, nil
	}
	values, err := d.names[i].values()
	return texts{values, d.names[i].index}, err
}

func (d *storedDay) skips(int) bool { return false }

func (d *storedDay) weigh(i int, m report.Measure) (measure, requests int64) {
	requests = d.counts[0].signed(i)
	switch m { // each case reads only the columns that it needs
	case report.Requests:
		return requests, requests
	case report.Errors:
		return d.counts[4].signed(i), requests
	case report.Savings:
		return d.counts[13].signed(i) - d.counts[12].signed(i), requests
	default:
		return d.counts[11].signed(i), requests
	}
}

func (d *storedDay) addTo(i int, r *report.Row) error {
	var f requestlog.Figures
	for k, n := range f.Counts() {
		*n = d.counts[k].signed(i)
	}
	r.Merge(&requestlog.Sums{Figures: f})
	start, end := uint64(0), d.ends.at(i)
	if i > 0 {
		start = d.ends.at(i - 1)
	}
	if start > end || end > uint64(len(d.histograms)) {
		return errBlock
	}
	_, err := r.MergeHistograms(d.histograms[start:end])
	return err
}

// prune keeps the n most expensive and the n most frequent groups. It adds all other groups to rest.
func (d *day) prune(n int) {
	if len(d.groups) <= 2*n {
		return
	}
	kept := map[*group]bool{}
	for _, figure := range []func(r *report.Row) int64{
		func(r *report.Row) int64 { return int64(r.Cost) },
		func(r *report.Row) int64 { return r.Requests },
	} {
		for _, g := range d.groups {
			g.measure = figure(g.sums())
		}
		for _, g := range d.top(n, false) {
			kept[g] = true
		}
	}
	d.groups = slices.DeleteFunc(d.groups, func(g *group) bool {
		if !kept[g] {
			d.rest.Merge(&g.sums().Sums)
		}
		return !kept[g]
	})
}

// maxTags is the number of tag names by which the requests of a day are grouped.
const maxTags = 12

// tagsOf returns the tag names of a day: the stored names, then the most frequent names of the facts, up to maxTags in total.
func tagsOf(stored []string, b *builder) []string {
	tags := slices.Clone(stored)
	counts := map[string]int{}
	perSet := make([]int, len(b.text[tagColumn].values))
	for _, id := range b.text[tagColumn].index {
		perSet[id]++
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

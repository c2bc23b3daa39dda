package statement

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"maps"
	"slices"
	"strconv"
	"time"

	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
	"fairlead.dev/internal/requestlog"
)

// Names of lines that are neither a model nor a key.
const (
	notServed  = "not served"
	playground = "playground"
)

// sums accumulates the sums of a statement. Its size depends on the number of models, keys, days and versions.
type sums struct {
	total              *summed
	models, keys, days map[string]*summed
	versions           map[Version]int64 // number of requests by version; Requests is 0 in the map keys
	row                []byte            // buffer for the row of an entry
}

// summed is a line with its running checksum.
type summed struct {
	Line
	hash hash.Hash
}

func newSummed(name string) *summed { return &summed{Line{Name: name}, sha256.New()} }

func (t *sums) add(e *requestlog.Entry) {
	t.row = appendRow(t.row[:0], e)
	key := cmp.Or(e.KeyID, playground)
	t.total.add(e, t.row)
	line(t.models, cmp.Or(e.Model, notServed)).add(e, t.row)
	line(t.keys, key).add(e, t.row)
	line(t.days, e.Stamp().UTC().Format(time.DateOnly)).add(e, t.row)
	if l := t.keys[key]; l.Label == "" {
		l.Label = e.KeyName // the newest entry is added first, so this is the latest name
	}
	t.count("router", e.Versions.Router)
	t.count("catalog", e.Versions.Catalog)
	t.count("predictor", e.Versions.Predictor)
	t.count("policies", e.Versions.Policy)
	t.count("feedback", e.Versions.Feedback)
}

func (t *sums) count(kind, version string) {
	if version != "" {
		t.versions[Version{Kind: kind, Version: version}]++
	}
}

func line(lines map[string]*summed, name string) *summed {
	l := lines[name]
	if l == nil {
		l = newSummed(name)
		lines[name] = l
	}
	return l
}

func (l *summed) add(e *requestlog.Entry, row []byte) {
	_, _ = l.hash.Write(row) // Write never fails
	l.Requests++
	if e.Outcome.IsError() {
		l.Errors++
	}
	if e.Unpriced() {
		l.Unpriced++
	}
	l.Input += e.Usage.Prompt()
	l.Output += e.Usage.Output
	if e.Cost != nil {
		l.Cost = l.Cost.Add(*e.Cost)
	}
	if saved, ok := e.Saved(); ok {
		l.WithBaseline++
		l.Baseline = l.Baseline.Add(*e.BaselineCost)
		l.Saved = l.Saved.Add(saved)
	}
}

// fill writes the lines to the statement.
func (t *sums) fill(s *Statement) {
	s.Total = t.total.finish()
	byCost := func(a, b Line) int { return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(a.Name, b.Name)) }
	s.Models, s.Keys, s.Days = finished(t.models), finished(t.keys), finished(t.days)
	slices.SortFunc(s.Models, byCost)
	slices.SortFunc(s.Keys, byCost)
	s.Versions = []Version{}
	for v, n := range t.versions {
		v.Requests = n
		s.Versions = append(s.Versions, v)
	}
	slices.SortFunc(s.Versions, func(a, b Version) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
}

func finished(lines map[string]*summed) []Line {
	list := make([]Line, 0, len(lines))
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		list = append(list, lines[name].finish())
	}
	return list
}

func (l *summed) finish() Line {
	l.Checksum = hex.EncodeToString(l.hash.Sum(nil))
	return l.Line
}

// appendRow appends the canonical text of an entry, from which checksums are computed.
func appendRow(to []byte, e *requestlog.Entry) []byte {
	field := func(text string) { to = append(strconv.AppendQuote(to, text), '\t') }
	number := func(n int64) { to = append(strconv.AppendInt(to, n, 10), '\t') }
	amount := func(a *money.Amount) {
		if a == nil {
			to = append(to, '-', '\t')
			return
		}
		number(int64(*a))
	}
	for _, text := range [...]string{e.ID, e.Time.UTC().Format(time.RFC3339Nano), e.KeyID, e.Requested, e.Model, e.Provider, string(e.DecisionKind), e.Policy, string(e.Outcome)} {
		field(text)
	}
	number(int64(e.Status))
	u := &e.Usage
	for _, n := range [...]int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning, u.CacheWriteLong, u.AudioInput, u.AudioOutput} {
		number(n)
	}
	amount(e.Cost)
	field(e.BaselineModel)
	amount(e.BaselineCost)
	return append(to, '\n')
}

// sampleChecksum returns the checksum of comparisons, newest first.
func sampleChecksum(samples []proof.Sample) string {
	sorted := slices.Clone(samples)
	slices.SortFunc(sorted, func(a, b proof.Sample) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Request, a.Request), cmp.Compare(b.Shadow, a.Shadow))
	})
	h := sha256.New()
	var row []byte
	for i := range sorted {
		s := &sorted[i]
		row = row[:0]
		for _, text := range []string{s.Request, s.Shadow, s.At.UTC().Format(time.RFC3339Nano), s.Key, s.Task, s.Model, s.Baseline, s.Method} {
			row = append(strconv.AppendQuote(row, text), '\t')
		}
		row = append(strconv.AppendFloat(row, s.Difference, 'g', -1, 64), '\t')
		row = append(strconv.AppendFloat(row, s.Propensity, 'g', -1, 64), '\n')
		_, _ = h.Write(row)
	}
	return hex.EncodeToString(h.Sum(nil))
}

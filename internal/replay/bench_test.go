package replay

import (
	"bytes"
	"compress/flate"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
)

// BenchmarkRun recomputes the decisions of stored requests for auto with sixty candidates and twenty policies. It
// reports decisions per second on one core.
func BenchmarkRun(b *testing.B) {
	for _, test := range []struct {
		name  string
		draft bool
	}{{"active", false}, {"draft", true}} {
		b.Run(test.name, func(b *testing.B) {
			snap, source := stock(b, 60, 2000)
			o := Options{Live: Rules{Snapshot: snap}, Predictor: predictor, Workers: 1}
			decisions := 1
			if test.draft {
				o.Draft = &Rules{Snapshot: snap, Policies: twenty(b, snap)}
				decisions = 2
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				r, err := Run(b.Context(), source, o, nil)
				if err != nil || r.Decided != int64(len(source)) {
					b.Fatal(r, err)
				}
				n += len(source)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(float64(n*decisions)/b.Elapsed().Seconds(), "decisions/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkRecord measures the decoding of a row.
func BenchmarkRecord(b *testing.B) {
	_, source := stock(b, 60, 100)
	trace, err := source[0].Trace(nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(len(trace)), "bytes")
	b.ReportAllocs()
	var r record
	i := 0
	for b.Loop() {
		if err := r.read(&source[i%len(source)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// stock returns a snapshot and n compressed rows.
func stock(b *testing.B, targets, n int) (*route.Snapshot, traffic) {
	b.Helper()
	m := newMaker(b, 1)
	snap := first(m.snapshot(targets, 3), targets)
	var source traffic
	for len(source) < n {
		in := m.input(snap)
		c := m.conditions(snap)
		d, err := route.Decide(&in, snap, c)
		if err != nil || !route.IsAuto(in.Model) || in.Op != "chat" || len(d.Candidates) < targets*8/10 { // some targets serve embeddings
			continue
		}
		e := m.entry(len(source), d, snap)
		one := row(b, &e)
		source = append(source, packed(b, one))
	}
	return snap, source
}

// first returns a snapshot with only the first targets of snap; targets is their number.
func first(snap *route.Snapshot, targets int) *route.Snapshot {
	vectors := abilities{}
	var providers []*provider.Provider
	for _, t := range snap.Targets()[:targets] {
		vectors[t.Model.Name], _ = snap.Ability(t.Model.Name)
		i := slices.IndexFunc(providers, func(p *provider.Provider) bool { return p.Name == t.Provider })
		if i < 0 {
			i = len(providers)
			providers = append(providers, &provider.Provider{Name: t.Provider})
		}
		providers[i].Targets = append(providers[i].Targets, t)
	}
	return route.NewSnapshot(snap.Catalog, providers, vectors)
}

// packed returns the row with a compressed trace.
func packed(b *testing.B, r Row) Row {
	b.Helper()
	text, err := r.Trace(nil)
	if err != nil {
		b.Fatal(err)
	}
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, flate.BestSpeed)
	if err != nil {
		b.Fatal(err)
	}
	_, _ = w.Write(text)
	_ = w.Close()
	reader := flate.NewReader(bytes.NewReader(nil))
	r.Trace = func(buffer []byte) ([]byte, error) {
		if err := reader.(flate.Resetter).Reset(bytes.NewReader(small.Bytes()), nil); err != nil {
			return nil, err
		}
		into := bytes.NewBuffer(buffer)
		_, err := into.ReadFrom(reader)
		return into.Bytes(), err
	}
	return r
}

func twenty(b *testing.B, snap *route.Snapshot) *policy.Set {
	b.Helper()
	var source strings.Builder
	source.WriteString("policies:\n")
	for i := range 20 {
		fmt.Fprintf(&source, "  - {name: rule-%d, when: 'request.task == \"code\" && request.tokens > %d', exclude: {models: [%s]}}\n", i, 100*i, snap.Targets()[i].Model.Name)
	}
	return parse(b, snap, source.String())
}

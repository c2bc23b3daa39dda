package ability

import (
	"math"
	"slices"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/predict"
)

// shipped returns a fitter with the embedded artefact, and the embedded catalog.
func shipped(t *testing.T) (*Fitter, *catalog.Catalog) {
	t.Helper()
	p, err := predict.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	known, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	return New(p), known
}

func TestServedProbabilitiesAreTheRecordedOnes(t *testing.T) {
	t.Parallel()
	f, known := shipped(t)
	g := f.lazy()
	links := g.linked(f.source)
	if len(links) < 10 {
		t.Fatalf("%d models with records and scores, want at least 10", len(links))
	}
	for _, l := range links {
		m, _ := known.Model(l.name)
		served := f.Of(m)
		if served.Source != predict.FromTraining {
			t.Errorf("source of %s = %s, want training", l.name, served.Source)
		}
		for i := range g.recorded {
			r := &g.recorded[i]
			if l.trained.Records[i] < 300 {
				continue
			}
			if want, got := sigmoid(r.logit(l.trained.Vector)), sigmoid(r.logit(served.Vector)); math.Abs(got-want) > 0.03 {
				t.Errorf("%s on %s: recorded %.3f, served %.3f", l.name, r.Name, want, got)
			}
		}
	}
}

// For each model, the offsets are computed from the scores of the other models only.
func TestModelsKnownByScoresAreCalibrated(t *testing.T) {
	t.Parallel()
	f, known := shipped(t)
	g := f.lazy()
	links := g.linked(f.source)
	sum, bias, count := 0.0, 0.0, 0.0
	for k, l := range links {
		g.setOffsets(slices.Delete(slices.Clone(links), k, k+1))
		m, _ := known.Model(l.name)
		scored := g.scored(g.targets(scoresOf(m)))
		for i := range g.recorded {
			if r := &g.recorded[i]; l.trained.Records[i] >= minRecords {
				away := sigmoid(r.logit(scored.Vector)) - sigmoid(r.logit(l.trained.Vector))
				sum, bias, count = sum+math.Abs(away), bias+away, count+1
			}
		}
	}
	if sum/count > 0.06 || math.Abs(bias/count) > 0.02 {
		t.Errorf("mean difference %.3f, bias %+.3f over %v pairs of model and family", sum/count, bias/count, count)
	}
	t.Logf("mean difference %.3f, bias %+.3f over %v pairs of model and family", sum/count, bias/count, count)
}

// For code, the training data has only outcomes of small models. The ability of larger models must not be extrapolated from them.
func TestFamilyWithFewRecordedModelsFollowsTheStrength(t *testing.T) {
	t.Parallel()
	f, known := shipped(t)
	g := f.lazy()
	code := &g.recorded[slices.IndexFunc(g.recorded, func(r recordedFamily) bool { return r.Name == "code" })]
	at := func(name string) float64 {
		a, ok := f.Named(known, name)
		if !ok {
			t.Fatalf("%s is unknown", name)
		}
		return sigmoid(code.logit(a.Vector))
	}
	weak, middle, strong := at("mixtral-8x7b-instruct"), at("gpt-4o-mini"), at("gpt-5")
	if !(weak < 0.6 && weak+0.1 < middle && middle+0.05 < strong) {
		t.Errorf("code: weak %.2f, middle %.2f, strong %.2f; want them clearly apart", weak, middle, strong)
	}
}

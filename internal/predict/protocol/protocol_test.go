package protocol

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// drawer is a random number generator that is easy to write in any language, so that the figures can be checked with other
// programs.
type drawer struct{ x uint64 }

func (d *drawer) next() float64 {
	d.x = (d.x*1103515245 + 12345) % (1 << 31)
	return float64(d.x) / (1 << 31)
}

var pair = Pair{Source: "s", Strong: "big", Weak: "small"}

// drawn returns 250 prompts. A big model usually beats a small one on the prompts for which an advantage is predicted.
func drawn() ([]Row, Predictions) {
	d := &drawer{42}
	var rows []Row
	predictions := Predictions{}
	for i := range 250 {
		id := fmt.Sprintf("%03d", i)
		hard := d.next()
		big, small := 0.0, 0.0
		if d.next() < 0.35+0.5*(1-hard)*1.2 {
			big = 1
		}
		if d.next() < 0.75-0.6*hard {
			small = 1
		}
		advantage := 0.6*hard + 0.4*d.next()
		cheap, dear := 0.001*(1+d.next()), 0.01*(1+d.next())
		d.next()
		rows = append(rows, Row{
			ID: id, Source: "s", Scores: map[string]float64{"big": big, "small": small}, Costs: map[string]float64{"big": dear, "small": cheap},
		})
		predictions[id] = map[string]float64{"big": 0.5 + advantage - 0.3, "small": 0.5}
	}
	return rows, predictions
}

var plan = Plan{Pairs: []Pair{pair}, Costed: []Costed{{Name: "all", Sources: []string{"s"}}}, Pooled: pair}

// The figures were computed from the same draws by an implementation of the protocol in another language.
func TestFiguresMatchReferenceImplementation(t *testing.T) {
	t.Parallel()
	rows, predictions := drawn()
	got := Evaluate(rows, predictions, plan)
	want := Gap{APGR: 0.535483871, CPT50: 0.42, CPT80: 0.74}
	near := cmpopts.EquateApprox(0, 5e-7)
	if diff := cmp.Diff(want, got.Pairs[0].Gap, near); diff != "" {
		t.Error(diff)
	}
	frontier := FrontierResult{Name: "all", Prompts: 250, Models: []string{"big", "small"}, Router: 0.584460312, Zero: 0.568, Oracle: 0.737408120}
	if diff := cmp.Diff([]FrontierResult{frontier}, got.Costed, near); diff != "" {
		t.Error(diff)
	}
	if p := got.Pairs[0]; p.Prompts != 250 || p.Skipped || !(p.Low < p.APGR && p.APGR < p.High) {
		t.Errorf("pair = %+v, want 250 prompts and an interval around the APGR", p)
	}
	if p := got.Pooled; p == nil || p.Prompts != 250 || math.Abs(p.APGR-want.APGR) > 1e-6 {
		t.Errorf("pooled result of one source is %+v, want APGR %v", p, want.APGR)
	}
	if diff := cmp.Diff(got, Evaluate(rows, predictions, plan)); diff != "" {
		t.Errorf("a second evaluation differs: %s", diff)
	}
}

func TestPerfectRoutingBeatsRandomBeatsInverted(t *testing.T) {
	t.Parallel()
	rows, _ := drawn()
	r := rand.New(rand.NewPCG(1, 1))
	judge := func(predict func(Row) float64) float64 {
		predictions := Predictions{}
		for _, row := range rows {
			predictions[row.ID] = map[string]float64{"big": predict(row), "small": 0}
		}
		return Evaluate(rows, predictions, plan).Pairs[0].APGR
	}
	lead := func(row Row) float64 { return row.Scores["big"] - row.Scores["small"] }
	knowing, guessing, contrary := judge(lead), judge(func(Row) float64 { return r.Float64() }), judge(func(row Row) float64 { return -lead(row) })
	if !(knowing > 0.9 && math.Abs(guessing-0.5) < 0.25 && contrary < 0.1) {
		t.Errorf("APGR of perfect routing %.3f, random %.3f, inverted %.3f", knowing, guessing, contrary)
	}
}

func TestUninformativePairsAreSkipped(t *testing.T) {
	t.Parallel()
	rows, predictions := drawn()
	few := slices.Clone(rows[:39])
	equal := slices.Clone(rows)
	for i := range equal {
		equal[i].Scores = map[string]float64{"big": 1, "small": 1}
	}
	dirty := slices.Clone(rows)
	for i := range dirty {
		dirty[i].Contaminated = true
	}
	for name, c := range map[string]struct {
		rows        []Row
		predictions Predictions
	}{
		"few prompts":          {few, predictions},
		"no gap":               {equal, predictions},
		"contaminated prompts": {dirty, predictions},
		"no predictions":       {rows, nil},
	} {
		got := Evaluate(c.rows, c.predictions, plan)
		if p := got.Pairs[0]; !p.Skipped || p.Gap != (Gap{}) {
			t.Errorf("%s: got %+v, want a skipped pair", name, p)
		}
	}
	if got := Evaluate(rows, nil, plan); got.Pooled != nil || got.Costed != nil {
		t.Errorf("results without predictions: %+v, want none", got)
	}
}

func TestNotPooledSourcesAreExcluded(t *testing.T) {
	t.Parallel()
	rows, predictions := drawn()
	apart := plan
	apart.NotPooled = []string{"s"}
	if got := Evaluate(rows, predictions, apart); got.Pooled != nil {
		t.Errorf("pooled = %+v, want nil", got.Pooled)
	}
}

func TestFrontierUsesRowsWithMostModels(t *testing.T) {
	t.Parallel()
	rows, predictions := drawn()
	rows[7].Costs = map[string]float64{"big": 1}
	got := Evaluate(rows, predictions, plan).Costed[0]
	if got.Prompts != 249 || len(got.Models) != 2 {
		t.Errorf("%d prompts of models %v, want 249 of two models", got.Prompts, got.Models)
	}
}

func TestUpperHull(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ offers, want []costPoint }{
		"a more expensive and worse point is excluded": {[]costPoint{{1, 0.5}, {2, 0.4}}, []costPoint{{1, 0.5}}},
		"a point below the line is excluded":           {[]costPoint{{3, 0.9}, {1, 0.5}, {2, 0.6}}, []costPoint{{1, 0.5}, {3, 0.9}}},
		"a point above the line is kept":               {[]costPoint{{3, 0.9}, {1, 0.5}, {2, 0.8}}, []costPoint{{1, 0.5}, {2, 0.8}, {3, 0.9}}},
		"the better of two points at one price":        {[]costPoint{{1, 0.5}, {1, 0.7}}, []costPoint{{1, 0.5}, {1, 0.7}}},
		"a duplicate point is removed":                 {[]costPoint{{1, 0.5}, {1, 0.5}}, []costPoint{{1, 0.5}}},
	} {
		if diff := cmp.Diff(c.want, upperHull(c.offers), cmp.AllowUnexported(costPoint{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestShareForQuality(t *testing.T) {
	t.Parallel()
	points := []point{{0, 0.2}, {0.5, 0.6}, {0.75, 0.4}, {1, 0.8}}
	for _, c := range []struct{ want, share float64 }{{0.1, 0}, {0.2, 0}, {0.4, 0.25}, {0.7, 0.875}, {0.8, 1}, {0.9, 1}} {
		if got := shareFor(points, c.want); math.Abs(got-c.share) > 1e-12 {
			t.Errorf("shareFor(quality %.1f) = %v, want %v", c.want, got, c.share)
		}
	}
}

func TestStandardPlanIsValid(t *testing.T) {
	t.Parallel()
	p := Standard()
	pooledPairs := 0
	for _, one := range p.Pairs {
		if one.Source == "" || one.Strong == "" || one.Weak == "" || one.Strong == one.Weak {
			t.Errorf("incomplete pair: %+v", one)
		}
		if one.Strong == p.Pooled.Strong && !slices.Contains(p.NotPooled, one.Source) {
			pooledPairs++
		}
	}
	if pooledPairs < 5 || len(p.Costed) == 0 {
		t.Errorf("%d pooled pairs, %d pools with costs; want at least 5 and 1", pooledPairs, len(p.Costed))
	}
}

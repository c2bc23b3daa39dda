package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
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

var plan = Plan{Pairs: []Pair{pair}}

// The figures were computed from the same draws by an implementation of the protocol in another language.
func TestFiguresMatchReferenceImplementation(t *testing.T) {
	t.Parallel()
	rows, predictions := drawn()
	got := Evaluate(rows, predictions, plan)
	const want = 0.535483871
	if area := got.Pairs[0].APGR; math.Abs(area-want) > 5e-7 {
		t.Errorf("APGR = %v, want %v", area, want)
	}
	if p := got.Pairs[0]; p.Prompts != 250 || p.Skipped || !(p.Low < p.APGR && p.APGR < p.High) {
		t.Errorf("pair = %+v, want 250 prompts and an interval around the APGR", p)
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
		if p := got.Pairs[0]; !p.Skipped || p.APGR != 0 {
			t.Errorf("%s: got %+v, want a skipped pair", name, p)
		}
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

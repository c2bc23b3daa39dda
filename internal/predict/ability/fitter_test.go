package ability

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/predict"
)

// fake is a Source with test data, and the fitter that uses it.
type fake struct {
	*Fitter
	prior     predict.Prior
	anchors   map[string][]predict.Anchor
	abilities map[string]predict.Ability
	families  []predict.Family
}

func (f *fake) Prior() predict.Prior { return f.prior }

func (f *fake) Benchmarks() []string { return sortedKeys(f.anchors) }

func (f *fake) Anchors(benchmark string) []predict.Anchor { return f.anchors[benchmark] }

func (f *fake) Known(model string) (predict.Ability, bool) {
	a, ok := f.abilities[model]
	return a, ok
}

func (f *fake) Families() []predict.Family { return f.families }

func (f *fake) Features(predict.Prompt) predict.Features { panic("every probe has anchors") }

// small returns a source with six skills. Each benchmark depends mostly on one of them.
func small() *fake {
	const skills = 6
	p := &fake{anchors: map[string][]predict.Anchor{}, abilities: map[string]predict.Ability{
		"gpt-4o-2024-05-13": {Vector: make([]float64, skills+1), Spread: 0.1, Source: predict.FromTraining},
	}}
	p.prior.Mean = []float64{0.5, 0, 0, 0, 0, 0, 0}
	for i := range skills + 1 {
		row := make([]float64, skills+1)
		row[i] = 0.6
		if i == 0 {
			row[i] = 1.2
		}
		p.prior.Covariance = append(p.prior.Covariance, row)
	}
	for i, names := range [][]string{
		{"routellm_mmlu", "mmlu_pro", "choice", "arc_challenge", "trivia_qa"},
		{"gsm8k", "zeroeval_math_l5"},
		{"zebra", "winogrande"},
		{"bfcl"},
		{"mbpp", "code"},
		{"translation", "chat"},
	} {
		for n, name := range names {
			for side := -1.0; side <= 1; side += 2 {
				z := make([]float64, skills)
				z[i] = 1
				z[(i+n+1)%skills] += 0.5 * side
				p.anchors[name] = append(p.anchors[name], predict.Anchor{Skills: z, Weight: 0.5})
			}
		}
	}
	p.Fitter = New(p)
	return p
}

func on(p *fake, family string, a predict.Ability) float64 {
	return meanProbability(p.lazy().families[family].anchors, a.Vector)
}

func TestTrainedModelIsFoundByAllNames(t *testing.T) {
	t.Parallel()
	p := small()
	for _, name := range []string{"gpt-4o-2024-05-13", "gpt-4o", "openai/gpt-4o", " GPT-4o ", "azure/openai/gpt-4o-2024-05-13"} {
		if a := p.Ability(name, []Score{{"mmlu", 0.1}}, 0.1); a.Source != predict.FromTraining {
			t.Errorf("source of %q = %s", name, a.Source)
		}
	}
	for _, name := range []string{"", "gpt-4o-mini", "gpt-4.1"} {
		if a := p.Ability(name, []Score{{"mmlu", 0.1}}, 0.1); a.Source != predict.FromBenchmarks {
			t.Errorf("source of %q = %s", name, a.Source)
		}
	}
}

// Scores determine a trained ability only for families without recorded outcomes.
func TestRecordedOutcomesTakePrecedenceOverScores(t *testing.T) {
	t.Parallel()
	p := small()
	p.families = []predict.Family{{Name: "mmlu", Level: 1}, {Name: "gsm", Level: 2}, {Name: "logic", Level: 3}, {Name: "tools", Level: 4}, {Name: "code", Level: 5}}
	recorded := p.abilities["gpt-4o-2024-05-13"]
	recorded.Records = []float64{2000, 2000, 2000, 2000, 0}
	p.abilities["gpt-4o-2024-05-13"] = recorded
	scores := []Score{{"mmlu", 0.9}, {"gsm8k", 0.9}, {"zebra", 0.9}, {"bfcl", 0.9}, {"mbpp", 0.9}}
	served := p.Ability("gpt-4o", scores, 0)
	for _, family := range []string{"mmlu", "gsm8k", "logic", "tools"} {
		if before, after := on(p, family, recorded), on(p, family, served); math.Abs(after-before) > 0.01 {
			t.Errorf("%s: recorded %.3f, served %.3f", family, before, after)
		}
	}
	if before, after := on(p, "code", recorded), on(p, "code", served); after < before+0.1 {
		t.Errorf("code without records changed from %.3f to %.3f with a score of 0.9, want at least 0.1 more", before, after)
	}
	recorded.Records = []float64{0, 0, 0, 0, 2000}
	p.abilities["gpt-4o-2024-05-13"] = recorded
	if after := on(p, "code", p.Ability("gpt-4o", scores, 0)); math.Abs(after-0.5) > 0.01 {
		t.Errorf("code with records is %.3f, want about 0.5", after)
	}
}

func TestCanonicalNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"meta-llama/Meta-Llama-3.1-8B-Instruct": "llama-3.1-8b-instruct",
		"meta-llama-3_1-70b-instruct":           "llama-3.1-70b-instruct",
		"meta-llama_Meta-Llama-3-8B-Instruct":   "llama-3-8b-instruct",
		"meta-llama-3-8b":                       "meta-llama-3-8b", // the base model is not the instruct model
		"gemini-1.5-pro-002":                    "gemini-1.5-pro",
		"open-mixtral-8x7b":                     "mixtral-8x7b-instruct-v0.1",
		"anthropic/claude-3-haiku":              "claude-3-haiku-20240307",
		"something-new":                         "something-new",
	} {
		if got := Canonical(name); got != want {
			t.Errorf("Canonical(%q) = %q, want %q", name, got, want)
		}
		if again := Canonical(want); again != want {
			t.Errorf("Canonical(%q) = %q, want it unchanged", want, again)
		}
	}
}

func TestAScoreOnAKnownBenchmarkIsReached(t *testing.T) {
	t.Parallel()
	p := small()
	for _, c := range []struct {
		name, family string
		value        float64
	}{
		{"routellm_mmlu", "mmlu", 0.8},
		{"MMLU-Pro", "mmlu_pro", 0.4},
		{"zeroeval_gsm8k", "gsm8k", 0.9},
		{"math", "math", 0.3},
		{"zebra-grid", "logic", 0.2},
		{"BFCL", "tools", 0.85},
		{"routerbench_mbpp", "code", 0.6},
		{"humaneval", "code", 0.7},
		{"arc", "common", 0.75},
		{"winogrande", "fill_in", 0.65},
	} {
		a := p.Ability("", []Score{{c.name, c.value}}, 0)
		if got := on(p, c.family, a); math.Abs(got-c.value) > 0.05 {
			t.Errorf("%s with score %.2f: the fit predicts %.3f", c.name, c.value, got)
		}
		percent := p.Ability("", []Score{{c.name, 100 * c.value}}, 0)
		if diff := cmp.Diff(a, percent); diff != "" {
			t.Errorf("%s: a score in percent gives another fit: %s", c.name, diff)
		}
	}
}

// If two scores contradict each other, the score near 1 has less weight, because a few prompts change its logit a lot.
func TestScoreNearOneHasLittleWeight(t *testing.T) {
	t.Parallel()
	p := small()
	got := logit(on(p, "code", p.Ability("", []Score{{"mbpp", 0.995}, {"humaneval", 0.7}}, 0)))
	if between := (logit(0.995) + logit(0.7)) / 2; got > between-1 {
		t.Errorf("the fit has logit %.2f, want at least 1 below the middle %.2f", got, between)
	}
	if high, low := scoreNoise(0.99), scoreNoise(0.01); math.Abs(high-low) > 1e-9 || high < 2*scoreNoise(0.5) || math.IsInf(scoreNoise(1), 0) {
		t.Errorf("noise is %.2f at 0.99, %.2f at 0.01, %.2f at 0.5, %.2f at 1", high, low, scoreNoise(0.5), scoreNoise(1))
	}
}

func TestSkillsComeFromTheirOwnBenchmarks(t *testing.T) {
	t.Parallel()
	p := small()
	coder := p.Ability("", []Score{{"mbpp", 0.9}, {"mmlu", 0.5}, {"gsm8k", 0.5}}, 0)
	scholar := p.Ability("", []Score{{"mbpp", 0.3}, {"mmlu", 0.9}, {"gsm8k", 0.5}}, 0)
	if on(p, "code", coder) < on(p, "code", scholar)+0.3 || on(p, "mmlu", scholar) < on(p, "mmlu", coder)+0.2 {
		t.Errorf("code %.2f and %.2f, knowledge %.2f and %.2f", on(p, "code", coder), on(p, "code", scholar), on(p, "mmlu", coder), on(p, "mmlu", scholar))
	}
}

func TestBetterScoreRaisesItsFamilies(t *testing.T) {
	t.Parallel()
	p := small()
	for _, name := range sortedKeys(boards) {
		b := boards[name]
		for _, family := range b.families {
			if families[family].benchmarks == nil {
				t.Errorf("%s refers to family %q, which does not exist", name, family)
			}
		}
		low, high := p.Ability("", []Score{{name, 0.2}}, 0), p.Ability("", []Score{{name, 0.8}}, 0)
		for _, family := range b.families {
			if on(p, family, low) >= on(p, family, high) {
				t.Errorf("%s: a better score does not raise %s", name, family)
			}
		}
		if high.Spread >= p.Ability("", nil, 0).Spread {
			t.Errorf("a score on %s does not reduce the spread", name)
		}
	}
	for from, to := range otherNames {
		if _, ok := boards[to]; !ok || fold(from) != from {
			t.Errorf("other name %s of %s: the benchmark does not exist, or the name is not folded", from, to)
		}
	}
	for from, to := range directNames {
		if _, ok := families[to]; !ok || fold(from) != from {
			t.Errorf("direct name %s of %s: the family does not exist, or the name is not folded", from, to)
		}
	}
}

func TestUnknownBenchmarkHasLittleWeight(t *testing.T) {
	t.Parallel()
	p := small()
	nothing, unknown, known := p.Ability("", nil, 0), p.Ability("", []Score{{"house quiz", 0.95}}, 0), p.Ability("", []Score{{"mmlu", 0.95}}, 0)
	before, little, much := on(p, "mmlu", nothing), on(p, "mmlu", unknown), on(p, "mmlu", known)
	if !(before < little && little-before < (much-before)/2) {
		t.Errorf("mmlu is %.3f without scores, %.3f with an unknown benchmark, %.3f with mmlu", before, little, much)
	}
}

func TestUnusableScoresAreIgnored(t *testing.T) {
	t.Parallel()
	p := small()
	want := p.Ability("", []Score{{"mmlu", 0.7}}, 0)
	got := p.Ability("", []Score{{"gsm8k", math.NaN()}, {"mmlu", 0.7}, {"gsm8k", -1}, {"gsm8k", 200}}, 0)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAbsurdScoreHasLimitedEffect(t *testing.T) {
	t.Parallel()
	p := small()
	scores := []Score{{"mmlu", 0.85}, {"mmlu_pro", 0.8}, {"arc", 0.9}, {"gpqa_diamond", 0.7}, {"hle", 0.1}}
	fine, bent := p.Ability("", scores, 0), p.Ability("", append(slices.Clone(scores), Score{"mmlu_pro", 0.01}), 0)
	if d := on(p, "mmlu", fine) - on(p, "mmlu", bent); d < 0 || d > 0.2 {
		t.Errorf("one absurd score lowers the fit by %.3f, want 0 to 0.2", d)
	}
}

func TestQualityEqualsTheMeanProbability(t *testing.T) {
	t.Parallel()
	p := small()
	for _, quality := range []float64{0.1, 0.4, 0.7, 0.95} {
		a := p.Ability("", nil, quality)
		if got := meanProbability(p.lazy().general, a.Vector); math.Abs(got-quality) > 0.02 || a.Source != predict.FromQuality {
			t.Errorf("quality %.2f: mean probability %.6f from %s", quality, got, a.Source)
		}
	}
	for _, none := range []float64{0, -1, 1.5, math.NaN()} {
		if a := p.Ability("", nil, none); a.Source != predict.FromPrior {
			t.Errorf("source of quality %v = %s, want the prior", none, a.Source)
		}
	}
	if a := p.Ability("", []Score{{"mmlu", 0.6}}, 0.9); a.Source != predict.FromBenchmarks {
		t.Errorf("source with scores and a quality = %s, want benchmarks", a.Source)
	}
}

func TestFitWithSingularPrior(t *testing.T) {
	t.Parallel()
	p := small()
	for i := range p.prior.Covariance {
		for j := range p.prior.Covariance[i] {
			p.prior.Covariance[i][j] = 1 // the matrix has rank one
		}
	}
	a := p.Ability("", []Score{{"mmlu", 0.8}, {"mbpp", 0.4}}, 0)
	for _, v := range a.Vector {
		if math.IsNaN(v) || math.Abs(v) > 100 {
			t.Fatalf("vector %v, want finite values up to 100", a.Vector)
		}
	}
}

func FuzzAbility(f *testing.F) {
	f.Add("mmlu", 0.7, "HLE (no tools)", 12.0, 0.5)
	p := small()
	f.Fuzz(func(t *testing.T, first string, a float64, second string, b, quality float64) {
		got := p.Ability("", []Score{{first, a}, {second, b}}, quality)
		for _, v := range append(got.Vector, got.Spread) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("ability %+v, want finite values", got)
			}
		}
	})
}

package predict

import (
	"math"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

func abilities(t *testing.T) (*Table, []*catalog.Model) {
	t.Helper()
	c, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	var models []*catalog.Model
	for _, m := range c.Models() {
		if m.Op == llm.Chat {
			models = append(models, m)
		}
	}
	return NewTable(c), models
}

func mean(levels [FamilyCount]float64) float64 {
	var sum float64
	for _, l := range levels {
		sum += l
	}
	return sum / FamilyCount
}

func TestNoModelIsBelowAnOlderDearerLowerRatedSibling(t *testing.T) {
	t.Parallel()
	table, models := abilities(t)
	const rounding = 0.011 // both levels are rounded
	pairs := 0
	for _, a := range models {
		for _, b := range models {
			left, right := table.Ability(a), table.Ability(b)
			price, other := table.price(a), table.price(b)
			if a == b || a.Vendor != b.Vendor || price == 0 || other == 0 || price > other || year(a.Released) < year(b.Released) || mean(left.Levels) < mean(right.Levels) {
				continue
			}
			pairs++
			for i, f := range Families() {
				if left.Levels[i] < right.Levels[i]-rounding {
					t.Errorf("%s is below %s for %s: %.2f, %.2f", a.Name, b.Name, f, left.Levels[i], right.Levels[i])
				}
			}
		}
	}
	if pairs < 500 {
		t.Errorf("compared only %d pairs", pairs)
	}
}

func TestEveryChatModelHasAnAbility(t *testing.T) {
	t.Parallel()
	table, models := abilities(t)
	for _, m := range models {
		a := table.Ability(m)
		for i, f := range Families() {
			if math.Abs(a.Levels[i]) > 6 || a.Spreads[i] < 0.05 || a.Spreads[i] > 1 {
				t.Errorf("%s for %s: %.2f ± %.2f", m.Name, f, a.Levels[i], a.Spreads[i])
			}
		}
	}
}

// The scale of the table: small models at 0, flagships 1 to 2.5 above them, models of 2024 below.
func TestScaleOfTheTable(t *testing.T) {
	t.Parallel()
	table, _ := abilities(t)
	for name, want := range map[string][2]float64{
		"gpt-6-luna": {-0.5, 0.8}, "claude-haiku-5-5": {-0.5, 0.8}, "gemini-3.5-flash-lite": {-0.8, 0.5},
		"gpt-6.2-sol": {1, 2.5}, "claude-opus-5-5": {1, 2.5}, "gemini-4-argon": {1, 2.5}, "claude-fable-5-2": {1, 2.5},
		"gpt-6.1-terra": {0.4, 1.5}, "claude-sonnet-5-5": {0.4, 1.5}, "gemini-3.8-flash": {0.4, 1.5},
		"gpt-4o": {-3, -0.5}, "llama-3.1-8b-instruct": {-4, -1}, "mixtral-8x7b-instruct": {-4, -1},
	} {
		m, ok := table.catalog.Model(name)
		if !ok {
			t.Errorf("%s is unknown", name)
			continue
		}
		if level := mean(table.Ability(m).Levels); level < want[0] || level > want[1] {
			t.Errorf("%s has level %.2f, want %v", name, level, want)
		}
	}
}

// The prior knows less than the table, and errs no more than it says.
func TestPriorIsWiderThanTheTableAndHonest(t *testing.T) {
	t.Parallel()
	table, models := abilities(t)
	rows, outside := 0, 0
	for _, m := range models {
		row := table.Ability(m)
		if row.Source != FromTable || row.Scores < 5 {
			continue
		}
		unrated := *m
		unrated.Rating, unrated.Quality, unrated.QualitySource = nil, 0, ""
		prior := table.Ability(&unrated)
		for i, f := range Families() {
			if prior.Spreads[i] <= row.Spreads[i] {
				t.Errorf("%s for %s: the prior has a spread of %.2f, the table %.2f", m.Name, f, prior.Spreads[i], row.Spreads[i])
			}
			rows++
			if math.Abs(prior.Levels[i]-row.Levels[i]) > 2*prior.Spreads[i] {
				outside++
			}
		}
	}
	if float64(outside) > 0.1*float64(rows) {
		t.Errorf("%d of %d levels are more than two spreads away from the prior", outside, rows)
	}
}

func TestUnknownModelFollowsFromVendorLinePriceAndDate(t *testing.T) {
	t.Parallel()
	table, _ := abilities(t)
	luna, _ := table.catalog.Model("gpt-6-luna")
	next := catalog.Model{Name: "gpt-7-luna", Vendor: "OpenAI", Op: llm.Chat, Released: "2026-11-20", Abilities: llm.Reasoning}
	a := table.Ability(&next)
	if level, known := mean(a.Levels), mean(table.Ability(luna).Levels); level < known-0.5 || level > known+1.5 || a.Source != FromPrior || len(a.Efforts) == 0 {
		t.Errorf("gpt-7-luna has level %.2f, gpt-6-luna %.2f; source %s, efforts %v", level, known, a.Source, a.Efforts)
	}
	house := table.Ability(&catalog.Model{Name: "house-model", Op: llm.Chat})
	if house.Spreads[0] <= a.Spreads[0]/1.5 || house.Source != FromPrior {
		t.Errorf("house-model: %+v", house)
	}
}

func TestQualityOfTheOperatorSetsTheLevel(t *testing.T) {
	t.Parallel()
	table, _ := abilities(t)
	quality := 0.8
	c := table.catalog.With(catalog.Overrides{{Model: "gpt-6-luna", Quality: &quality}})
	m, _ := c.Model("gpt-6-luna")
	a := NewTable(c).Ability(m)
	if p := a.Quality(); math.Abs(p-quality) > 1e-6 || a.Source != FromQuality {
		t.Errorf("quality %v from %s, want %v", p, a.Source, quality)
	}
}

func TestQualityOfTheCatalogIsTheMeanSuccess(t *testing.T) {
	t.Parallel()
	table, models := abilities(t)
	for _, m := range models {
		a := table.Ability(m)
		if p := a.Quality(); math.Abs(p-m.Quality) > 1e-9 {
			t.Errorf("%s has quality %v, its abilities give %v", m.Name, m.Quality, p)
		}
	}
}

// A model without known gains beside siblings with gains would never be tried at another effort, however good it is.
func TestEffortGainsOfAVendorAreAllOrNone(t *testing.T) {
	t.Parallel()
	table, models := abilities(t)
	vendors := map[string]bool{}
	for _, m := range models {
		vendors[m.Vendor] = vendors[m.Vendor] || len(table.Ability(m).Efforts) > 0
	}
	for _, m := range models {
		fixed := m.OpenWeights || m.Vendor == "OpenAI" && len(catalog.ParameterRuleFor("openai", m.Name).Efforts) < 2
		if got := len(table.Ability(m).Efforts) > 0; got != (vendors[m.Vendor] && m.Abilities.Has(llm.Reasoning) && !fixed) {
			t.Errorf("%s has gains: %v", m.Name, got)
		}
	}
	if len(vendors) == 0 || !vendors["OpenAI"] || !vendors["Anthropic"] || !vendors["Google"] {
		t.Errorf("vendors with gains: %v", vendors)
	}
}

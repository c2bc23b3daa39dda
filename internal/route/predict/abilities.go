package predict

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
)

// Table knows the ability of every chat model of a catalog.
type Table struct {
	catalog *catalog.Catalog
	prior   map[string]float64
}

// NewTable returns the abilities of the models of a catalog.
func NewTable(c *catalog.Catalog) *Table { return &Table{catalog: c, prior: catalog.RatingPrior()} }

// Ability returns what is known about a model: the quality that the operator set, otherwise its row of the table, otherwise the prior from
// vendor, line, list price and release date.
func (t *Table) Ability(m *catalog.Model) Ability {
	switch {
	case m.QualitySource == catalog.OverrideSource, m.Rating == nil && m.Quality > 0:
		return t.fromQuality(m)
	case m.Rating == nil:
		return t.fromPrior(m)
	}
	a := Ability{Levels: m.Rating.Levels, Spreads: m.Rating.Spreads, Source: FromTable, Scores: m.Rating.Scores}
	if a.Scores == 0 {
		a.Source = FromPrior
	}
	if len(m.Rating.Efforts) > 0 {
		a.Efforts = make(map[string]float64, len(m.Rating.Efforts))
		for _, e := range m.Rating.Efforts {
			a.Efforts[e.Level] = e.Logit
		}
	}
	return a
}

// qualitySpread is the standard deviation of the ability of a model whose quality was set.
const qualitySpread = 0.3

// fromQuality moves the levels of the prior so that the mean success probability over the families is the model's quality. What a model is
// better at than others of its level stays.
func (t *Table) fromQuality(m *catalog.Model) Ability {
	a := t.fromPrior(m)
	a.Source = FromQuality
	goal := min(max(m.Quality, 0.001), 0.999)
	low, high := -20.0, 20.0
	prior := a.Levels
	for range 40 {
		shift := (low + high) / 2
		for i := range a.Levels {
			a.Levels[i], a.Spreads[i] = prior[i]+shift, qualitySpread
		}
		if a.Quality() < goal {
			low = shift
		} else {
			high = shift
		}
	}
	return a
}

// unknownSpread is the factor by which spreads grow for a model without a price or a known vendor.
const unknownSpread = 1.4

// fromPrior computes the ability from the coefficients of the prior. A model without a price counts as one that costs half a dollar, a model
// without a date as one of January 2026.
func (t *Table) fromPrior(m *catalog.Model) Ability {
	a := Ability{Source: FromPrior}
	price, widen := t.price(m), 1.0
	if price == 0 {
		price, widen = 0.5, unknownSpread
	}
	vendor, known := t.prior["vendor:"+m.Vendor]
	if !known {
		widen = unknownSpread
	}
	level := t.prior["intercept"] + t.prior["price"]*math.Log2(price) + t.prior["year"]*year(m.Released) + vendor +
		t.prior["line:"+m.Vendor+":"+line(m.Name)]
	for i, f := range Families() {
		a.Levels[i] = t.prior["loading:"+string(f)]*level + t.prior["offset:"+string(f)]
		a.Spreads[i] = t.prior["spread:"+string(f)] * widen
	}
	if m.Abilities.Has(llm.Reasoning) {
		for _, effort := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
			if gain, ok := t.prior["effort:"+m.Vendor+":"+effort]; ok {
				if a.Efforts == nil {
					a.Efforts = map[string]float64{}
				}
				a.Efforts[effort] = gain
			}
		}
	}
	return a
}

// price returns the list price of a model in dollars per million tokens, three of four of them input; 0 if it is unknown or free.
func (t *Table) price(m *catalog.Model) float64 {
	p := t.catalog.ListPrice(m.Name)
	if p == nil {
		return 0
	}
	return (3*p.Input.Dollars() + p.Output.Dollars()) / 4
}

// year returns the years from January 2026 to a date such as 2026-04-14, 2026-04 or 2026.
func year(released string) float64 {
	parts := strings.Split(released, "-")
	number := func(i int, otherwise float64) float64 {
		if i < len(parts) {
			if n, err := strconv.ParseFloat(parts[i], 64); err == nil {
				return n
			}
		}
		return otherwise
	}
	if released == "" {
		return 0
	}
	month := 7.0 // the middle of a year without a month
	if len(parts) > 1 {
		month = number(1, month)
	}
	return number(0, 2026) - 2026 + (month-1)/12 + (number(2, 15)-1)/365
}

// line returns the name of a model without its versions, such as claude-haiku or gpt-luna. train/abilities.py has the same rule.
func line(name string) string {
	var words []string
	for word := range strings.SplitSeq(name, "-") {
		switch {
		case strings.ContainsFunc(word, unicode.IsDigit):
		case word == "preview", word == "latest", word == "instruct", word == "exp", word == "it", word == "reasoning", word == "non", word == "thinking":
		default:
			words = append(words, word)
		}
	}
	return strings.Join(words, "-")
}

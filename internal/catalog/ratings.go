package catalog

import (
	"hash"
	"io/fs"
	"math"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
)

// RatedFamilies is the number of task families in the ability table. Package route/predict names them, in the order of the columns.
const RatedFamilies = 6

// Effort is a reasoning effort with its gain.
type Effort struct {
	Level string
	Logit float64
}

// Rating is a model's row of the ability table.
type Rating struct {
	Levels  [RatedFamilies]float64 // ability in logits; 0 is a typical small model
	Spreads [RatedFamilies]float64 // standard deviation of each level
	Efforts []Effort               // gains of the reasoning efforts that the model accepts, relative to its default, lowest effort first
	Scores  int                    // number of published scores and recorded outcomes behind the row; 0 if it follows from other models
}

const ratingColumns = "model,short,chat,knowledge,maths,code,agents," +
	"short_spread,chat_spread,knowledge_spread,maths_spread,code_spread,agents_spread,efforts,scores"

// readRatings loads the ability table and derives the models' qualities from it.
func readRatings(files fs.FS, sum hash.Hash, models map[string]*Model) error {
	columns := strings.Split(ratingColumns, ",")
	return eachRow(files, "data/abilities.csv", ratingColumns, sum, func(row record) {
		m := models[row.text("model")]
		if m == nil || m.Op != llm.Chat || m.Rating != nil {
			row.fail("abilities of %q, which is unknown, not a chat model or listed twice", row.text("model"))
			return
		}
		m.Rating = &Rating{}
		for i := range RatedFamilies {
			m.Rating.Levels[i] = row.signed(columns[1+i])
			m.Rating.Spreads[i] = row.decimal(columns[1+RatedFamilies+i])
		}
		for _, cell := range row.list("efforts") {
			level, gain, _ := strings.Cut(cell, ":")
			e := Effort{Level: level, Logit: row.parseSigned(gain)}
			if n := len(m.Rating.Efforts); n > 0 && (llm.EffortLength(level) <= llm.EffortLength(m.Rating.Efforts[n-1].Level) || e.Logit < m.Rating.Efforts[n-1].Logit) {
				row.fail("effort %q is out of order", cell)
			}
			if level != "none" && llm.EffortLength(level) == 0 {
				row.fail("unknown effort %q", level)
			}
			m.Rating.Efforts = append(m.Rating.Efforts, e)
		}
		m.Rating.Scores, _ = strconv.Atoi(row.text("scores"))
		m.Quality, m.QualitySource = m.Rating.quality(), "prior"
		if m.Rating.Scores > 0 {
			m.QualitySource = row.text("scores") + " scores"
		}
	})
}

// A quality is measured by tasks between medium and hard.
const (
	qualityLogit = 0.475   // logit of such a task for a model of level 0: 62 %
	usualShare   = 1.0 / 6 // share in which such a task is solved as well at any effort as at the usual one
)

// quality returns the mean success probability over the families.
func (r *Rating) quality() float64 {
	logit := qualityLogit
	for _, e := range r.Efforts {
		if e.Level == llm.DefaultEffort {
			logit += usualShare * e.Logit
		}
	}
	var sum float64
	for _, level := range r.Levels {
		sum += 1 / (1 + math.Exp(-level-logit))
	}
	return sum / RatedFamilies
}

// RatingPrior returns the coefficients from which the ability of an unrated model follows, by term. See data/README.md.
func RatingPrior() map[string]float64 {
	r, _ := embeddedRules() // Default reports the error
	return r.prior
}

// signed parses a number that may be negative.
func (r record) signed(column string) float64 { return r.parseSigned(r.text(column)) }

func (r record) parseSigned(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(n) < 20) {
		r.fail("%q is not a number between -20 and 20", text)
	}
	return n
}

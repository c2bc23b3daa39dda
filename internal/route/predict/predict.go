// Package predict estimates how well a model would answer a request. A request has one difficulty, which is the same for all models.
// A model has an ability in each task family, from a table that people can read. The probability of a good answer follows from the
// difference of the two. The package performs no I/O.
package predict

import (
	"math"

	"fairlead.dev/internal/llm"
)

// Family is a kind of task. A model's ability differs between families.
type Family string

// The task families.
const (
	Short     Family = "short"     // short answers, labels, extraction and changes of form
	Chat      Family = "chat"      // writing, rewriting, advice and conversation
	Knowledge Family = "knowledge" // facts and explanations
	Maths     Family = "maths"     // mathematics and logic
	Code      Family = "code"      // programs, queries and configuration
	Agents    Family = "agents"    // tasks that are solved with tools
)

// FamilyCount is the number of task families.
const FamilyCount = 6

// Families lists the task families in the order of the ability table.
func Families() []Family { return families[:] }

var families = [FamilyCount]Family{Short, Chat, Knowledge, Maths, Code, Agents}

// Index returns the position of a family in the ability table. An unknown family has the position of Chat.
func (f Family) Index() int {
	for i, known := range families {
		if f == known {
			return i
		}
	}
	return 1
}

// Features describes the work that a request asks for. The features are stored with the decision, so that the decision can be recomputed
// without the text.
type Features struct {
	Task       Family  `json:"task"`
	Difficulty float64 `json:"difficulty"`         // 0 trivial, 1 easy, 2 medium, 3 hard, with values between
	Output     int64   `json:"output,omitempty"`   // expected visible output in tokens; 0 if unknown
	Known      float64 `json:"known"`              // share of the words of the request that the scorer knows, 0 to 1
	Language   string  `json:"language,omitempty"` // language of the request as an ISO 639-1 code; empty if unknown
}

// Ability is a row of the ability table: what is known about a model.
type Ability struct {
	Levels  [FamilyCount]float64 `json:"levels"`            // ability in logits, by family
	Spreads [FamilyCount]float64 `json:"spreads"`           // standard deviation of each level
	Efforts map[string]float64   `json:"efforts,omitempty"` // gain of a reasoning effort for a hard task in logits, relative to the model's default
	Source  string               `json:"source"`            // origin of the row: table, prior or quality
	Scores  int                  `json:"scores,omitempty"`  // number of published scores behind the row
}

// The sources of an ability.
const (
	FromTable   = "table"   // fitted to published scores and recorded outcomes
	FromPrior   = "prior"   // vendor, price and release date
	FromQuality = "quality" // set by the operator
)

// Estimate is a probability of a good answer with its uncertainty.
type Estimate struct {
	Probability float64 // 0 to 1
	Spread      float64 // standard deviation of the probability because of the uncertain ability
}

// A model of level 0 gets trivial tasks right practically always, easy ones nearly always, three of four medium ones, and fewer than half of
// the hard ones. The logits fall evenly between these.
const (
	trivialLogit = 4.6 // logit of a trivial task at level 0: 99 %
	stepLogit    = 1.65
)

// Success returns the estimate for a request. The gain of an effort counts in proportion to the difficulty, because thinking longer does
// not help with a trivial task: there, all efforts are as good as the usual one. Otherwise models that think little by default would be
// worse at simple tasks than models of their ability that think more.
func Success(f *Features, a *Ability, effort string) Estimate {
	i, hard := f.Task.Index(), min(max(f.Difficulty/3, 0), 1)
	logit := a.Levels[i] + trivialLogit - stepLogit*f.Difficulty + a.Efforts[effort]*hard + a.Efforts[llm.DefaultEffort]*(1-hard)
	p := 1 / (1 + math.Exp(-logit))
	return Estimate{Probability: p, Spread: p * (1 - p) * a.Spreads[i]}
}

// Quality returns the mean success probability over the families for tasks between medium and hard, by which the catalog measures models.
func (a *Ability) Quality() float64 {
	var sum float64
	for _, f := range families {
		sum += Success(&Features{Task: f, Difficulty: 2.5}, a, "").Probability
	}
	return sum / FamilyCount
}

// AtQuality returns the ability with which a model answers a task of medium difficulty well with the given probability, in every family. A
// quality of 0 is unknown.
func AtQuality(quality float64) Ability {
	const unknown, spread = 0.6, 0.6
	if quality <= 0 {
		quality = unknown
	}
	quality = min(max(quality, 0.01), 0.99)
	level := math.Log(quality/(1-quality)) - trivialLogit + 2*stepLogit
	a := Ability{Source: FromQuality}
	for i := range a.Levels {
		a.Levels[i], a.Spreads[i] = level, spread
	}
	return a
}

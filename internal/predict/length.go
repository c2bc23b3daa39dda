package predict

import (
	"math"
	"slices"
	"strings"
)

// lengthPrior is the typical number of visible output tokens for one kind of prompt. It grows with a power of the number of words.
type lengthPrior struct {
	tokens float64 // output tokens for a prompt that has `words` words
	words  float64
	power  float64
}

// taskLengths holds the length priors for prompts unlike the training data. They follow the recorded output lengths of chat models and
// agents. Chat responses to prompts of eight words are as long as responses to prompts of a hundred words.
var taskLengths = map[Task]lengthPrior{
	Chat:        {400, 15, 0.15},
	Code:        {450, 40, 0.3},
	Maths:       {330, 40, 0.5},
	Reasoning:   {400, 60, 0.4},
	Knowledge:   {350, 20, 0.15},
	Extraction:  {180, 60, 0.2},
	ToolUse:     {110, 20, 0},
	Vision:      {250, 10, 0.2},
	LongContext: {500, 20, 0},
	"":          {400, 20, 0.2},
}

// familyLengths holds the expected response lengths for the prompt families in the training data. The training data contains no lengths, so
// the values are estimates for responses that include an explanation. Prompts of other families use the length for their task.
var familyLengths = map[string]lengthPrior{
	"mmlu":     {150, 60, 0.2},
	"mmlu_pro": {260, 80, 0.2},
	"gsm":      {165, 45, 0.4},
	"math":     {420, 30, 0.2},
	"logic":    {560, 250, 0.4},
	"tools":    {80, 30, 0},
	"code":     {240, 15, 0.25},
}

const (
	sumLength    = 50   // length of the response to an arithmetic expression such as 17*23, in tokens
	maxSum       = 24   // maximum length of a prompt that is an arithmetic expression, in bytes
	bytesPerWord = 6    // average bytes per word, including the space
	maxGrowth    = 1.6  // maximum growth factor of the length for a long prompt
	demandGrowth = 0.15 // relative growth of the length per logit of demand
)

func (l lengthPrior) at(words float64) float64 {
	if l.power == 0 {
		return l.tokens
	}
	return l.tokens * min(maxGrowth, math.Pow(max(words, 1)/l.words, l.power))
}

// outputLength returns the expected number of visible output tokens: the mean of the family lengths weighted by their shares, with the task
// length for the remaining share. It returns 0 for translations, which are as long as the prompt.
func (p *Predictor) outputLength(f *Features, text string) int64 {
	if f.Task == Translation {
		return 0
	}
	words := float64(len(text)) / bytesPerWord
	usual := taskLengths[f.Task]
	secondOptions := [...]string{"\nB.", "\nB)", "\nB:", "(B)", "\nb)", "\n(b)"}
	switch {
	case len(text) <= maxSum && strings.ContainsAny(text, "0123456789") && strings.ContainsAny(text, "*+/^=×÷"):
		return sumLength
	case f.Task == Knowledge && slices.ContainsFunc(secondOptions[:], func(option string) bool { return strings.Contains(text, option) }):
		usual = lengthPrior{140, 40, 0.2} // length for a multiple-choice question
	}
	rest, length := 1.0, 0.0 // share of the prompt outside the families in familyLengths
	if f.Known > 0 && f.Task != Chat && f.Task != ToolUse && len(p.families) > 0 {
		shares := f.Skills[p.families[0].Level-1:]
		equal := (1 - f.Known) / float64(len(p.families)) // uniform component of every family's share
		for i, family := range p.families {
			if l, ok := familyLengths[family.Name]; ok && shares[i]-equal > 0.01 {
				rest -= shares[i] - equal
				length += (shares[i] - equal) * l.at(words)
			}
		}
	}
	length += max(0, rest) * usual.at(words) * (1 + demandGrowth*max(0, -f.Ease))
	return max(1, int64(math.Round(length)))
}

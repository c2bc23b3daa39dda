package route

import (
	"math"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/catalog"
	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/token"
)

// What is assumed where nothing has been observed or published.
const (
	unknownQuality  = 0.4
	typicalOutput   = 400 // tokens of an ordinary answer
	reasoningOutput = 1500
	unseenLatency   = 1500 * time.Millisecond
	unseenTokensPS  = 60.0
)

// score fills in the parts and their weighted sum. Every part is on a scale of its own that does not depend on the
// other candidates, so that taking a loser out of the field never changes the winner.
func score(c *Candidate, in Input, t *provider.Target, s State) {
	usage := ExpectedUsage(in, t)
	if t.Price != nil {
		cost := t.Price.At(in.At).Cost(usage)
		c.Price = &cost
		c.Cost = round(1 - scale(cost.Dollars(), 1e-6, 1))
	}
	c.Quality = round(quality(t))
	latency := expectedLatency(s, usage.Output)
	c.Latency = latency.Milliseconds()
	c.Speed = round(1 - scale(latency.Seconds(), 0.1, 100))
	w := weights(in)
	c.Score = round(w.quality*c.Quality + w.cost*c.Cost + w.speed*c.Speed)
}

type weighting struct{ quality, cost, speed float64 }

// weights turn the objective into parts of the score. A tenth goes to speed, so that it decides between equals.
func weights(in Input) weighting {
	switch in.Controls.Provider.Sort {
	case "price":
		return weighting{cost: 1}
	case "latency", "throughput":
		return weighting{speed: 1}
	}
	if in.Op == llm.Embed || in.Op == llm.Moderate || !IsAuto(in.Model) {
		return weighting{cost: 0.8, speed: 0.2} // the model is given: only providers differ
	}
	if in.Objective.Name == "speed" {
		return weighting{quality: 0.3, cost: 0.1, speed: 0.6}
	}
	t := in.Objective.Tradeoff
	return weighting{quality: 0.9 * t, cost: 0.9 * (1 - t), speed: 0.1}
}

// ParseObjective reads what `auto`, `auto:cost` and the like ask for, and a trade-off number that wins over them.
func ParseObjective(model, tradeoff string) (Objective, error) {
	o := Objective{Name: "auto", Tradeoff: 0.5}
	switch _, name, _ := strings.Cut(model, ":"); {
	case !IsAuto(model) || name == "":
	case name == "cost":
		o = Objective{Name: "cost", Tradeoff: 0}
	case name == "quality":
		o = Objective{Name: "quality", Tradeoff: 1}
	case name == "speed":
		o = Objective{Name: "speed", Tradeoff: 0.5}
	default:
		e := llm.Errorf(llm.InvalidRequest, "Model %q asks for an objective that does not exist. Use auto, auto:cost, auto:quality or auto:speed.", model)
		e.Param = "model"
		return o, e
	}
	if tradeoff == "" {
		return o, nil
	}
	t, err := strconv.ParseFloat(tradeoff, 64)
	if err != nil || !(t >= 0 && t <= 1) {
		e := llm.Errorf(llm.InvalidRequest, "Header x-fairlead-tradeoff must be a number from 0 (cheapest) to 1 (best), not %q.", tradeoff)
		e.Param = "x-fairlead-tradeoff"
		return o, e
	}
	return Objective{Name: "number", Tradeoff: t}, nil
}

// ExpectedUsage is what the request is expected to use at the target.
func ExpectedUsage(in Input, t *provider.Target) llm.Usage {
	u := llm.Usage{Input: InputTokens(in, t.Model)}
	if in.Op == llm.Embed || in.Op == llm.Moderate {
		return u // nothing is written
	}
	u.Output = typicalOutput
	if t.Model.Abilities.Has(llm.Reasoning) {
		u.Output = reasoningOutput
	}
	if in.MaxOutput > 0 {
		u.Output = min(u.Output, in.MaxOutput)
	}
	u.Output *= int64(max(in.Choices, 1))
	return u
}

// InputTokens estimates the prompt for a model, whose vocabulary decides how many tokens a text is. An input without its
// text has the figure that it was given.
func InputTokens(in Input, m *catalog.Model) int64 {
	if in.Text.Empty() && len(in.ImageSizes) == 0 {
		return in.InputTokens
	}
	return token.Model{Vendor: m.Vendor, Name: m.Name}.Prompt(token.Prompt{
		Text: in.Text, Messages: in.Messages, Tools: in.Needs.Has(llm.Tools), Images: in.Images, Sizes: in.ImageSizes,
	})
}

func quality(t *provider.Target) float64 {
	if t.Model.Quality <= 0 {
		return unknownQuality
	}
	return t.Model.Quality
}

func expectedLatency(s State, output int64) time.Duration {
	first, rate := s.Latency, s.TokensPS
	if first <= 0 {
		first = unseenLatency
	}
	if rate <= 0 {
		rate = unseenTokensPS
	}
	return first + time.Duration(float64(output)/rate*float64(time.Second))
}

// scale maps a positive quantity between low and high to 0..1 by its logarithm.
func scale(v, low, high float64) float64 {
	if v <= low {
		return 0
	}
	return min(1, math.Log(v/low)/math.Log(high/low))
}

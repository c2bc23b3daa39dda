package simulator

import (
	"strings"

	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/simulator/openai"
)

// Judging sets how simulated models decide when they compare two responses as a judge. The zero value is a judge without bias, for
// which all models have the same quality.
type Judging struct {
	// Difference is the mean verdict in favour of the simulated model with the higher quality, from -1 to 1.
	Difference float64
	// PositionBias is the share of pairs for which the judge prefers the first response regardless of its content.
	PositionBias float64
	// LengthBias is the share of pairs for which the judge prefers the longer response.
	LengthBias float64
	// FamilyBias is the share of pairs for which the judge prefers the response of a simulated model to the response of another model.
	FamilyBias float64
}

// simulatedTies is the maximum share of ties between two simulated models of different quality. Models of equal quality always tie.
const simulatedTies = 0.4

// verdict returns the judge's verdict if the conversation is a prompt from package judge. Otherwise it returns false.
func (q *chatRequest) verdict() (string, bool) {
	if q.judging == nil || len(q.Messages) != 2 {
		return "", false
	}
	pair, ok := judge.ReadPrompt(q.Messages[0].Content.Text, q.Messages[1].Content.Text)
	if !ok {
		return "", false
	}
	preferred := q.judging.prefer(pair, q.models)
	verdict := map[float64]string{1: "A", -1: "B", 0: "tie"}[preferred]
	return string(openai.Encode(map[string]string{"verdict": verdict, "reason": "SIMULATED verdict."})), true
}

// prefer returns 1 for the first response, -1 for the second, and 0 for a tie. The random numbers depend on the pair but
// not on its order, so the same bias applies in both orders.
func (j *Judging) prefer(p judge.Pair, models []profile) float64 {
	low, high := min(p.ResponseA, p.ResponseB), max(p.ResponseA, p.ResponseB)
	draw := &openai.Rand{State: openai.Hash(openai.Hash(openai.Hash(openai.HashSeed, p.Request), low), high)}
	position, length, family, truth := draw.Float64(), draw.Float64(), draw.Float64(), draw.Float64()
	modelA, qualityA := author(p.ResponseA, models)
	modelB, qualityB := author(p.ResponseB, models)
	switch {
	case position < j.PositionBias:
		return 1
	case length < j.LengthBias && len(p.ResponseA) != len(p.ResponseB):
		return sign(float64(len(p.ResponseA) - len(p.ResponseB)))
	case family < j.FamilyBias && (modelA == "") != (modelB == ""):
		if modelA != "" {
			return 1
		}
		return -1
	}
	for _, k := range judge.Known() {
		if k.Request == p.Request && k.First == p.ResponseA && k.Second == p.ResponseB {
			return k.Better
		}
		if k.Request == p.Request && k.First == p.ResponseB && k.Second == p.ResponseA {
			return -k.Better
		}
	}
	if modelA == "" || modelB == "" || qualityA == qualityB {
		return 0
	}
	ties := min(simulatedTies, 1-max(j.Difference, -j.Difference))
	better := sign(qualityA - qualityB)
	switch wins := (1 - ties + j.Difference) / 2; {
	case truth < wins:
		return better
	case truth < 1-ties:
		return -better
	}
	return 0
}

// author returns the simulated model that wrote a response, and its quality. The name is empty for other responses.
func author(text string, models []profile) (string, float64) {
	for _, p := range models {
		if strings.Contains(text, "(SIMULATED by "+p.name+")") {
			return p.name, p.quality
		}
	}
	return "", 0
}

func sign(f float64) float64 {
	switch {
	case f > 0:
		return 1
	case f < 0:
		return -1
	}
	return 0
}

package simulator

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strings"

	"fairlead.dev/internal/judge"
)

// Judging sets how simulated models decide when they compare two responses as a judge. The zero value is a judge without bias, for
// which all models have the same quality.
type Judging struct {
	// Difference is the mean verdict in favour of the simulated model with the higher quality, from -1 to 1.
	Difference float64
	// PositionBias is the share of pairs for which the judge prefers the first response regardless of its content.
	PositionBias float64
}

// simulatedTies is the maximum share of ties between two simulated models of different quality. Models of equal quality always tie.
const simulatedTies = 0.4

// verdict returns the judge's verdict if the conversation is a prompt from package judge. Otherwise it returns false.
func (j Judging) verdict(c *Conversation, models []profile) (string, bool) {
	pair, ok := judge.ReadPrompt(c.System, c.Prompt())
	if !ok {
		return "", false
	}
	verdict := map[int]string{1: "A", -1: "B", 0: "tie"}[j.prefer(pair, models)]
	return string(Encode(Object{"verdict": verdict, "reason": "SIMULATED verdict."})), true
}

// prefer returns 1 for the first response, -1 for the second, and 0 for a tie. The random numbers depend on the pair but not on its
// order, so the same bias applies in both orders.
func (j Judging) prefer(p judge.Pair, models []profile) int {
	hash := sha256.Sum256([]byte(strings.Join([]string{p.Request, min(p.ResponseA, p.ResponseB), max(p.ResponseA, p.ResponseB)}, "\x00")))
	draw := func(i int) float64 { return float64(binary.BigEndian.Uint32(hash[4*i:])) / math.MaxUint32 }
	if draw(0) < j.PositionBias {
		return 1
	}
	for _, k := range judge.Known() {
		if k.Request == p.Request && k.First == p.ResponseA && k.Second == p.ResponseB {
			return int(k.Better)
		}
		if k.Request == p.Request && k.First == p.ResponseB && k.Second == p.ResponseA {
			return -int(k.Better)
		}
	}
	qualityA, qualityB := qualityOf(p.ResponseA, models), qualityOf(p.ResponseB, models)
	if qualityA == 0 || qualityB == 0 {
		return 0
	}
	better := cmp.Compare(qualityA, qualityB)
	ties := min(simulatedTies, 1-math.Abs(j.Difference))
	switch truth := draw(1); {
	case truth < (1-ties+j.Difference)/2:
		return better
	case truth < 1-ties:
		return -better
	}
	return 0
}

// qualityOf returns the quality of the simulated model that wrote a response, or 0 for other responses.
func qualityOf(text string, models []profile) float64 {
	for _, p := range models {
		if strings.Contains(text, "” from "+p.name+". Connect") {
			return p.quality
		}
	}
	return 0
}

package gemini

import (
	"cmp"
	"encoding/json"
	"math"
	"strconv"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// maxStops is the maximum number of stop sequences.
const maxStops = 5

// settings encodes the generation settings. It returns an instruction in place of a setting that the model does not
// support.
func (r *renderer) settings() (instruction string, err error) {
	s := &settings{}
	if r.out.Settings != nil {
		s = r.out.Settings // media has set a resolution
	}
	s.MaxOutput = cmp.Or(r.conv.MaxOutput, r.o.MaxOutput)
	if r.conv.Choices > 1 {
		s.Candidates = r.conv.Choices
	}
	r.stops(s)
	r.sampling(s)
	s.Thinking = r.thinking()
	instruction, err = r.output(s)
	if blank, _ := encode(s); string(blank) != "{}" {
		r.out.Settings = s
	}
	return instruction, err
}

func (r *renderer) stops(s *settings) {
	for _, stop := range r.conv.Stop {
		if stop != "" && len(s.Stop) < maxStops {
			s.Stop = append(s.Stop, stop)
		} else if stop != "" {
			r.warn("only the first %d stop sequences were sent: Gemini does not support more.", maxStops)
		}
	}
}

func (r *renderer) sampling(s *settings) {
	given := r.conv.Sampling
	for _, one := range []struct {
		name  string
		value json.Number
		into  *json.Number
		takes bool
	}{
		{"temperature", given.Temperature, &s.Temperature, !r.o.FixedSampling},
		{"top_p", given.TopP, &s.TopP, !r.o.FixedSampling},
		{"top_k", given.TopK, &s.TopK, !r.o.FixedSampling},
		{"presence_penalty", given.PresencePenalty, &s.PresencePenalty, r.o.Traits.Penalties && !r.o.FixedSampling},
		{"frequency_penalty", given.FrequencyPenalty, &s.FrequencyPenalty, r.o.Traits.Penalties && !r.o.FixedSampling},
		{"seed", given.Seed, &s.Seed, smallWhole(given.Seed)},
	} {
		switch {
		case one.value == "":
		case one.takes:
			*one.into = one.value
		case one.name == "seed":
			r.warn("seed was dropped: Gemini supports 32-bit integers only.")
		case !zero(one.value) || one.name == "temperature":
			r.warn("%s was dropped: this model does not support it.", one.name)
		}
	}
	if given.Logprobs || given.TopLogprobs > 0 {
		r.leftOut("logprobs")
	}
}

// zero reports whether a setting has no effect, such as a penalty of 0.
func zero(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f == 0
}

// smallWhole reports whether a number fits the API's 32-bit seed.
func smallWhole(n json.Number) bool {
	_, err := strconv.ParseInt(string(n), 10, 32)
	return err == nil
}

// budgetOf maps a level to a thinking budget for models without levels. The values are those of Google's own
// OpenAI-compatible API.
var budgetOf = map[string]int64{"minimal": 1024, "low": 1024, "medium": 8192, "high": 24576, "xhigh": math.MaxInt64, "max": math.MaxInt64}

// ThinkingConfig encodes an effort as the thinking settings of a model. It returns nil for a model that does not think.
func ThinkingConfig(t Traits, e llm.Effort) (config []byte, warnings []string) {
	r := &renderer{conv: &llm.Conversation{Effort: e}, o: RenderOptions{Traits: t}}
	if settings := r.thinking(); settings != nil {
		config, _ = encode(settings) // always encodable
	}
	return config, r.warnings
}

// thinking encodes the thinking settings.
func (r *renderer) thinking() *thinkingConfig {
	e, can := r.conv.Effort, r.o.Traits.Thinking
	asked := e.Level != "" || e.Budget > 0 || e.Adaptive
	switch {
	case !asked:
		return nil
	case can.Most == 0:
		if e.Level != "none" {
			r.warn("the reasoning effort was dropped: this model does not think.")
		}
		return nil
	}
	config := &thinkingConfig{Show: !e.Hide && e.Level != "none"}
	switch {
	case e.Budget > 0:
		config.Budget = r.budget(e.Budget)
	case e.Level == "" && len(can.Levels) > 0: // dynamic budget
	case e.Level == "":
		dynamic := int64(-1)
		config.Budget = &dynamic
	case len(can.Levels) > 0:
		config.Level = r.level(e.Level)
	default:
		config.Budget = r.leveledBudget(e.Level)
	}
	return config
}

func (r *renderer) level(asked string) string {
	level, same := r.o.Traits.Thinking.nearest(asked)
	if !same {
		r.warn("the reasoning effort %s was sent as %s: this model does not support it.", show.Quote(asked), level)
	}
	return level
}

func (r *renderer) leveledBudget(level string) *int64 {
	if level == "none" && r.o.Traits.Thinking.Off {
		return new(int64)
	}
	if level == "none" {
		r.warn("the reasoning effort \"none\" was sent as a budget of %d tokens: this model always thinks.", r.o.Traits.Thinking.Least)
		return r.clamped(0)
	}
	budget, known := budgetOf[level]
	if !known {
		r.leftOut("the reasoning effort " + show.Quote(level))
		return nil
	}
	return r.clamped(budget)
}

func (r *renderer) budget(asked int64) *int64 {
	budget := r.clamped(asked)
	if *budget != asked {
		r.warn("the thinking budget was sent as %d tokens: this model supports no other.", *budget)
	}
	return budget
}

func (r *renderer) clamped(budget int64) *int64 {
	budget = min(max(budget, r.o.Traits.Thinking.Least), r.o.Traits.Thinking.Most)
	return &budget
}

const jsonType = "application/json"

// output requests JSON. A model that does not support JSON output together with tools gets an instruction.
func (r *renderer) output(s *settings) (instruction string, err error) {
	out := r.conv.Output
	if out.Kind == llm.OutputText {
		return "", nil
	}
	if len(r.out.Tools) > 0 && !r.o.Traits.JSONAndTools {
		r.warn("the output format was sent as an instruction: this model does not support an output format together with tools.")
		return inWords(out), nil
	}
	s.MIMEType = jsonType
	if out.Kind != llm.OutputSchema || len(out.Schema) == 0 {
		return "", nil
	}
	if r.o.Traits.JSONSchema {
		s.JSONSchema = out.Schema
		return "", nil
	}
	s.Schema, err = r.subset("response_format", out.Schema, true)
	return "", err
}

func inWords(out llm.Output) string {
	if out.Kind == llm.OutputSchema && len(out.Schema) > 0 {
		return "When you answer without calling a tool, answer with nothing but JSON that follows this JSON Schema: " + string(out.Schema)
	}
	return "When you answer without calling a tool, answer with nothing but JSON."
}

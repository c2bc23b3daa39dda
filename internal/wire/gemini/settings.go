package gemini

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// maxStops is the maximum number of stop sequences.
const maxStops = 5

// encodeSettings encodes the generation settings. It returns an instruction in place of a setting that the model does not support.
func (r *renderer) encodeSettings() (instruction string, err error) {
	s := &r.out.Settings
	s.MaxOutput = strict.WholeOf(cmp.Or(r.conv.MaxOutput, r.o.MaxOutput))
	if r.conv.Choices > 1 {
		s.Candidates = strict.WholeOf(int64(r.conv.Choices))
	}
	for _, stop := range r.conv.Stop {
		if stop != "" && len(s.Stop) < maxStops {
			s.Stop = append(s.Stop, stop)
		} else if stop != "" {
			r.warnings.Add("only the first %d stop sequences were sent: Gemini does not support more.", maxStops)
		}
	}
	r.encodeSampling(s)
	s.Thinking = r.encodeThinking()
	return r.encodeOutput(s)
}

func (r *renderer) encodeSampling(s *settings) {
	given := r.conv.Sampling
	_, invalidSeed := strconv.ParseInt(string(given.Seed), 10, 32)
	for _, one := range []struct {
		name  string
		value json.Number
		into  *jsontext.Value
		takes bool
	}{
		{"temperature", given.Temperature, &s.Temperature, !r.o.FixedSampling},
		{"top_p", given.TopP, &s.TopP, !r.o.FixedSampling},
		{"top_k", given.TopK, &s.TopK, !r.o.FixedSampling},
		{"presence_penalty", given.PresencePenalty, &s.PresencePenalty, r.o.Traits.Penalties && !r.o.FixedSampling},
		{"frequency_penalty", given.FrequencyPenalty, &s.FrequencyPenalty, r.o.Traits.Penalties && !r.o.FixedSampling},
		{"seed", given.Seed, &s.Seed, invalidSeed == nil},
	} {
		switch {
		case one.value == "":
		case one.takes:
			*one.into = jsontext.Value(one.value)
		case one.name == "seed":
			r.warnings.Add("seed was dropped: Gemini supports 32-bit integers only.")
		case !llm.IsDefaultSampling(one.name, one.value):
			r.warnings.Add("%s was dropped: this model does not support it.", one.name)
		}
	}
	if given.Logprobs || given.TopLogprobs > 0 {
		r.warnDropped("logprobs")
	}
}

// thinkingConfig encodes an effort as the thinking settings for a model. It returns nil if the effort is unset or if the model does not
// think.
func thinkingConfig(t Traits, e llm.Effort) (config jsontext.Value, warnings []string) {
	r := &renderer{conv: &llm.Conversation{Effort: e}, o: RenderOptions{Traits: t}}
	if settings := r.encodeThinking(); settings != nil {
		config, _ = encode(settings) // encoding the settings cannot fail
	}
	return config, r.warnings
}

// encodeThinking encodes the thinking settings.
func (r *renderer) encodeThinking() *thinking {
	e, can := r.conv.Effort, r.o.Traits.Thinking
	asked := e.Level != "" || e.Budget > 0 || e.Adaptive
	switch {
	case !asked:
		return nil
	case can.Most == 0:
		if e.Level != "none" {
			r.warnings.Add("the reasoning effort was dropped: this model does not think.")
		}
		return nil
	}
	config := &thinking{Show: !e.Hide && e.Level != "none"}
	switch {
	case e.Budget > 0:
		if config.Budget = r.clampBudget(e.Budget); config.Budget != strict.WholeOf(e.Budget) {
			r.warnings.Add("the thinking budget was sent as %s tokens: this model supports no other.", config.Budget)
		}
	case e.Level == "" && len(can.Levels) > 0: // without a level, the model decides how much to think
	case e.Level == "":
		config.Budget = "-1" // the model chooses
	case len(can.Levels) > 0:
		level, same := can.nearest(e.Level)
		if !same {
			r.warnings.Add("the reasoning effort %s was sent as %s: this model does not support it.", show.Quote(e.Level), level)
		}
		config.Level = level
	default: // use the same budgets as Google's own OpenAI-compatible API
		switch e.Level {
		case "none":
			if can.Off {
				config.Budget = "0"
				break
			}
			r.warnings.Add("the reasoning effort \"none\" was sent as a budget of %d tokens: this model always thinks.", can.Least)
			config.Budget = r.clampBudget(0)
		case "minimal", "low":
			config.Budget = r.clampBudget(1024)
		case "medium":
			config.Budget = r.clampBudget(8192)
		case "high":
			config.Budget = r.clampBudget(24576)
		case "xhigh", "max":
			config.Budget = r.clampBudget(can.Most)
		default:
			r.warnDropped("the reasoning effort " + show.Quote(e.Level))
		}
	}
	return config
}

func (r *renderer) clampBudget(budget int64) strict.Whole {
	return strict.WholeOf(min(max(budget, r.o.Traits.Thinking.Least), r.o.Traits.Thinking.Most))
}

const jsonType = "application/json"

// encodeOutput requests the output format of the conversation. If the model does not support JSON output together with tools, it returns
// an instruction instead.
func (r *renderer) encodeOutput(s *settings) (instruction string, err error) {
	out := r.conv.Output
	if out.Kind == llm.OutputText {
		return "", nil
	}
	if len(r.out.Tools) > 0 && !r.o.Traits.JSONAndTools {
		r.warnings.Add("the output format was sent as an instruction: this model does not support an output format together with tools.")
		instruction = "When you answer without calling a tool, answer with nothing but JSON"
		if out.Kind == llm.OutputSchema && len(out.Schema) > 0 {
			return instruction + " that follows this JSON Schema: " + string(out.Schema), nil
		}
		return instruction + ".", nil
	}
	s.MIMEType = jsonType
	if out.Kind != llm.OutputSchema || len(out.Schema) == 0 {
		return "", nil
	}
	if r.o.Traits.JSONSchema {
		s.JSONSchema = object(out.Schema)
		return "", nil
	}
	schema, err := r.encodeSchema("response_format", jsontext.Value(out.Schema), true)
	s.Schema = object(schema)
	return "", err
}

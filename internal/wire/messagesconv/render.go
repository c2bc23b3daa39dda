package messagesconv

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/show"
)

// Traits are what models of this format do unlike each other.
type Traits struct {
	Thinking        Thinking
	Efforts         []string // values of output_config.effort, the least first; for adaptive thinking
	ThinksByDefault bool     // unless disabled
	Off             string   // thinking.type that disables thinking; empty for a model that always thinks
	Schemas         bool     // takes output_config.format and strict tools
	NoForcedTools   bool     // refuses a tool_choice that forces a call
	FixedSampling   bool     // refuses temperature, top_p and top_k that are not the usual ones
	OneSampler      bool     // refuses temperature and top_p together
}

// Thinking is the way in which a model is asked to think.
type Thinking string

// The ways to ask for thinking.
const (
	NoThinking       Thinking = ""
	BudgetThinking   Thinking = "budget"   // so many tokens
	AdaptiveThinking Thinking = "adaptive" // as much as it sees fit, with an effort
)

// RenderOptions says for whom a conversation is written.
type RenderOptions struct {
	Model     string // the name that the provider knows
	Stream    bool
	MaxOutput int64  // bounds the answer of a caller who set no bound; 0 for ModelMax
	ModelMax  int64  // the most tokens that the model writes; 0 when unknown
	Signer    string // whose signatures on thinking are good here
	Traits    Traits
}

// Bounds of the format.
const (
	maxMarks       = 4    // cache_control marks
	maxStrict      = 8    // strict tools: their schemas are compiled into one grammar of bounded size
	minBudget      = 1024 // tokens of thinking
	usualMaxOutput = 4096 // used when the model's limit is unknown
	maxUser        = 256  // bytes of metadata.user_id
)

// Render writes a conversation in the messages format. The warnings report changes and dropped content. The error is an
// *llm.Error for content that cannot be expressed.
func Render(ctx context.Context, conv *llm.Conversation, o RenderOptions) (body []byte, warnings []string, err error) {
	r := renderer{ctx: ctx, conv: conv, o: o}
	if err := r.body(); err != nil {
		return nil, nil, err
	}
	if extra := r.marks - maxMarks; extra > 0 {
		r = renderer{ctx: ctx, conv: conv, o: o, unmarked: extra} // the last ones cover the longest prefixes
		if err := r.body(); err != nil {
			return nil, nil, err
		}
		r.warn("%d cache marks were left out: the provider takes %d", extra, maxMarks)
	}
	return r.w.Out, r.warnings, nil
}

// renderer writes one conversation.
type renderer struct {
	ctx  context.Context
	conv *llm.Conversation
	o    RenderOptions
	w    rawjson.Writer
	ids  callIDs

	plan     plan
	marks    int // cache marks met
	unmarked int // how many of them to leave out, the first ones
	warnings []string
}

func (r *renderer) warn(format string, args ...any) {
	if len(r.warnings) == show.MaxWarnings {
		return
	}
	if warning := fmt.Sprintf(format, args...); !slices.Contains(r.warnings, warning) {
		r.warnings = append(r.warnings, warning)
	}
}

func (r *renderer) body() error {
	system, turns := r.conv.Turns()
	r.decide(turns)
	w := &r.w
	w.Open()
	w.Str("model", r.o.Model)
	w.Int("max_tokens", r.plan.maxTokens)
	if r.o.Stream {
		w.Bool("stream", true)
	}
	r.tools()
	r.toolChoice()
	if len(turns) == 0 {
		r.warn("the instructions were sent as the user's message: the provider needs one")
		turns, system = []llm.Message{{Role: llm.User, Parts: system}}, nil
	}
	if err := r.system(system); err != nil {
		return err
	}
	if err := r.messages(turns); err != nil {
		return err
	}
	r.thinking()
	r.outputConfig()
	r.stops()
	r.sampling()
	r.account()
	r.warnDroppedFields()
	w.Close()
	return nil
}

// system writes the instructions, and behind them what the format can only be asked for in words.
func (r *renderer) system(parts []llm.Part) error {
	if r.plan.instruction != "" {
		parts = append(slices.Clip(parts), llm.Part{Kind: llm.TextPart, Text: r.plan.instruction})
	}
	if len(parts) == 0 {
		return nil
	}
	list := rawjson.Writer{}
	for _, part := range parts {
		if part.Kind != llm.TextPart {
			r.warn("a part of the instructions that is no text was left out")
			continue
		}
		if err := r.part(&list, part); err != nil {
			return err
		}
	}
	if len(list.Out) > 0 {
		r.w.OpenList("system")
		r.w.Out = append(r.w.Out, list.Out...)
		r.w.CloseList()
	}
	return nil
}

func (r *renderer) stops() {
	var stops []string
	for _, stop := range r.conv.Stop {
		if strings.TrimSpace(stop) == "" {
			r.warn("a stop text of white space was left out: the provider refuses it")
			continue
		}
		stops = append(stops, stop)
	}
	if len(stops) == 0 {
		return
	}
	r.w.OpenList("stop_sequences")
	for _, stop := range stops {
		r.w.Element(rawjson.AppendString(nil, stop))
	}
	r.w.CloseList()
}

func (r *renderer) account() {
	if user := r.conv.EndUser; user != "" {
		if len(user) > maxUser {
			r.warn("the end user's name was cut to %d bytes", maxUser)
		}
		r.w.Key("metadata")
		r.w.Open()
		r.w.Str("user_id", show.Cut(user, maxUser))
		r.w.Close()
	}
	switch tier := r.conv.ServiceTier; tier {
	case "":
	case "auto", "standard_only":
		r.w.Str("service_tier", tier)
	case "default":
		r.w.Str("service_tier", "standard_only")
	default:
		r.warn("service_tier %s was left out: the provider has no such tier", show.Quote(tier))
	}
}

// sampling writes the settings of chance that the model takes in its state.
func (r *renderer) sampling() {
	s, t := r.conv.Sampling, r.o.Traits
	temperature, topP, topK := s.Temperature, s.TopP, s.TopK
	if value, ok := parseNumber(temperature); ok && value > 1 {
		r.warn("temperature was set to 1: the provider takes no more")
		temperature = "1"
	}
	thinks := r.plan.thinks()
	lowest := 0.0
	switch {
	case t.FixedSampling:
		lowest = 0.99
	case thinks:
		lowest = 0.95
	}
	if lowest > 0 {
		why := "takes no sampling settings"
		if !t.FixedSampling {
			why = "takes none while it thinks"
		}
		r.drop(&temperature, "temperature", 1, why)
		r.drop(&topP, "top_p", lowest, why)
		r.drop(&topK, "top_k", 2, why) // no value is the usual one
	}
	if t.OneSampler && temperature != "" && topP != "" {
		r.warn("top_p was left out: the model takes no top_p beside temperature")
		topP = ""
	}
	for _, setting := range []struct {
		name  string
		value json.Number
	}{{"temperature", temperature}, {"top_p", topP}, {"top_k", topK}} {
		if _, ok := parseNumber(setting.value); ok {
			r.w.Raw(setting.name, []byte(setting.value))
		}
	}
}

// drop empties a setting that lies below what the model takes; at most 1 counts.
func (r *renderer) drop(value *json.Number, name string, lowest float64, why string) {
	if f, ok := parseNumber(*value); ok && (f < lowest || f > 1) {
		*value = ""
		r.warn("%s was left out: the model %s", name, why)
	}
}

func parseNumber(n json.Number) (float64, bool) {
	f, err := strconv.ParseFloat(string(n), 64)
	return f, err == nil && json.Valid([]byte(n))
}

// warnDroppedFields warns of what the format has no place for.
func (r *renderer) warnDroppedFields() {
	s := r.conv.Sampling
	for _, setting := range []struct {
		name  string
		given bool
	}{
		{"n", r.conv.Choices > 1},
		{"seed", s.Seed != ""},
		{"frequency_penalty", s.FrequencyPenalty != ""},
		{"presence_penalty", s.PresencePenalty != ""},
		{"logprobs", s.Logprobs || s.TopLogprobs > 0},
		{"verbosity", r.conv.Verbosity != ""},
	} {
		if setting.given {
			r.warnDropped(setting.name)
		}
	}
	for _, name := range r.conv.Dropped {
		r.warnDropped(show.Cut(show.OneLine(name), 80))
	}
}

func (r *renderer) warnDropped(name string) {
	r.warn("%s was left out: the messages format has no place for it", name)
}

package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// Traits describes how a model differs from other models of the format.
type Traits struct {
	Thinking        Thinking
	Efforts         []string // values of output_config.effort for adaptive thinking, lowest first
	ThinksByDefault bool     // whether the model thinks unless thinking is disabled
	Off             string   // thinking.type that disables thinking; empty for a model that always thinks
	Schemas         bool     // whether the model supports output_config.format and strict tools
	NoForcedTools   bool     // whether the model rejects a tool_choice that forces a call
	FixedSampling   bool     // whether the model rejects temperature, top_p and top_k unless they have the default value
	OneSampler      bool     // whether the model rejects temperature and top_p together
}

// Thinking describes how thinking is requested from a model.
type Thinking string

// Values of Thinking.
const (
	NoThinking       Thinking = ""
	BudgetThinking   Thinking = "budget"   // the request sets a token budget
	AdaptiveThinking Thinking = "adaptive" // the model decides how much to think; the request sets an effort level
)

// RenderOptions holds the settings for encoding a conversation.
type RenderOptions struct {
	Model     string // provider's model name
	Stream    bool
	MaxOutput int64  // output limit for a request without one; 0 for ModelMax
	ModelMax  int64  // the model's output limit; 0 when unknown
	Signer    string // name under which the target's thinking signatures are recorded
	Search    bool   // whether the provider can search the web
	Traits    Traits
}

// Limits of the format.
const (
	maxMarks       = 4    // maximum number of cache_control marks
	maxStrict      = 8    // maximum number of strict tools; the provider compiles their schemas into one grammar of limited size
	usualMaxOutput = 4096 // output limit to send if no other limit is known
	maxUser        = 256  // maximum length of metadata.user_id in bytes
)

// Render encodes a conversation in the messages format. The warnings describe changes and dropped content. The error is
// an *llm.Error for content that cannot be expressed.
func Render(ctx context.Context, conv *llm.Conversation, o RenderOptions) (body []byte, warnings []string, err error) {
	r := renderer{ctx: ctx, conv: conv, o: o}
	if err := r.body(); err != nil {
		return nil, nil, err
	}
	if extra := r.marks - maxMarks; extra > 0 {
		r = renderer{ctx: ctx, conv: conv, o: o, unmarked: extra} // keep the last marks, which cover the longest prefixes
		if err := r.body(); err != nil {
			return nil, nil, err
		}
		r.warn("%d cache markers were dropped: the provider supports %d", extra, maxMarks)
	}
	return r.w.Out, r.warnings, nil
}

// renderer encodes one conversation.
type renderer struct {
	ctx  context.Context
	conv *llm.Conversation
	o    RenderOptions
	w    rawjson.Writer
	ids  callIDs

	plan     plan
	marks    int // number of cache marks encoded or dropped so far
	unmarked int // number of cache marks to drop, starting with the first
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
	turns = r.sendable(turns)
	r.plan.maxTokens = cmp.Or(r.conv.MaxOutput, r.o.MaxOutput, r.o.ModelMax, usualMaxOutput)
	if most := r.o.ModelMax; most > 0 && r.plan.maxTokens > most {
		r.warn("max_tokens was set to %d, the maximum of the model", most)
		r.plan.maxTokens = most
	}
	r.planTools()
	r.planOutput()
	r.planForce()
	r.planThinking(turns)
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
		r.warn("the instructions were sent as a user message: the provider requires one")
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

// system encodes the client's instructions, followed by the instruction of the plan.
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
			r.warn("an instruction part that is not text was dropped")
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
			r.warn("a stop sequence of white space was dropped: the provider rejects it")
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
			r.warn("the end user's name was truncated to %d bytes", maxUser)
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
		r.warn("service_tier %s was dropped: the provider does not support it", show.Quote(tier))
	}
}

// sampling encodes the sampling settings that the model supports.
func (r *renderer) sampling() {
	s, t := r.conv.Sampling, r.o.Traits
	temperature, topP, topK := s.Temperature, s.TopP, s.TopK
	if value, ok := parseNumber(temperature); ok && value > 1 {
		r.warn("temperature was set to 1, the maximum of the provider")
		temperature = "1"
	}
	lowest := 0.0
	switch {
	case t.FixedSampling:
		lowest = 0.99
	case r.plan.thinking == enabled || r.plan.thinking == adaptive:
		lowest = 0.95
	}
	if lowest > 0 {
		why := "does not support sampling settings"
		if !t.FixedSampling {
			why = "does not support it while thinking"
		}
		r.drop(&temperature, "temperature", 1, why)
		r.drop(&topP, "top_p", lowest, why)
		r.drop(&topK, "top_k", 2, why) // removes every value, because every value is below 2 or above 1
	}
	if t.OneSampler && temperature != "" && topP != "" {
		if !llm.IsDefaultSampling("top_p", topP) {
			r.warn("top_p was dropped: the model does not support it together with temperature")
		}
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

// drop removes a setting whose value is below lowest or above 1, because the model does not support such values. The warning gives why as
// the reason.
func (r *renderer) drop(value *json.Number, name string, lowest float64, why string) {
	if f, ok := parseNumber(*value); ok && (f < lowest || f > 1) {
		*value = ""
		r.warn("%s was dropped: the model %s", name, why)
	}
}

func parseNumber(n json.Number) (float64, bool) {
	f, err := strconv.ParseFloat(string(n), 64)
	return f, err == nil && json.Valid([]byte(n))
}

// warnDroppedFields warns about fields that the format cannot express.
func (r *renderer) warnDroppedFields() {
	s := r.conv.Sampling
	for _, setting := range []struct {
		name  string
		given bool
	}{
		{"n", r.conv.Choices > 1},
		{"seed", s.Seed != ""},
		{"frequency_penalty", s.FrequencyPenalty != "" && !llm.IsDefaultSampling("frequency_penalty", s.FrequencyPenalty)},
		{"presence_penalty", s.PresencePenalty != "" && !llm.IsDefaultSampling("presence_penalty", s.PresencePenalty)},
		{"logprobs", s.Logprobs || s.TopLogprobs > 0},
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
	r.warn("%s was dropped: the messages format does not support it", name)
}

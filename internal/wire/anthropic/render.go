package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
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
	r := renderer{ctx: ctx, conv: conv, o: o, choice: conv.ToolChoice}
	if err := r.render(); err != nil {
		return nil, nil, err
	}
	body, err = encode(r.out)
	return body, r.warnings, err
}

// renderer encodes one conversation.
type renderer struct {
	ctx  context.Context
	conv *llm.Conversation
	o    RenderOptions
	out  request
	ids  callIDs

	tools       []llm.Tool     // tools to send
	choice      llm.ToolChoice // choice to send
	schemaTool  string         // name of the tool whose input is the response; empty for none
	instruction string         // requirements that are sent as an instruction, because the format or the model cannot express them

	marks    []*cacheControl // marks of the definitions and the blocks, in order
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

func (r *renderer) warnDropped(name string) {
	r.warn("%s was dropped: the messages format does not support it", name)
}

func (r *renderer) render() error {
	system, turns := r.conv.Turns()
	turns = r.sendable(turns)
	maxTokens := cmp.Or(r.conv.MaxOutput, r.o.MaxOutput, r.o.ModelMax, usualMaxOutput)
	if most := r.o.ModelMax; most > 0 && maxTokens > most {
		r.warn("max_tokens was set to %d, the maximum of the model", most)
		maxTokens = most
	}
	r.out.Model, r.out.Stream, r.out.MaxTokens = strict.Name(r.o.Model), r.o.Stream, strict.WholeOf(maxTokens)
	r.planTools()
	r.planOutput()
	r.planForce()
	r.planThinking(turns, maxTokens)
	r.addTools()
	r.addToolChoice()
	if len(turns) == 0 {
		r.warn("the instructions were sent as a user message: the provider requires one")
		turns, system = []llm.Message{{Role: llm.User, Parts: system}}, nil
	}
	if err := r.addSystem(system); err != nil {
		return err
	}
	if err := r.addMessages(turns); err != nil {
		return err
	}
	r.dropMarks()
	r.addStops()
	r.addSampling()
	r.addAccount()
	r.warnDroppedFields()
	return nil
}

// addSystem adds the client's instructions, followed by the instruction of the plan.
func (r *renderer) addSystem(parts []llm.Part) error {
	if r.instruction != "" {
		parts = append(slices.Clip(parts), llm.Part{Kind: llm.TextPart, Text: r.instruction})
	}
	for i := range parts {
		if parts[i].Kind != llm.TextPart {
			r.warn("an instruction part that is not text was dropped")
			continue
		}
		if err := r.addPart(&r.out.System.list, &parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// mark returns a cache mark.
func (r *renderer) mark(c *llm.CacheMark) *cacheControl {
	if c == nil {
		return nil
	}
	mark := &cacheControl{Type: "ephemeral", TTL: c.TTL}
	r.marks = append(r.marks, mark)
	return mark
}

// dropMarks removes the first cache marks if there are too many. The last ones cover the longest prefixes.
func (r *renderer) dropMarks() {
	extra := len(r.marks) - maxMarks
	if extra <= 0 {
		return
	}
	for _, mark := range r.marks[:extra] {
		*mark = cacheControl{}
	}
	r.warn("%d cache markers were dropped: the provider supports %d", extra, maxMarks)
}

func (r *renderer) addStops() {
	for _, stop := range r.conv.Stop {
		if strings.TrimSpace(stop) == "" {
			r.warn("a stop sequence of white space was dropped: the provider rejects it")
			continue
		}
		r.out.StopSequences = append(r.out.StopSequences, stop)
	}
}

func (r *renderer) addAccount() {
	if user := r.conv.EndUser; user != "" {
		if len(user) > maxUser {
			r.warn("the end user's name was truncated to %d bytes", maxUser)
		}
		r.out.Metadata = &metadata{UserID: strict.Label(show.Cut(user, maxUser))}
	}
	switch tier := r.conv.ServiceTier; tier {
	case "", "auto", "standard_only":
		r.out.ServiceTier = strict.Label(tier)
	case "default":
		r.out.ServiceTier = "standard_only"
	default:
		r.warn("service_tier %s was dropped: the provider does not support it", show.Quote(tier))
	}
}

// addSampling adds the sampling settings that the model supports.
func (r *renderer) addSampling() {
	s, t := r.conv.Sampling, r.o.Traits
	temperature, topP, topK := s.Temperature, s.TopP, s.TopK
	if value, ok := parseNumber(temperature); ok && value > 1 {
		r.warn("temperature was set to 1, the maximum of the provider")
		temperature = "1"
	}
	lowest, why := 0.0, ""
	switch thinks := r.out.Thinking; {
	case t.FixedSampling:
		lowest, why = 0.99, "does not support sampling settings"
	case thinks != nil && (thinks.Type == enabled || thinks.Type == adaptive):
		lowest, why = 0.95, "does not support it while thinking"
	}
	if lowest > 0 {
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
	r.out.Temperature, r.out.TopP, r.out.TopK = validNumber(temperature), validNumber(topP), validNumber(topK)
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

// validNumber returns a number, or an empty string if it is not valid JSON.
func validNumber(n json.Number) strict.Number {
	if _, ok := parseNumber(n); !ok {
		return ""
	}
	return strict.Number(n)
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

const (
	askForJSON   = "Answer with one JSON object and nothing else: no text around it and no code fence."
	askForSchema = "Answer with JSON that matches this JSON schema, and nothing else: no text around it and no code fence.\n"
)

// planOutput decides how the output format is requested.
func (r *renderer) planOutput() {
	out := r.conv.Output
	switch {
	case out.Kind == llm.OutputText:
	case out.Kind == llm.OutputJSON || len(out.Schema) == 0:
		r.instruction = askForJSON
	case r.o.Traits.Schemas:
		r.out.OutputConfig = &outputConfig{Format: &outputFormat{Type: "json_schema", Schema: r.narrowSchema(out.Schema, "the response schema")}}
		if out.Description != "" {
			r.warn("the description of the response schema was dropped")
		}
	default:
		r.schemaTool = SchemaTool(r.conv, r.o.Traits)
		if r.schemaTool == "" && r.choice.Mode != llm.ChoiceMust {
			r.instruction = askForSchema + string(out.Schema)
			r.warn("the response schema was sent as an instruction: the model cannot enforce it")
		}
	}
}

// SchemaTool returns the name of the tool whose input is the response. Such a tool is sent to models that can enforce a schema only for
// the input of a tool. SchemaTool returns an empty string if the request does not need the tool, or if the schema is not the schema of an
// object. Deltas needs the same name.
func SchemaTool(conv *llm.Conversation, t Traits) string {
	wanted := conv.Output.Kind == llm.OutputSchema && len(conv.Output.Schema) > 0 && !t.Schemas && !t.NoForcedTools
	// If the client forces one of its tools, the response is a tool call, so the response schema does not apply.
	forced := conv.ToolChoice.Mode == llm.ChoiceMust && len(conv.Tools) > 0
	var root struct {
		Type jsontext.Value `json:"type"`
	}
	if !wanted || forced || upstream.Decode(conv.Output.Schema, &root) != nil || root.Type != nil && upstream.Text(root.Type) != "object" {
		return "" // the input of a tool must be an object
	}
	taken := make(map[string]bool, len(conv.Tools))
	for _, tool := range conv.Tools {
		taken[tool.Name] = true
	}
	name := "answer_in_json"
	for taken[name] {
		name += "_"
	}
	return name
}

// planForce decides how a tool call is forced.
func (r *renderer) planForce() {
	switch {
	case r.schemaTool != "" && (len(r.conv.Tools) == 0 || r.choice.Mode == llm.ChoiceNone):
		r.choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{r.schemaTool}}
	case r.schemaTool != "":
		r.choice = llm.ToolChoice{Mode: llm.ChoiceMust} // the model must call one of the client's tools or the schema tool
	case r.choice.Mode == llm.ChoiceMust && r.o.Traits.NoForcedTools:
		r.warn("tool_choice was sent as an instruction: the model cannot be forced to call a tool")
		if r.instruction != "" {
			r.instruction += "\n\n"
		}
		if len(r.choice.Names) == 0 {
			r.instruction += "You must call at least one of the tools in this turn. Do not answer without a tool call."
		} else {
			r.instruction += "You must call the tool " + r.choice.Names[0] + " in this turn. Do not answer without calling it."
		}
		r.choice = llm.ToolChoice{Mode: llm.ChoiceAuto}
	}
}

// Values of thinking.type. The value that disables thinking depends on the model.
const (
	enabled  = "enabled"
	adaptive = "adaptive"
)

// planThinking decides whether and how thinking is requested. A forced tool call disables thinking, unless the model always thinks. Thinking
// with a budget is also disabled if earlier thinking of the turn is missing, because the provider would reject the request.
func (r *renderer) planThinking(turns []llm.Message, maxTokens int64) {
	e, t := r.conv.Effort, r.o.Traits
	wanted := e.Adaptive || e.Budget > 0 || e.Level != "" && e.Level != "none"
	forced := r.choice.Mode == llm.ChoiceMust
	always := t.ThinksByDefault && t.Off == ""
	const off = "thinking was disabled: the provider cannot force a call on a thinking model"
	switch {
	case e.Level == "none" && always:
		r.warn("thinking was not disabled: the model always thinks")
		if len(t.Efforts) > 0 {
			r.setEffort(t.Efforts[0])
		}
	case t.ThinksByDefault && !always && (forced || e.Level == "none"):
		r.out.Thinking = &thinking{Type: t.Off}
		if wanted {
			r.warn(off)
		}
	case !wanted:
	case t.Thinking == NoThinking:
		r.warn("reasoning settings were dropped: the model does not think")
	case forced && !always:
		r.warn(off)
	case t.Thinking == AdaptiveThinking:
		r.out.Thinking = &thinking{Type: adaptive, Display: "summarized"} // newer models return thinking only on request
		if e.Hide {
			r.out.Thinking.Display = "omitted"
		}
		r.setEffort(r.level(e))
	default:
		r.planBudget(e, turns, maxTokens)
	}
}

func (r *renderer) setEffort(level string) {
	switch {
	case level == "":
	case r.out.OutputConfig == nil:
		r.out.OutputConfig = &outputConfig{Effort: level}
	default:
		r.out.OutputConfig.Effort = level
	}
}

// level returns the requested level, or the nearest one that the model supports.
func (r *renderer) level(e llm.Effort) string {
	if e.Budget > 0 {
		r.warn("the thinking budget was dropped: the model decides how much it thinks")
	}
	supported := r.o.Traits.Efforts
	if e.Level == "" || len(supported) == 0 {
		return ""
	}
	level := llm.NearestEffort(e.Level, supported)
	if !slices.Contains(supported, level) {
		level = supported[0]
	}
	if level != e.Level {
		r.warn("effort %s was sent as %s: the model does not support it", show.Quote(e.Level), level)
	}
	return level
}

// planBudget requests thinking with a budget, which is part of max_tokens.
func (r *renderer) planBudget(e llm.Effort, turns []llm.Message, maxTokens int64) {
	last := len(turns) - 1
	budget := e.ThinkingBudget(maxTokens)
	switch {
	case budget == 0:
		r.warn("thinking was disabled: it needs more than %d output tokens", llm.MinThinkingBudget)
		return
	case last >= 0 && turns[last].Role == llm.Assistant:
		r.warn("thinking was disabled: the provider does not support it when the conversation ends with an assistant message")
		return
	case r.lacksThinking(turns):
		r.warn("thinking was disabled: the thinking before the last tool call is missing or was signed by another provider")
		return
	}
	r.out.Thinking = &thinking{Type: enabled, BudgetTokens: strict.WholeOf(budget)}
	if e.Budget > 0 && budget != e.Budget {
		r.warn("the thinking budget was set to %d: it must be at least %d and less than max_tokens", budget, llm.MinThinkingBudget)
	}
}

// lacksThinking reports whether the last turn has tool results and the turn before has no thinking signed by the provider. The
// provider rejects such turns when thinking is enabled.
func (r *renderer) lacksThinking(turns []llm.Message) bool {
	last := len(turns) - 1
	if last < 1 || !slices.ContainsFunc(turns[last].Parts, func(p llm.Part) bool { return p.Kind == llm.ResultPart }) {
		return false
	}
	return !slices.ContainsFunc(turns[last-1].Parts, r.isSignedThinking)
}

// isSignedThinking reports whether a part is thinking that was signed by the provider.
func (r *renderer) isSignedThinking(p llm.Part) bool {
	return p.Kind == llm.ThinkingPart && p.Thinking.Provider == r.o.Signer && (p.Thinking.Signature != "" || p.Thinking.Redacted != "")
}

package openai

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
)

const maxDimension = 1 << 20

// DecodeRequest validates a request strictly and returns its properties and its conversation. It rejects bodies that two parsers may read
// differently. It checks the types of the fields that routing, limits and pricing need. The provider checks all other fields.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	req := &llm.Request{Op: op, Payload: llm.Payload{Format: Name}, ResponseOptions: llm.ResponseOptions{Choices: 1}}
	decode := decodeChat
	switch op {
	case llm.Embed:
		decode = decodeEmbed
	case llm.Complete:
		decode = decodePrompt
	case llm.Moderate:
		decode = decodeModeration
	default:
	}
	if err := decode(ctx, body, req); err != nil {
		return nil, err
	}
	return req, nil
}

func decodeChat(ctx context.Context, body []byte, req *llm.Request) error {
	// Every message has a role, so the number of roles is the capacity that the list of messages needs.
	r := chatRequest{Messages: make(messages, 0, min(bytes.Count(body, []byte(`"role"`)), strict.MaxMessages))}
	doc, err := strict.Decode(ctx, body, &r, strict.Rules{Lenient: isLenient, Messages: "messages"})
	if err != nil {
		return err
	}
	doc.RejectUnknownLookAlikes(&r)
	readAccount(doc, req, &r.Controls, &r.account)
	doc.Require("messages", doc.Given("messages"), "Send a list with at least one message.")
	if len(r.Messages) == 0 && doc.Given("messages") && !doc.HasProblem("messages") {
		doc.Problem("messages", "messages is empty. Send at least one message.")
	}
	readGeneration(doc, req, r.Stream, r.StreamOptions, r.N)
	maxTokens := doc.Int("max_tokens", r.MaxTokens, 1, strict.MaxTokens)
	maxCompletion := doc.Int("max_completion_tokens", r.MaxCompletion, 1, strict.MaxTokens)
	if maxTokens > 0 && maxCompletion > 0 && maxTokens != maxCompletion {
		doc.Problem("max_tokens", "max_tokens is %d and max_completion_tokens is %d. Send one of them, or the same number in both.", maxTokens, maxCompletion)
	}
	req.MaxOutput = max(maxTokens, maxCompletion)
	req.Stores = string(r.Store) == "true"
	if slices.Contains(r.Modalities, "audio") {
		req.Needs |= llm.AudioOut
	}
	if f := r.ResponseFormat; f != nil {
		doc.RejectLookAlikes("response_format.", f.Unknown, *f)
	}
	b := builder{doc: doc, req: req, conv: &llm.Conversation{
		Choices: req.Choices, MaxOutput: req.MaxOutput, EndUser: req.EndUser, ServiceTier: req.ServiceTier,
	}}
	b.addSettings(&r)
	b.addMessages(r.Messages)
	b.addUnknown(&r)
	if err := doc.Finish(req, b.conv); err != nil {
		return err
	}
	req.Plain = req.Plain && !bytes.Contains(doc.Raw("tool_choice"), []byte(`"custom"`))
	return nil
}

// isLenient reports whether only a translation needs the field to have the declared type.
func isLenient(param string) bool {
	name := param[:strings.IndexAny(param+".", ".[")]
	switch name {
	case "messages":
		return strings.Contains(param, "].")
	case "response_format":
		return param != name && param != "response_format.type"
	case "model", "models", "provider", "session_id", "service_tier", "user", "safety_identifier", "metadata",
		"stream", "stream_options", "n", "max_tokens", "max_completion_tokens", "parallel_tool_calls", "reasoning_effort":
		return false
	default:
		return param != name || !slices.Contains([]string{"tools", "functions", "modalities"}, name)
	}
}

// readAccount reads the members that all operations share.
func readAccount(doc *strict.Document, req *llm.Request, controls *strict.Controls, a *account) {
	controls.Apply(doc, req)
	if req.Op == llm.Moderate && !doc.Given("model") {
		req.Model = "auto" // OpenAI's API does not require a model for moderations
	}
	doc.Require("model", req.Model != "", `Name a model, or send "auto" to have one chosen.`)
	req.EndUser, req.Metadata = cmp.Or(string(a.User), string(a.SafetyIdentifier)), a.Metadata
	for _, f := range doc.Fields {
		if isSampling(f.Name, req.Op) && doc.Given(f.Name) {
			req.Sampling = append(req.Sampling, f.Name)
		}
	}
}

// isSampling reports whether some models reject the field. Only the provider validates its value.
func isSampling(name string, op llm.Op) bool {
	switch name {
	case "temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs":
		return op == llm.Chat || op == llm.Complete
	case "top_logprobs":
		return op == llm.Chat
	}
	return false
}

// readGeneration reads the members that chat and legacy completions share.
func readGeneration(doc *strict.Document, req *llm.Request, stream bool, options *streamOptions, n strict.Whole) {
	req.Stream = stream
	if options != nil {
		req.IncludeUsage = options.IncludeUsage
		doc.RejectLookAlikes("stream_options.", options.Unknown, *options)
	}
	if req.Choices = int(max(doc.Int("n", n, 1, maxChoices), 1)); req.Choices > 1 {
		req.Needs |= llm.ManyChoices
	}
}

// untranslated lists the fields of a chat request that a conversation cannot represent.
var untranslated = []string{"logit_bias", "modalities", "plugins", "prediction", "search_parameters"}

// addUnknown records the members that a conversation cannot represent. Their text counts towards the prompt, because a provider may add it.
func (b *builder) addUnknown(r *chatRequest) {
	unknown := slices.Collect(b.doc.UnknownFields(r))
	for _, f := range b.doc.Fields {
		raw := b.doc.Body[f.Value:f.End]
		if raw[0] == 'n' || !slices.Contains(unknown, f) && !slices.Contains(untranslated, f.Name) ||
			f.Name == "modalities" && string(raw) == `["text"]` { // the default
			continue
		}
		b.conv.DropField(f.Name)
		if f.Name == "modalities" {
			continue
		}
		text := b.req.CountJSON(raw)
		b.req.ExtraBytes += text
		switch f.Name {
		case "prediction":
			b.req.Predicted += text
		case "search_parameters", "plugins": // tools that the provider runs
			b.req.Hosted = true
		}
	}
}

// addSettings adds everything except the messages to the conversation.
func (b *builder) addSettings(r *chatRequest) {
	c := b.conv
	b.addTools(r)
	b.addToolChoice(r)
	c.ParallelTools = r.ParallelTools
	b.addOutput(r.ResponseFormat)
	if r.Stop.IsString {
		c.Stop = []string{r.Stop.String}
	} else if r.Stop.Other != nil {
		c.Stop = *r.Stop.Other
	}
	c.Verbosity = r.Verbosity
	b.addEffort(r)
	topLogprobs, _ := strconv.Atoi(string(r.TopLogprobs)) // 0 if it is not a whole number
	c.Sampling = llm.Sampling{
		Temperature: number(r.Temperature), TopP: number(r.TopP), TopK: number(r.TopK), FrequencyPenalty: number(r.Frequency),
		PresencePenalty: number(r.Presence), Seed: number(r.Seed), Logprobs: r.Logprobs, TopLogprobs: topLogprobs,
	}
}

func (b *builder) addEffort(r *chatRequest) {
	e := &b.conv.Effort
	e.Level = r.Effort
	// setThinking disables thinking, or lets the model decide how much to think if the request has no level and no budget.
	setThinking := func(on bool) {
		switch {
		case !on:
			e.Level = "none"
		case e.Level == "" && e.Budget == 0:
			e.Adaptive = true
		}
	}
	if m := r.Reasoning; m != nil {
		e.Level = cmp.Or(m.Effort, e.Level)
		e.Budget = b.doc.Int("reasoning.max_tokens", m.MaxTokens, 1, strict.MaxTokens)
		if m.Enabled != nil {
			setThinking(*m.Enabled)
		}
		e.Hide = m.Exclude != nil && *m.Exclude
	}
	if m := r.Thinking; m != nil {
		e.Budget = max(e.Budget, b.doc.Int("thinking.budget_tokens", m.BudgetTokens, 1, strict.MaxTokens))
		switch m.Type {
		case "disabled":
			setThinking(false)
		case "adaptive", "auto":
			e.Adaptive = true
		case "enabled":
			setThinking(true)
		}
		e.Hide = e.Hide || m.Display == "omitted"
	}
	e.Level = strings.Clone(e.Level) // the log keeps the level, but must not keep the body
}

func (b *builder) addOutput(f *responseFormat) {
	if f == nil {
		return
	}
	out := &b.conv.Output
	switch f.Type {
	case "", "text":
	case "json_object":
		out.Kind = llm.OutputJSON
	case "json_schema":
		s := cmp.Or(f.JSONSchema, &jsonSchema{})
		*out = llm.Output{Kind: llm.OutputSchema, Name: s.Name, Description: s.Description, Schema: rawOf(s.Schema), Strict: s.Strict}
	default:
		b.conv.DropField("response_format")
	}
}

package openai

import (
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/validate"
)

type field = validate.Field[decoder]

// maxPromptTokens is the maximum value of max_tokens in legacy completions. The output limit of such a request is max_tokens multiplied by
// the number of prompts and completions.
const maxPromptTokens = 1 << 31

func requestOf(d *decoder) *llm.Request { return d.req }

var (
	commonFields = slices.Concat(validate.Controls(requestOf), []field{
		validate.Metadata(requestOf),
		validate.Label("user", func(d *decoder, s string) { d.endUser = s }),
		validate.Label("safety_identifier", func(d *decoder, s string) { d.safetyIdentifier = s }),
	})

	// generationFields lists the fields that chat and legacy completions share.
	generationFields = slices.Concat(commonFields, sampled("temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias"), []field{
		validate.Bool("stream", func(d *decoder, b bool) { d.req.Stream = b }),
		validate.Nested("stream_options", validate.NewObject(
			validate.Bool("include_usage", func(r *llm.Request, b bool) { r.IncludeUsage = b }),
		), requestOf),
		validate.Int("n", 1, maxChoices, func(d *decoder, n int64) {
			d.req.Choices = int(n)
			d.need(n > 1, llm.ManyChoices)
		}),
	})

	chatFields = validate.NewObject(slices.Concat(generationFields, sampled("top_logprobs"), []field{
		{Name: "messages", Read: func(_ *validate.Reader, _ string, d *decoder) { d.messageList() }},
		validate.Int("max_tokens", 1, validate.MaxTokens, func(d *decoder, n int64) { d.maxTokens = n }),
		validate.Int("max_completion_tokens", 1, validate.MaxTokens, func(d *decoder, n int64) { d.maxCompletion = n }),
		{Name: "tools", Read: func(_ *validate.Reader, name string, d *decoder) { d.tools(name) }},
		{Name: "functions", Read: func(_ *validate.Reader, name string, d *decoder) { d.tools(name) }},
		{Name: "web_search_options", Read: func(r *validate.Reader, name string, d *decoder) {
			hostedTool(r, name, d)
			d.need(r.Kind() != 'n', llm.WebSearch) // only some models can search the web
		}},
		{Name: "search_parameters", Read: hostedTool},
		{Name: "plugins", Read: hostedTool},
		{Name: "prediction", Read: func(_ *validate.Reader, _ string, d *decoder) { d.req.Predicted += d.countExtra() }},
		validate.Bool("parallel_tool_calls", func(d *decoder, b bool) { d.need(b, llm.ParallelTools) }),
		{Name: "response_format", Read: func(_ *validate.Reader, _ string, d *decoder) { d.responseFormat() }},
		{Name: "modalities", Read: func(r *validate.Reader, name string, d *decoder) {
			if !r.Is('[', name, "a list of strings") {
				return
			}
			for range r.Elements {
				if r.Kind() == '"' {
					d.need(string(r.Unquote(r.ReadString())) == "audio", llm.AudioOut)
				}
			}
		}},
		validate.Text("reasoning_effort", func(d *decoder, s string) {
			d.req.Effort = s
			d.need(llm.Reasons(s), llm.Reasoning)
		}),
		{Name: "reasoning", Read: func(_ *validate.Reader, _ string, d *decoder) { d.reasoning() }},
		{Name: "thinking", Read: func(_ *validate.Reader, _ string, d *decoder) { d.reasoning() }},
		{Name: "store", Read: func(r *validate.Reader, _ string, d *decoder) { d.req.Stores = r.Kind() == 't' }},
		{Name: "logprobs", Read: func(_ *validate.Reader, name string, d *decoder) {
			d.need(d.Kind() == 't', llm.Logprobs)
			d.sampling(name)
		}},
	}, validate.Unvalidated[decoder](
		"seed", "stop", "tool_choice", "function_call", "audio", "verbosity", "prompt_cache_key", "top_k", "min_p",
		"repetition_penalty", "chat_template_kwargs",
	))...)

	promptFields = validate.NewObject(slices.Concat(generationFields, []field{
		{Name: "prompt", Read: func(_ *validate.Reader, name string, d *decoder) { d.inputs(name) }},
		{Name: "suffix", Read: func(r *validate.Reader, name string, _ *decoder) {
			if r.Is('"', name, "a string") {
				r.SkipCounted()
			}
		}},
		validate.Int("best_of", 1, maxChoices, func(d *decoder, n int64) {
			d.bestOf = n
			d.need(n > 1, llm.ManyChoices)
		}),
		// A client that only scores a prompt sends 0, because it needs no output. The limit is recorded as 1, because 0 means that no
		// limit was given.
		validate.Int("max_tokens", 0, maxPromptTokens, func(d *decoder, n int64) { d.maxTokens = max(n, 1) }),
		// In legacy completions, logprobs is the number of alternatives per token.
		{Name: "logprobs", Read: func(r *validate.Reader, name string, d *decoder) {
			if r.Is('0', name, "a whole number") {
				r.Number()
				d.req.Needs |= llm.Logprobs
				d.req.Sampling = append(d.req.Sampling, name)
			}
		}},
	}, validate.Unvalidated[decoder]("echo", "seed", "stop"))...)

	embedFields = validate.NewObject(slices.Concat(commonFields, []field{
		{Name: "input", Read: func(_ *validate.Reader, name string, d *decoder) { d.inputs(name) }},
		validate.Int("dimensions", 1, maxDimension, func(d *decoder, n int64) { d.req.Dimensions = n }),
		validate.OneOf("encoding_format", func(d *decoder, s string) { d.req.Base64 = s == "base64" }, "float", "base64"),
	})...)

	moderationFields = validate.NewObject(slices.Concat(commonFields, []field{
		{Name: "input", Read: func(_ *validate.Reader, _ string, d *decoder) { d.moderationInput() }},
	})...)
)

// sampled returns fields for settings that some models reject. Only the provider validates their values.
func sampled(names ...string) []field {
	fields := make([]field, len(names))
	for i, name := range names {
		fields[i] = field{Name: name, Read: func(_ *validate.Reader, name string, d *decoder) { d.sampling(name) }}
	}
	return fields
}

// hostedTool records that the request uses a tool that the provider runs. It does not read the value, whose text the caller counts.
func hostedTool(r *validate.Reader, _ string, d *decoder) {
	d.req.Hosted = d.req.Hosted || r.Kind() != 'n'
}

func (d *decoder) need(yes bool, a llm.Abilities) {
	if yes {
		d.req.Needs |= a
	}
}

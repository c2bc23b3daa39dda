package chat

import "fairlead/internal/llm"

// maxPromptTokens bounds max_tokens so that it stays a number when many prompts are answered many times.
const maxPromptTokens = 1 << 31

// prompt reads the members of a legacy completions request.
func (d *decoder) prompt(name string) {
	r := d.req
	switch name {
	case "prompt":
		d.inputs(name)
	case "suffix":
		if d.is('"', name, "a string") {
			d.SkipCounted()
		}
	case "stream":
		r.Stream = d.boolean(name)
	case "stream_options":
		d.streamOptions()
	case "n":
		if n := d.integer(name, maxChoices); n > 0 {
			r.Choices = int(n)
			d.need(n > 1, llm.ManyChoices)
		}
	case "best_of":
		d.bestOf = d.integer(name, maxChoices)
		d.need(d.bestOf > 1, llm.ManyChoices)
	case "max_tokens":
		if n, ok := d.intBetween(name, 0, maxPromptTokens); ok {
			d.maxTokens = max(n, 1) // none at all is how a prompt is scored; for holds one is near enough
		}
	case "logprobs":
		d.logprobs()
	case "temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias":
		d.sampling(name)
	}
}

// logprobs is a number here: how many alternatives are told for each token. The value itself is the provider's matter.
func (d *decoder) logprobs() {
	if d.is('0', "logprobs", "a whole number") {
		d.Number()
		d.req.Needs |= llm.Logprobs
		d.req.Sampling = append(d.req.Sampling, "logprobs")
	}
}

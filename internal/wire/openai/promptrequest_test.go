package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestDecodePrompts(t *testing.T) {
	t.Parallel()
	described{
		"a text":         {`{"model":"p","prompt":"héllo","user":"u"}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, ResponseOptions: llm.ResponseOptions{Choices: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 4, NonASCIIBytes: 2}, Prompt: llm.Prompt{Preview: "héllo"}, Labels: llm.Labels{EndUser: "u"}}},
		"an empty text":  {`{"model":"p","prompt":""}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, ResponseOptions: llm.ResponseOptions{Choices: 1}}},
		"texts":          {`{"model":"p","prompt":["a","bc"]}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 2, Longest: 2.0 / 3}, ResponseOptions: llm.ResponseOptions{Choices: 2}, PromptSize: llm.PromptSize{ASCIIBytes: 3}, Prompt: llm.Prompt{Preview: "a"}}},
		"token ids":      {`{"model":"p","prompt":[1,2,300]}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1, TokenIDs: 3}, ResponseOptions: llm.ResponseOptions{Choices: 1}}},
		"token id lists": {`{"model":"p","prompt":[[1,2],[3]]}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 2, Longest: 2.0 / 3, TokenIDs: 3}, ResponseOptions: llm.ResponseOptions{Choices: 2}}},
		"a suffix is part of the prompt": {
			`{"model":"p","prompt":"ab","suffix":"cde"}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, ResponseOptions: llm.ResponseOptions{Choices: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 5}, Prompt: llm.Prompt{Preview: "ab"}},
		},
		"n completions per prompt": {
			`{"model":"p","prompt":["a","b"],"n":3}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 2, Longest: 0.5}, ResponseOptions: llm.ResponseOptions{Choices: 6}, PromptSize: llm.PromptSize{ASCIIBytes: 2}, Prompt: llm.Prompt{Preview: "a"}, Needs: llm.ManyChoices},
		},
		"best_of counts completions that are not returned": {
			`{"best_of":5,"model":"p","n":2,"prompt":"a"}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, ResponseOptions: llm.ResponseOptions{Choices: 5}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"}, Needs: llm.ManyChoices},
		},
		"a stream": {
			`{"model":"p","prompt":"a","stream":true,"stream_options":{"include_usage":true},"max_tokens":16}`,
			llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, ResponseOptions: llm.ResponseOptions{Choices: 1, Stream: true, IncludeUsage: true, MaxOutput: 16}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"}},
		},
		"scoring a prompt": {
			`{"model":"p","prompt":"a","max_tokens":0,"echo":true,"logprobs":1}`,
			llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, ResponseOptions: llm.ResponseOptions{Choices: 1, MaxOutput: 1, Sampling: []string{"logprobs"}}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"}, Needs: llm.Logprobs},
		},
		"sampling, metadata and preferences": {
			`{"model":"auto","prompt":"a","temperature":0,"top_p":1,"presence_penalty":0,"frequency_penalty":0,"logit_bias":{},"metadata":{"a":"b"},"models":["x"]}`,
			llm.Request{
				Model: "auto", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"},
				Labels: llm.Labels{Metadata: map[string]string{"a": "b"}}, Controls: llm.Controls{Models: []string{"x"}},
				ResponseOptions: llm.ResponseOptions{Choices: 1, Sampling: []string{"temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias"}},
			},
		},
		"null fields are absent": {
			`{"model":"p","prompt":"a","suffix":null,"n":null,"best_of":null,"max_tokens":null,"logprobs":null,"stream":null,"stream_options":null,"temperature":null}`,
			llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, ResponseOptions: llm.ResponseOptions{Choices: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"}},
		},
		"chat fields are ignored": {
			`{"model":"p","prompt":"a","tools":1,"messages":5,"response_format":2}`, llm.Request{Model: "p", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, ResponseOptions: llm.ResponseOptions{Choices: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"}},
		},
	}.check(t, llm.Complete)
}

func TestDecodePromptsRejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	checkRejected(t, llm.Complete, `"model":"p",`, map[string]string{
		`"n":1`: "prompt", `"prompt":null`: "prompt", `"prompt":[]`: "prompt", `"prompt":[[]]`: "prompt", `"prompt":{}`: "prompt",
		`"prompt":["a",1]`: "prompt", `"prompt":[1.5]`: "prompt", `"prompt":[null]`: "prompt", `"Prompt":"a","prompt":"a"`: "Prompt",
		`"prompt":["a"` + strings.Repeat(`,"a"`, MaxInputs) + `]`: "prompt",
		`"prompt":"a","n":0`: "n", `"prompt":"a","n":129`: "n", `"prompt":"a","best_of":"2"`: "best_of",
		`"prompt":"a","max_tokens":-1`: "max_tokens", `"prompt":"a","max_tokens":1e15`: "max_tokens",
		`"prompt":"a","logprobs":true`: "logprobs", `"prompt":"a","suffix":5`: "suffix", `"prompt":"a","stream":1`: "stream",
	})
	all := decodeError(t, llm.Complete, `{"n":0,"best_of":0,"stream":5,"prompt":7}`)
	var params []string
	for _, p := range all.Details["problems"].([]map[string]string) {
		params = append(params, p["param"])
	}
	if diff := cmp.Diff([]string{"n", "best_of", "stream", "prompt", "model"}, params); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeModerations(t *testing.T) {
	t.Parallel()
	described{
		"a text":          {`{"model":"m","input":"héllo"}`, llm.Request{Model: "m", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 4, NonASCIIBytes: 2}, Prompt: llm.Prompt{Preview: "héllo"}}},
		"texts":           {`{"model":"m","input":["a","","bc"]}`, llm.Request{Model: "m", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 3, Longest: 2.0 / 3}, PromptSize: llm.PromptSize{ASCIIBytes: 3}, Prompt: llm.Prompt{Preview: "a"}}},
		"no model":        {`{"input":"a"}`, llm.Request{Model: "auto", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"}}},
		"a null":          {`{"model":null,"input":"a"}`, llm.Request{Model: "auto", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"}}},
		"auto":            {`{"model":"auto","input":"a"}`, llm.Request{Model: "auto", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Prompt: llm.Prompt{Preview: "a"}}},
		"unknown members": {`{"model":"m","input":"a","stream":true,"max_tokens":"x"}`, llm.Request{Model: "m", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 2, ExtraBytes: 1}, Prompt: llm.Prompt{Preview: "a"}}},
		"parts form one input": {
			`{"model":"m","input":[{"type":"text","text":"ab"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},
				{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`,
			llm.Request{Model: "m", PromptSize: llm.PromptSize{ASCIIBytes: 2}, Prompt: llm.Prompt{Preview: "ab"}, Attachments: llm.Attachments{Images: 2, ImageURLs: 1, ImageBytes: 26}, Needs: llm.Vision},
		},
	}.check(t, llm.Moderate)
	checkRejected(t, llm.Moderate, "", map[string]string{
		`"user":"u"`: "input", `"input":null`: "input", `"input":[]`: "input", `"input":5`: "input", `"input":{}`: "input", `"input":[1]`: "input",
		`"input":["a",{"type":"text","text":"b"}]`: "input", `"input":[{"Text":"a","text":"a"}]`: "input.Text",
		`"input":["a"` + strings.Repeat(`,"a"`, MaxInputs) + `]`: "input",
		`"model":5,"input":"a"`:                                  "model", `"model":"","input":"a"`: "model", `"Model":"x","input":"a"`: "Model",
	})
}

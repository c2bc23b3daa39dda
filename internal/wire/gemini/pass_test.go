package gemini_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/gemini"
)

func TestRewriteRemovesOnlyGatewayMembers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body, model string
		o           gemini.RewriteOptions
		want        string
		warnings    int
	}{
		"unknown members": {
			`{"model":"models/x","models":["a"],"provider":{"order":["g"]},"session_id":"s", "contents": [ {"parts":[{"text":"x","futurePart":1}]} ],"future":{"a":1},"generationConfig":{"futureSetting":true}}`,
			"gemini-2.5-flash",
			gemini.RewriteOptions{},
			`{"contents":[ {"parts":[{"text":"x","futurePart":1}]} ],"future":{"a":1},"generationConfig":{"futureSetting":true}}`, 0,
		},
		"output limit": {
			`{"contents":[{"parts":[{"text":"x"}]}]}`, "gemini-2.5-flash",
			gemini.RewriteOptions{MaxOutput: 50},
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":50}}`, 0,
		},
		"limit above the model's": {
			`{"contents":[{"parts":[{"text":"x"}]}],"generation_config":{"max_output_tokens":100000,"seed":1}}`, "gemini-2.5-flash",
			gemini.RewriteOptions{ModelMax: 65536},
			`{"contents":[{"parts":[{"text":"x"}]}],"generation_config":{"max_output_tokens":65536,"seed":1}}`, 1,
		},
		"effort of the router": {
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":true}}}`, "gemini-3-pro-preview",
			gemini.RewriteOptions{Effort: "low"},
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true}}}`, 0,
		},
		"level for a model with budgets": {
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"thinkingLevel":"HIGH"}}}`, "gemini-2.5-flash",
			gemini.RewriteOptions{},
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"thinkingBudget":24576}}}`, 0,
		},
		"model that does not think": {
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"thinkingBudget":1024},"topK":3}}`, "gemini-2.0-flash",
			gemini.RewriteOptions{FixedSampling: true},
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{}}`, 2,
		},
		"empty texts": {
			`{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"a"},{"text": ""}]},{"role":"model","parts":[{"text":""}]},{"role":"model","parts":[{"text":"","thoughtSignature":"s"}]}]}`,
			"gemini-2.5-flash",
			gemini.RewriteOptions{},
			`{"contents":[{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"","thoughtSignature":"s"}]}]}`, 0,
		},
		"only an empty text": {
			`{"contents":[{"parts":[{"text":""}]}]}`, "gemini-2.5-flash", gemini.RewriteOptions{}, `{"contents":[{"parts":[{"text":""}]}]}`, 0,
		},
		"calls of other models": {
			`{"contents":[{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g"}}]},{"role":"model","parts":[{"functionCall":{"name":"h"},"thoughtSignature":"own"}]},{"role":"user","parts":[{"text":"x"}]}]}`,
			"gemini-3-pro-preview",
			gemini.RewriteOptions{},
			`{"contents":[{"role":"model","parts":[{"text":"a"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"g"}}]},{"role":"model","parts":[{"functionCall":{"name":"h"},"thoughtSignature":"own"}]},{"role":"user","parts":[{"text":"x"}]}]}`, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.o.Traits = gemini.TraitsOf(tc.model)
			got, warnings := gemini.Rewrite(decode(t, tc.body), tc.o)
			if diff := cmp.Diff(tc.want, string(got)); diff != "" || len(warnings) != tc.warnings {
				t.Errorf("warnings %q, want %d, body (-want +got):\n%s", warnings, tc.warnings, diff)
			}
		})
	}
}

func TestPassesRejectsUnsupportedRequests(t *testing.T) {
	t.Parallel()
	schema := `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{}}`
	for name, tc := range map[string]struct {
		body, model string
		want        bool
	}{
		"plain":                   {`{"contents":[{"parts":[{"text":"x"}]}]}`, "gemini-2.0-flash", true},
		"gemma has no system":     {`{"contents":[{"parts":[{"text":"x"}]}]}`, "gemma-3-27b-it", false},
		"schema":                  {schema + `}`, "gemini-2.5-flash", true},
		"schema on an old model":  {schema + `}`, "gemini-2.0-flash", false},
		"schema and tools":        {schema + `,"tools":[{"functionDeclarations":[{"name":"f"}]}]}`, "gemini-2.5-flash", false},
		"schema and tools, newer": {schema + `,"tools":[{"functionDeclarations":[{"name":"f"}]}]}`, "gemini-3-pro-preview", true},
	} {
		if got := gemini.Passes(decode(t, tc.body), gemini.TraitsOf(tc.model)); got != tc.want {
			t.Errorf("%s: Passes = %t, want %t", name, got, tc.want)
		}
	}
}

// passed returns the events of a response that the gateway forwards to a client of the same format.
func passed(t *testing.T, stream bool, body string) (data []string, last llm.Event, failed error) {
	t.Helper()
	for ev, err := range gemini.Events(strings.NewReader(body), gemini.DeltaOptions{Stream: stream}, "our-name") {
		if err != nil {
			failed = err
			continue
		}
		if last = ev; ev.Data != nil {
			data = append(data, string(ev.Data))
		}
	}
	return data, last, failed
}

func TestResponsesPassThrough(t *testing.T) {
	t.Parallel()
	const (
		first = `{"candidates":[{"content":{"parts":[{"text":"He"}],"role":"model"},"index":0,"future":1}],"modelVersion":"gemini-x","responseId":"r"}`
		final = `{"candidates":[{"content":{"parts":[{"text":"llo","thoughtSignature":"c2ln"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"gemini-x","responseId":"r"}`
	)
	ours := strings.NewReplacer("gemini-x", "our-name")
	data, last, err := passed(t, true, "data: "+first+"\r\n\r\ndata: "+final+"\r\n\r\n")
	if diff := cmp.Diff([]string{ours.Replace(first), ours.Replace(final)}, data); diff != "" || err != nil || last.Finish != "stop" || last.Usage == nil || last.Usage.Output != 2 || last.Model != "gemini-x" {
		t.Errorf("stream: %+v, %v (-want +got):\n%s", last, err, diff)
	}
	data, last, err = passed(t, false, strings.ReplaceAll(final, "},", "},\n "))
	if diff := cmp.Diff([]string{ours.Replace(final)}, data); diff != "" || err != nil || last.Finish != "stop" || !last.Content || last.Usage == nil {
		t.Errorf("whole: %+v, %v (-want +got):\n%s", last, err, diff)
	}
	// Some models set a finish reason in every event.
	data, last, err = passed(t, true, "data: "+final+"\n\ndata: "+final+"\n\n")
	if len(data) != 2 || err != nil || last.Finish != "stop" {
		t.Errorf("reason in every event: %d events, last %+v, %v; want 2 and stop", len(data), last, err)
	}
	// An image counts as content and is forwarded.
	const image = `{"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}}]},"finishReason":"STOP"}]}`
	if data, last, err = passed(t, false, image); len(data) != 1 || data[0] != image || err != nil || !last.Content {
		t.Errorf("image: data %v, event %+v, %v; want it unchanged as content", data, last, err)
	}
	const blocked = `{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}`
	if data, last, err = passed(t, false, blocked); len(data) != 1 || err != nil || last.Finish != "content_filter" {
		t.Errorf("blocked: data %v, event %+v, %v; want content_filter", data, last, err)
	}
	if data, _, err = passed(t, true, "data: "+first+"\n\n"); len(data) != 1 || err == nil || llm.AsError(err).Kind != llm.StreamInterrupted {
		t.Errorf("interrupted: data %v, %v; want StreamInterrupted after one event", data, err)
	}
	if _, _, err = passed(t, true, "data: "+first+"\n\ndata: {\"error\":{\"code\":503,\"message\":\"overloaded\",\"status\":\"UNAVAILABLE\"}}\n\n"); err == nil {
		t.Error("a stream with an error event returned no error")
	}
}

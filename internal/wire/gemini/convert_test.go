package gemini_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/gemini"
)

// checkRequest decodes, converts, rewrites and prefills a body. The test fails if a step panics or returns an error that is not an
// *llm.Error.
func checkRequest(t interface {
	Fatalf(format string, args ...any)
}, body string,
) {
	f := gemini.Format{Model: "m", Stream: true}
	req, err := f.DecodeRequest(context.Background(), llm.Chat, []byte(body))
	if err != nil {
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.InvalidRequest && e.Kind != llm.InvalidJSON {
			t.Fatalf("decode: %v for %q, want InvalidRequest or InvalidJSON", err, body)
		}
		return
	}
	conv, err := req.Translate()
	if err != nil && llm.AsError(err).Kind != llm.Untranslatable {
		t.Fatalf("convert %q: %v, want Untranslatable", body, err)
	}
	if err == nil {
		schemas := []json.RawMessage{conv.Output.Schema}
		for _, tool := range conv.Tools {
			schemas = append(schemas, tool.Schema)
		}
		for _, s := range schemas {
			if len(s) > 0 && !json.Valid(s) {
				t.Fatalf("schema %s of %q is not JSON", s, body)
			}
		}
	}
	for _, model := range []string{"gemini-2.0-flash", "gemini-2.5-flash", "gemini-3-pro-preview"} {
		sent, _ := gemini.Rewrite(req, gemini.RewriteOptions{Traits: gemini.TraitsOf(model), MaxOutput: 5, Effort: "low"})
		if !json.Valid(sent) {
			t.Fatalf("%q is sent as invalid JSON %s", body, sent)
		}
	}
	if _, err := f.Prefill(context.Background(), req, "He said \"", 3); err != nil {
		t.Fatalf("prefill %q: %v", body, err)
	}
}

// Nearly valid requests cover more of the code than random bytes.
func TestMalformedRequestsGetStructuredErrors(t *testing.T) {
	t.Parallel()
	words := []string{
		`{`, `}`, `[`, `]`, `:`, `,`, `"contents"`, `"parts"`, `"role"`, `"model"`, `"user"`, `"text"`, `"x"`, `1`, `null`, `true`, `"functionCall"`, `"name"`,
		`"args"`, `"functionResponse"`, `"response"`, `"tools"`, `"functionDeclarations"`, `"parameters"`, `"type"`, `"OBJECT"`, `"inlineData"`,
		`"generationConfig"`, `"responseSchema"`, `"thinkingConfig"`, `"thinkingBudget"`, `"systemInstruction"`, `"system_instruction"`,
		`{"contents":[{"parts":[`, `{"text":"x"}`, `]}]`, `,"generationConfig":{`, `,"tools":[{"functionDeclarations":[{"name":"f","parameters":`,
	}
	rapid.Check(t, func(t *rapid.T) {
		checkRequest(t, strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 24).Draw(t, "words"), ""))
	})
}

func TestConversation(t *testing.T) {
	t.Parallel()
	body := `{
		"systemInstruction":{"role":"user","parts":[{"text":"Be brief."}]},
		"contents":[
			{"role":"user","parts":[{"text":"Weather in Oslo and Rome?"},{"inlineData":{"mimeType":"image/png","data":"a-8="}},{"fileData":{"mimeType":"application/pdf","fileUri":"https://generativelanguage.googleapis.com/v1beta/files/x"}}]},
			{"role":"model","parts":[{"functionCall":{"name":"look"}}]},{"role":"user","parts":[{"text":"In both."}]},
			{"role":"model","parts":[{"text":"hm","thought":true},{"functionCall":{"name":"look","args":{"city":"Oslo"}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"r7","name":"look","args":{"city":"Rome"}}},{"functionCall":{"id":"x9","name":"time"}}]},
			{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"result":"12"}}},{"functionResponse":{"name":"look","response":{"error":"no such city"}}},{"functionResponse":{"id":"x9","name":"time","response":{"h":1,"m":2}}}]}],
		"tools":[{"functionDeclarations":[{"name":"look","description":"d","parameters":{"type":"OBJECT","properties":{"city":{"type":"STRING","nullable":true,"enum":["Oslo"]},"days":{"type":"ARRAY","items":{"type":"INTEGER"},"minItems":"1"}},"propertyOrdering":["city"],"required":["city"]}},
			{"name":"time","parametersJsonSchema":{"type":"object"}}]},{"googleSearch":{}},{"codeExecution":{}}],
		"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["look"]}},
		"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}],
		"generationConfig":{"temperature":0.5,"topP":0.9,"topK":64,"seed":7,"presencePenalty":0.1,"frequencyPenalty":0.2,"maxOutputTokens":100,"stopSequences":["END"],"mediaResolution":"MEDIA_RESOLUTION_LOW",
			"responseMimeType":"application/json","responseSchema":{"anyOf":[{"type":"STRING"}]},"thinkingConfig":{"thinkingBudget":2048},"speechConfig":{}}}`
	conv, err := decode(t, body).Translate()
	if err != nil {
		t.Fatal(err)
	}
	text := func(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }
	result := func(id, name, content string, failed bool) llm.Part {
		return llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id, Name: name, Parts: []llm.Part{text(content)}, Failed: failed}}
	}
	call := func(c llm.ToolCall) llm.Part { return llm.Part{Kind: llm.CallPart, Call: &c} }
	want := &llm.Conversation{
		Choices: 1, MaxOutput: 100, Stop: []string{"END"},
		Messages: []llm.Message{
			{Role: llm.System, Parts: []llm.Part{text("Be brief.")}},
			{Role: llm.User, Parts: []llm.Part{
				text("Weather in Oslo and Rome?"),
				{Kind: llm.ImagePart, Media: &llm.Media{Type: "image/png", Data: "a+8=", Detail: "low"}},
				{Kind: llm.FilePart, Media: &llm.Media{Type: "application/pdf", FileID: "https://generativelanguage.googleapis.com/v1beta/files/x"}},
			}},
			{Role: llm.Assistant, Parts: []llm.Part{call(llm.ToolCall{ID: "call_1", Name: "look", Arguments: "{}"})}}, // cancelled: has no result
			{Role: llm.User, Parts: []llm.Part{text("In both.")}},
			{Role: llm.Assistant, Parts: []llm.Part{
				{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: "hm"}},
				call(llm.ToolCall{ID: "call_2", Name: "look", Arguments: `{"city":"Oslo"}`, Signature: "c2ln"}),
				call(llm.ToolCall{ID: "r7", Name: "look", Arguments: `{"city":"Rome"}`}),
				call(llm.ToolCall{ID: "x9", Name: "time", Arguments: `{}`}),
			}},
			{Role: llm.User, Parts: []llm.Part{
				result("call_2", "look", "12", false), result("r7", "look", "no such city", true), result("x9", "time", `{"h":1,"m":2}`, false),
			}},
		},
		Tools: []llm.Tool{
			{Name: "look", Description: "d", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":["string","null"],"enum":["Oslo",null]},"days":{"type":"array","items":{"type":"integer"},"minItems":1}},"required":["city"]}`)},
			{Name: "time", Schema: json.RawMessage(`{"type":"object"}`)},
			{Hosted: "web_search", Search: &llm.Search{}},
			{Hosted: "codeExecution", Raw: json.RawMessage(`{}`)},
		},
		ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"look"}},
		Output:     llm.Output{Kind: llm.OutputSchema, Name: "answer", Schema: json.RawMessage(`{"anyOf":[{"type":"string"}]}`)},
		Effort:     llm.Effort{Budget: 2048, Hide: true},
		Sampling:   llm.Sampling{Temperature: "0.5", TopP: "0.9", Seed: "7", PresencePenalty: "0.1", FrequencyPenalty: "0.2"},
		Dropped:    []string{"safetySettings", "generationConfig.speechConfig"},
	}
	if diff := cmp.Diff(want, conv); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRequestsWithGoogleFeaturesAreNotConverted(t *testing.T) {
	t.Parallel()
	for _, more := range []string{`"cachedContent":"cachedContents/1"`, `"generationConfig":{"responseModalities":["TEXT","IMAGE"]}`} {
		req := decode(t, `{"contents":[{"parts":[{"text":"x"}]}],`+more+`}`)
		if _, err := req.Translate(); llm.AsError(err).Kind != llm.Untranslatable {
			t.Errorf("%s: %v, want Untranslatable", more, err)
		}
	}
}

func each(deltas ...llm.Delta) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

var answered = []llm.Delta{
	{Kind: llm.BeginDelta, ID: "r1", Model: "gpt-x"},
	{Kind: llm.ThinkingDelta, Text: "hm"},
	{Kind: llm.TextDelta, Text: "It is "},
	{Kind: llm.TextDelta, Text: "12 °C."},
	{Kind: llm.CitationDelta, Citation: &llm.Citation{URL: "https://x.test", Title: "X", Start: 6, End: 11}},
	{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "c1", Name: "look"}},
	{Kind: llm.ArgumentsDelta, Text: `{"at"`},
	{Kind: llm.ArgumentsDelta, Text: `:1}`},
	{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "c2", Name: "odd", Arguments: "not JSON"}},
	{Kind: llm.FinishDelta, Finish: "tool_calls"},
	{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 3, CacheRead: 4, Output: 9, Reasoning: 2}},
}

const (
	ending  = `"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":7,"totalTokenCount":16,"cachedContentTokenCount":4,"thoughtsTokenCount":2},"modelVersion":"large","responseId":"r1"}`
	sources = `,"groundingMetadata":{"groundingChunks":[{"web":{"uri":"https://x.test","title":"X"}}],"groundingSupports":[{"segment":{"startIndex":6,"endIndex":12,"text":"12 °C"},"groundingChunkIndices":[0]}]}`
)

func TestWholeResponse(t *testing.T) {
	t.Parallel()
	for show, thought := range map[string]string{"true": `{"text":"hm","thought":true},`, "false": ""} {
		req := decode(t, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"includeThoughts":`+show+`}}}`)
		want := `{"candidates":[{"content":{"role":"model","parts":[` + thought + `{"text":"It is 12 °C."},{"functionCall":{"id":"c1","name":"look","args":{"at":1}}},{"functionCall":{"id":"c2","name":"odd","args":{"arguments":"not JSON"}}}]},` +
			`"finishReason":"STOP","index":0` + sources + `}],` + ending
		for ev, err := range (gemini.Format{}).EncodeResponse(req, "large", each(answered...)) {
			if diff := cmp.Diff(want, string(ev.Data)); diff != "" || err != nil || ev.Finish != "tool_calls" || ev.Usage == nil || !ev.Content || ev.Model != "gpt-x" {
				t.Errorf("event %+v, %v, data (-want +got):\n%s", ev, err, diff)
			}
		}
	}
}

func TestStreamedResponse(t *testing.T) {
	t.Parallel()
	req := decode(t, `{"contents":[{"parts":[{"text":"x"}]}],"tools":[{"googleSearch":{}}]}`)
	req.Stream = true
	var got []string
	finish, content := "", 0
	for ev, err := range (gemini.Format{}).EncodeResponse(req, "large", each(answered...)) {
		if err != nil {
			t.Fatal(err)
		}
		finish += ev.Finish
		if ev.Content {
			content++
		}
		if ev.Data != nil {
			got = append(got, string(ev.Data))
		}
	}
	event := func(part string) string {
		return `{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"index":0}],"modelVersion":"large","responseId":"r1"}`
	}
	want := []string{
		event(`{"text":"It is "}`), event(`{"text":"12 °C."}`), event(`{"functionCall":{"id":"c1","name":"look","args":{"at":1}}}`), event(`{"functionCall":{"id":"c2","name":"odd","args":{"arguments":"not JSON"}}}`),
		`{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP","index":0` + sources + `}],` + ending,
	}
	if diff := cmp.Diff(want, got); diff != "" || finish != "tool_calls" || content != 9 {
		t.Errorf("finish %q, %d events with content, want tool_calls and 9; data (-want +got):\n%s", finish, content, diff)
	}
	// Assemble joins the stored stream into one response.
	whole, err := gemini.Assemble([]byte(strings.Join(got, "\n")))
	if err != nil || !strings.Contains(string(whole), `{"text":"It is 12 °C."},{"functionCall":{"id":"c1"`) || !strings.Contains(string(whole), `"modelVersion":"large","responseId":"r1"`) {
		t.Errorf("Assemble = %s, %v; want the joined text, the call, the model and the ID", whole, err)
	}
}

func TestUnfinishedResponseIsAnError(t *testing.T) {
	t.Parallel()
	req := decode(t, `{"contents":[{"parts":[{"text":"x"}]}]}`)
	for _, deltas := range [][]llm.Delta{nil, answered[:4]} {
		var last error
		for _, err := range (gemini.Format{}).EncodeResponse(req, "m", each(deltas...)) {
			last = err
		}
		if last == nil || llm.AsError(last).Kind != llm.StreamInterrupted {
			t.Errorf("%d deltas: %v, want StreamInterrupted", len(deltas), last)
		}
	}
}

package gemini_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/gemini"
)

const image = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6B"

func decode(t *testing.T, body string) *llm.Request {
	t.Helper()
	req, err := gemini.Format{Model: "models/gemini-2.5-flash"}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatalf("%v\n%s", err, body)
	}
	return req
}

func TestRequestsAreDescribed(t *testing.T) {
	t.Parallel()
	type facts struct {
		Model, Effort, Preview                                        string
		MaxOutput                                                     int64
		Choices, Messages, Answers, Images, ImageURLs, Unsized, Sizes int
		Needs                                                         llm.Abilities
		Hosted                                                        bool
		Sampling                                                      []string
	}
	for name, tc := range map[string]struct {
		body string
		want facts
	}{
		"text": {
			`{"contents":[{"parts":[{"text":"hello"}]}]}`,
			facts{Preview: "hello", Choices: 1, Messages: 1},
		},
		"spelling with underscores, parts as an object": {
			`{"system_instruction":{"parts":{"text":"You are a cat."}},"contents":[{"role":"user","parts":{"text":"hi"}}],"generation_config":{"max_output_tokens":9,"top_k":3}}`,
			facts{Preview: "hi", Choices: 1, Messages: 2, MaxOutput: 9, Sampling: []string{"top_k"}},
		},
		"conversation with tools": {
			`{"contents":[{"role":"user","parts":[{"text":"weather?"}]},
				{"role":"model","parts":[{"text":"secret","thought":true},{"functionCall":{"name":"f","args":{"a":1}},"thoughtSignature":"AAAA"}]},
				{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"12"}}}]}],
				"tools":[{"functionDeclarations":[{"name":"f"}]},{"googleSearch":{}}],
				"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},"generationConfig":{"temperature":0.5,"topP":0.9,"candidateCount":2}}`,
			facts{
				Preview: "weather?", Choices: 2, Messages: 3, Answers: 1, Needs: llm.Tools | llm.WebSearch | llm.ManyChoices, Hosted: true,
				Sampling: []string{"temperature", "top_p"},
			},
		},
		"media": {
			`{"contents":[{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"` + image + `"}},{"inline_data":{"mime_type":"audio/wav","data":"AAAA"}},
				{"fileData":{"mimeType":"application/pdf","fileUri":"https://x.test/a.pdf"}},{"fileData":{"mimeType":"image/png","fileUri":"https://x.test/a.png"}}]}]}`,
			facts{Choices: 1, Messages: 1, Images: 2, ImageURLs: 1, Unsized: 2, Sizes: 1, Needs: llm.Vision | llm.AudioIn | llm.Files},
		},
		"schema and thinking": {
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT"},"thinkingConfig":{"thinkingLevel":"HIGH","includeThoughts":true}}}`,
			facts{Preview: "x", Choices: 1, Messages: 1, Needs: llm.JSONSchema | llm.Reasoning, Effort: "high"},
		},
		"dynamic thinking needs no reasoning model": {
			`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseMimeType":"application/json","thinkingConfig":{"thinkingBudget":-1}}}`,
			facts{Preview: "x", Choices: 1, Messages: 1, Needs: llm.JSONMode, Effort: "custom"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := decode(t, tc.body)
			got := facts{
				r.Model, r.Effort, r.Preview, r.MaxOutput, r.Choices, r.Messages, r.Answers, r.Images, r.ImageURLs, r.Unsized, len(r.ImageSizes),
				r.Needs, r.Hosted, r.Sampling,
			}
			tc.want.Model = "gemini-2.5-flash"
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if r.ASCIIBytes == 0 && r.Images == 0 {
				t.Error("ASCIIBytes = 0, want the text counted")
			}
		})
	}
}

func TestProblemsAreListed(t *testing.T) {
	t.Parallel()
	for body, params := range map[string]string{
		`{}`:               "contents",
		`{"contents":[]}`:  "contents",
		`{"contents":"x"}`: "contents",
		`{"contents":[1,{"role":"bot","parts":[{"text":1}]},{"role":"user"}]}`:                                                            "contents[0] contents[1].role contents[1].parts[0].text contents[2].parts",
		`{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png"}},{"fileData":3},{"functionCall":"f"}]}]}`:                          "contents[0].parts[0].inlineData.data contents[0].parts[1].fileData contents[0].parts[2].functionCall",
		`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":0,"candidateCount":"2","responseSchema":[]}}`:       "generationConfig.maxOutputTokens generationConfig.candidateCount generationConfig.responseSchema",
		`{"contents":[{"parts":[{"text":"x"}]}],"systemInstruction":"x","tools":{},"toolConfig":[]}`:                                      "systemInstruction tools toolConfig",
		`{"contents":[{"parts":[{"text":"x"}]}],"systemInstruction":{"parts":[]},"system_instruction":{"parts":[]}}`:                      "systemInstruction",
		`{"Contents":[{"parts":[{"text":"x"}]}],"contents":[{"parts":[{"Text":"x"}]}],"models":[1],"tools":[{"functionDeclarations":1}]}`: "Contents contents[0].parts[0].Text models tools[0].functionDeclarations",
		`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":5000,"max_output_tokens":5}}`:                       "generationConfig.maxOutputTokens",
		`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"thinkingConfig":{"thinking_budget":1,"thinkingBudget":2}}}`:          "generationConfig.thinkingConfig.thinkingBudget",
		`{"contents":[{"parts":[{"text":"x"}]}],"toolConfig":{"functionCallingConfig":{},"function_calling_config":{}}}`:                  "toolConfig.functionCallingConfig",
		`{"contents":[{"parts":[{"functionCall":{"name":"f"},"function_call":{"name":"g"}}]}]}`:                                           "contents[0].parts[0].functionCall",
		`{"contents":[{"parts":[{"text":"x","functionCall":{"name":"f"}}]}]}`:                                                             "contents[0].parts[0]",
	} {
		_, err := gemini.Format{Model: "m"}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
		e := llm.AsError(err)
		if err == nil || e.Kind != llm.InvalidRequest {
			t.Errorf("%s: %v, want InvalidRequest", body, err)
			continue
		}
		var got []string
		for _, p := range e.Details["problems"].([]map[string]string) {
			got = append(got, p["param"])
		}
		if diff := cmp.Diff(params, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
	if _, err := (gemini.Format{}).DecodeRequest(t.Context(), llm.Chat, []byte(`{"contents":[{"parts":[{"text":"x"}]}]}`)); llm.AsError(err).Param != "model" {
		t.Errorf("request without a model: %v, want an error for model", err)
	}
}

func TestModelNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"auto": "auto", "models/auto": "auto", "models/gemini-auto:cost": "gemini-auto:cost",
		"gemini-2.5-pro": "gemini-2.5-pro", "tunedModels/mine": "tunedModels/mine",
	} {
		if got := gemini.ModelName(name); got != want {
			t.Errorf("ModelName(%s) = %s, want %s", name, got, want)
		}
	}
}

func TestCountedRequestMayBeWrapped(t *testing.T) {
	t.Parallel()
	body := `{"generateContentRequest":{"model":"models/gemini-2.5-pro","contents":[{"parts":[{"text":"how long is this?"}]}]}}`
	req, err := gemini.Format{Model: "gemini-2.5-pro"}.DecodeRequest(t.Context(), llm.Count, []byte(body))
	if err != nil || req.ASCIIBytes < 17 || req.Model != "gemini-2.5-pro" {
		t.Errorf("request %+v, %v; want gemini-2.5-pro with at least 17 bytes", req, err)
	}
}

func TestErrorsHaveGooglesFormat(t *testing.T) {
	t.Parallel()
	e := llm.Errorf(llm.RateLimited, "Too fast.")
	e.RetryAfter = 1500e6
	want := `{"error":{"code":429,"message":"Too fast.","status":"RESOURCE_EXHAUSTED","details":[` +
		`{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"RATE_LIMITED","domain":"fairlead"},` +
		`{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}]},` +
		`"code":"RATE_LIMITED","details":{"origin":"gateway","request_id":"req_1","retryable":true}}`
	if diff := cmp.Diff(want, string(gemini.Format{}.ErrorBody(e, "req_1"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, kind := range llm.Kinds() {
		body := gemini.Format{}.ErrorBody(llm.Errorf(kind, "x"), "req_1")
		var got struct {
			Error struct {
				Code   int
				Status string
			}
			Code string
		}
		if err := json.Unmarshal(body, &got); err != nil || got.Error.Code != kind.Status() || got.Error.Status == "" || got.Code != kind.Code() {
			t.Errorf("%s: body %s, %v; want the status and the code", kind, body, err)
		}
	}
}

func TestStreamsAreFramedAsRequested(t *testing.T) {
	t.Parallel()
	events := []llm.Event{{Data: []byte(`{"a":1}`)}, {Data: []byte(`{"b":2}`)}}
	for query, want := range map[string]string{
		"alt=sse": "data: {\"a\":1}\n\ndata: {\"b\":2}\n\ndata: {\"error\":1}\n\n",
		"":        "[{\"a\":1},\n{\"b\":2},\n{\"error\":1}]",
	} {
		values, _ := url.ParseQuery(query)
		f := gemini.Format{Stream: true}.ForModel("m", values).Framing()
		var out strings.Builder
		for _, ev := range events {
			if err := f.WriteEvent(&out, ev); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.WriteError(&out, []byte(`{"error":1}`), 2); err != nil || out.String() != want {
			t.Errorf("%q: framed as %q, %v; want %q", query, out.String(), err, want)
		}
	}
	var out strings.Builder
	if err := (gemini.Format{Array: true}).Framing().WriteEnd(&out); err != nil || out.String() != "[]" {
		t.Errorf("an empty stream is framed as %q, %v; want []", out.String(), err)
	}
}

// FuzzDecodeRequest checks that a request is decoded and converted, or rejected with a structured error, and that the body for a provider
// of the same format is valid JSON.
func FuzzDecodeRequest(f *testing.F) {
	f.Add(`{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"responseSchema":{"type":"OBJECT","properties":{"a":{"type":"ARRAY","items":{"nullable":true},"minItems":"1"}}}}}`)
	f.Add(`{"contents":[{"role":"model","parts":[{"functionCall":{"name":"f"}}]},{"parts":[{"functionResponse":{"name":"f","response":{"error":"e"}}}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"any_of":[{}]}}]}]}`)
	f.Add(`{"contents":[{"parts":{"inlineData":{"data":"-_"}}}],"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["f"]}},"cachedContent":"c"}`)
	f.Add(`{"contents":[{"parts":[]}],"generation_config":{"thinking_config":{"thinking_budget":0}},"models":["a"],"provider":{"order":["b"]}}`)
	f.Fuzz(func(t *testing.T, body string) {
		checkRequest(t, body)
	})
}

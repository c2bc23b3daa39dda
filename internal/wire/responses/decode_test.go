package responses

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/llm"
)

func decode(t testing.TB, body string) *llm.Request {
	t.Helper()
	req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func converse(t testing.TB, body string) *llm.Conversation {
	t.Helper()
	req := decode(t, body)
	before := *req
	conv, err := req.Translate()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&before, req); diff != "" {
		t.Errorf("Conversation changed the request:\n%s", diff)
	}
	return conv
}

func TestDecodeDescribesTheRequest(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body string
		want llm.Request
	}{
		"a text": {
			`{"model":"auto","input":"  h\u00e9llo\nyou"}`,
			llm.Request{Model: "auto", ProviderState: llm.ProviderState{Stores: true}, Prompt: llm.Prompt{Messages: 1, Preview: "h\u00e9llo you"}, PromptSize: llm.PromptSize{ASCIIBytes: 10, NonASCIIBytes: 2}},
		},
		"everything that routing needs": {
			`{"model":"m","stream":true,"instructions":"be","max_output_tokens":9,"temperature":0.1,"top_p":1,"parallel_tool_calls":true,"user":"u","safety_identifier":"s",` +
				`"metadata":{"a":"b","n":1},"service_tier":"flex","models":["x"],"session_id":"s","provider":{"order":["a"],"allow_fallbacks":false,"max_price":{"prompt":"1.5"},"data_collection":"deny","sort":"price","zdr":true},` +
				`"reasoning":{"effort":"low"},"text":{"format":{"type":"json_schema","name":"n","schema":{"a":1}}},"tools":[{"type":"function","name":"f","parameters":null,"strict":true}],` +
				`"input":[{"role":"user","content":[{"type":"input_text","text":"see"},{"type":"input_image","image_url":"https://x","detail":"auto"},{"type":"input_image","image_url":"data:image/png;base64,AAEC"},` +
				`{"type":"input_file","file_id":"f"},{"type":"input_audio","input_audio":{"data":"AAEC","format":"wav"}}]}]}`,
			llm.Request{
				Model:           "m",
				Needs:           llm.Tools | llm.ParallelTools | llm.Vision | llm.Files | llm.AudioIn | llm.JSONSchema | llm.Reasoning,
				ResponseOptions: llm.ResponseOptions{Stream: true, MaxOutput: 9, Effort: "low", Sampling: []string{"temperature", "top_p"}, ServiceTier: "flex"},
				ProviderState:   llm.ProviderState{Stores: true, StoredFiles: []llm.StoredFile{{ID: "f", Param: "input[0].content[3].file_id"}}},
				Prompt:          llm.Prompt{Messages: 2, Preview: "see"},
				PromptSize:      llm.PromptSize{ASCIIBytes: len("be" + "see" + "type" + "function" + "function" + "name" + "f" + "name" + "n" + "a")},
				Attachments:     llm.Attachments{Images: 2, ImageURLs: 1, ImageBytes: 4, AttachedBytes: 4, Unsized: 2},
				Labels:          llm.Labels{EndUser: "u", Metadata: map[string]string{"a": "b"}},
				Controls: llm.Controls{Models: []string{"x"}, SessionID: "s", Provider: llm.ProviderPreferences{
					Order: []string{"a"}, NoFallbacks: true, MaxPrice: &llm.MaxPrice{Prompt: new(1.5)}, DenyCollection: true, Sort: "price", ZeroRetention: true,
				}},
			},
		},
		"null fields are absent": {
			`{"model":"m","input":"x","instructions":null,"tools":null,"text":null,"reasoning":null,"previous_response_id":null,"conversation":null,"background":null,"stream":null,"max_output_tokens":null,"provider":null,"metadata":null}`,
			llm.Request{Model: "m", ProviderState: llm.ProviderState{Stores: true}, Prompt: llm.Prompt{Messages: 1, Preview: "x"}, PromptSize: llm.PromptSize{ASCIIBytes: 1}},
		},
		"a response that is not stored": {
			`{"model":"m","input":"x","store":false}`,
			llm.Request{Model: "m", Prompt: llm.Prompt{Messages: 1, Preview: "x"}, PromptSize: llm.PromptSize{ASCIIBytes: 1}},
		},
		"JSON without a schema": {
			`{"model":"m","input":"x","text":{"format":{"type":"json_object"}},"reasoning":{"effort":"none"},"background":false,"store":true}`,
			llm.Request{Model: "m", ProviderState: llm.ProviderState{Stores: true}, Prompt: llm.Prompt{Messages: 1, Preview: "x"}, PromptSize: llm.PromptSize{ASCIIBytes: 1}, Needs: llm.JSONMode, ResponseOptions: llm.ResponseOptions{Effort: "none"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := decode(t, tc.body)
			want := tc.want
			want.Op, want.Format, want.Choices = llm.Chat, Name, 1
			if diff := cmp.Diff(&want, got, cmpopts.IgnoreFields(llm.Request{}, "Body", "Fields", "Text", "Asked", "Answers", "Plain", "Conversation")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		body, param, says string
		kind              llm.Kind
	}{
		"not JSON":                         {`{`, "", "JSON", llm.InvalidJSON},
		"a repeated key":                   {`{"model":"a","model":"b","input":"x"}`, "model", "twice", llm.InvalidRequest},
		"not an object":                    {`[]`, "", "object", llm.InvalidRequest},
		"no model":                         {`{"input":"x"}`, "model", "missing", llm.InvalidRequest},
		"no input":                         {`{"model":"m"}`, "input", "missing", llm.InvalidRequest},
		"an empty input":                   {`{"model":"m","input":""}`, "input", "empty", llm.InvalidRequest},
		"no items":                         {`{"model":"m","input":[]}`, "input", "empty", llm.InvalidRequest},
		"a number as input":                {`{"model":"m","input":5}`, "input", "a number", llm.InvalidRequest},
		"a null item":                      {`{"model":"m","input":[null]}`, "input[0]", "null", llm.InvalidRequest},
		"an unstored background response":  {`{"model":"m","input":"x","background":true,"store":false}`, "background", "stored", llm.InvalidRequest},
		"a conversation without id":        {`{"model":"m","input":"x","conversation":{"name":"c"}}`, "conversation", "id", llm.InvalidRequest},
		"a number as conversation":         {`{"model":"m","input":"x","conversation":5}`, "conversation", "id", llm.InvalidRequest},
		"a prompt without id":              {`{"model":"m","prompt":{"version":"1"}}`, "prompt.id", "missing", llm.InvalidRequest},
		"a text as prompt":                 {`{"model":"m","prompt":"p"}`, "prompt", "an object", llm.InvalidRequest},
		"a reference without id":           {`{"model":"m","input":[{"type":"item_reference"}]}`, "input[0].id", "missing", llm.InvalidRequest},
		"an unknown role":                  {`{"model":"m","input":[{"role":"robot","content":"x"}]}`, "input[0].role", "robot", llm.InvalidRequest},
		"an unknown part":                  {`{"model":"m","input":[{"role":"user","content":[{"type":"video"}]}]}`, "input[0].content[0].type", "video", llm.InvalidRequest},
		"an invalid image":                 {`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,!"}]}]}`, "input[0].content[0].image_url", "base64", llm.InvalidRequest},
		"an image without content":         {`{"model":"m","input":[{"role":"user","content":[{"type":"input_image","detail":"low"}]}]}`, "input[0].content[0].image_url", "missing", llm.InvalidRequest},
		"a file without content":           {`{"model":"m","input":[{"role":"user","content":[{"type":"input_file"}]}]}`, "input[0].content[0]", "has no file", llm.InvalidRequest},
		"a call without id":                {`{"model":"m","input":[{"type":"function_call","name":"f","arguments":"{}"}]}`, "input[0].call_id", "missing", llm.InvalidRequest},
		"a result without id":              {`{"model":"m","input":[{"type":"function_call_output","output":"1"}]}`, "input[0].call_id", "missing", llm.InvalidRequest},
		"a tool without name":              {`{"model":"m","input":"x","tools":[{"type":"function"}]}`, "tools[0].name", "missing", llm.InvalidRequest},
		"a tool without type":              {`{"model":"m","input":"x","tools":[{"name":"f"}]}`, "tools[0].type", "missing", llm.InvalidRequest},
		"a schema format without a schema": {`{"model":"m","input":"x","text":{"format":{"type":"json_schema","name":"n"}}}`, "text.format.schema", "missing", llm.InvalidRequest},
		"an unknown choice":                {`{"model":"m","input":"x","tool_choice":"maybe"}`, "tool_choice", "maybe", llm.InvalidRequest},
		"too few tokens":                   {`{"model":"m","input":"x","max_output_tokens":0}`, "max_output_tokens", "whole number", llm.InvalidRequest},
		"a string as a flag":               {`{"model":"m","input":"x","stream":"yes"}`, "stream", "a string", llm.InvalidRequest},
		"a negative price":                 {`{"model":"m","input":"x","provider":{"max_price":{"prompt":-1}}}`, "provider.max_price.prompt", "dollars", llm.InvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(tc.body))
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind != tc.kind || e.Param != tc.param || !strings.Contains(e.Message, tc.says) || e.Details["problems"] == nil {
				t.Errorf("got %v with param %q, want %s for %q", err, llm.AsError(err).Param, tc.kind, tc.param)
			}
		})
	}
	if _, err := (Format{}).DecodeRequest(t.Context(), llm.Embed, []byte(`{"model":"m","input":"x"}`)); llm.AsError(err).Kind != llm.InvalidRequest {
		t.Errorf("embeddings request: %v, want InvalidRequest", err)
	}
}

func textPart(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }

func message(role llm.Role, parts ...llm.Part) llm.Message {
	return llm.Message{Role: role, Parts: parts}
}

func callPart(call llm.ToolCall) llm.Part { return llm.Part{Kind: llm.CallPart, Call: &call} }

func thinkingPart(th llm.Thinking) llm.Part { return llm.Part{Kind: llm.ThinkingPart, Thinking: &th} }

func toolResult(id, name string, parts ...llm.Part) llm.Message {
	return message(llm.User, llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id, Name: name, Parts: parts}})
}

func TestConversationDecodesItems(t *testing.T) {
	t.Parallel()
	sealed := wrappedSignature{Text: "full", Signature: "sig", Provider: "anthropic"}.String()
	onCall := wrappedSignature{Signature: "g", Provider: "gemini", Call: "c1"}.String()
	for name, tc := range map[string]struct {
		input string
		want  []llm.Message
	}{
		"a text": {`"x"`, []llm.Message{message(llm.User, textPart("x"))}},
		"messages": {
			`[{"role":"developer","content":"d"},{"type":"message","role":"user","content":[{"type":"input_text","text":"a","prompt_cache_breakpoint":{"mode":"explicit"}}]},` +
				`{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]},{"type":"refusal","refusal":"no"}]},{"role":"assistant","content":"c"},{"role":"system","content":""}]`,
			[]llm.Message{
				message(llm.System, textPart("d")), message(llm.User, llm.Part{Kind: llm.TextPart, Text: "a", Cache: &llm.CacheMark{}}),
				message(llm.Assistant, textPart("b"), llm.Part{Kind: llm.RefusalPart, Text: "no"}), message(llm.Assistant, textPart("c")), message(llm.System),
			},
		},
		"a turn of several items": {
			`[{"role":"user","content":"q"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"short"}],"encrypted_content":"` + sealed + `"},{"role":"assistant","content":"a"},` +
				`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"` + onCall + `"},{"type":"function_call","id":"fc_1","call_id":"c1","name":"f","arguments":"{}"},{"type":"custom_tool_call","call_id":"c2","name":"g","input":"i"},` +
				`{"type":"function_call_output","call_id":"c1","output":"1"},{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"2"}]},{"type":"function_call_output","call_id":"c9","name":"n","output":""}]`,
			[]llm.Message{
				message(llm.User, textPart("q")),
				message(
					llm.Assistant, thinkingPart(llm.Thinking{Text: "full", Signature: "sig", Provider: "anthropic"}), textPart("a"),
					callPart(llm.ToolCall{ID: "c1", Name: "f", Arguments: "{}", Signature: "g", Provider: "gemini"}),
					callPart(llm.ToolCall{ID: "c2", Name: "g", Arguments: "i", Custom: true}),
				),
				toolResult("c1", "f", textPart("1")), toolResult("c2", "g", textPart("2")), toolResult("c9", "n"),
			},
		},
		"reasoning of other providers": {
			`[{"type":"reasoning","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gAAA"},{"type":"reasoning","summary":[{"text":"s"}],"content":[{"type":"reasoning_text","text":"c"}]},` +
				`{"type":"reasoning","summary":[],"encrypted_content":"fairlead.!!"},{"role":"user","content":"x"}]`,
			[]llm.Message{message(llm.Assistant, thinkingPart(llm.Thinking{Text: "a\n\nb"}), thinkingPart(llm.Thinking{Text: "c"})), message(llm.User, textPart("x"))},
		},
		"media": {
			`[{"role":"user","content":[{"type":"input_image","image_url":"data:image/PNG;base64,-_8","detail":"high"},{"type":"input_image","file_id":"f","detail":"auto"},{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,AAEC"},` +
				`{"type":"input_file","filename":"b.pdf","file_data":"AAECAw"},{"type":"input_file","file_url":"https://x/c.pdf"},{"type":"input_file","file_data":"data:text/plain,hi%20you"},{"type":"input_audio","input_audio":{"data":"AAEC","format":"mp3"}}]}]`,
			[]llm.Message{message(
				llm.User,
				llm.Part{Kind: llm.ImagePart, Media: &llm.Media{Type: "image/png", Data: "+/8=", Detail: "high"}},
				llm.Part{Kind: llm.ImagePart, Media: &llm.Media{FileID: "f", Detail: "auto"}},
				llm.Part{Kind: llm.FilePart, Media: &llm.Media{Type: "application/pdf", Data: "AAEC", Name: "a.pdf"}},
				llm.Part{Kind: llm.FilePart, Media: &llm.Media{Type: "application/pdf", Data: "AAECAw==", Name: "b.pdf"}},
				llm.Part{Kind: llm.FilePart, Media: &llm.Media{URL: "https://x/c.pdf"}},
				llm.Part{Kind: llm.FilePart, Media: &llm.Media{Type: "text/plain", Data: "aGkgeW91"}},
				llm.Part{Kind: llm.AudioPart, Media: &llm.Media{Type: "audio/mpeg", Data: "AAEC"}},
			)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := converse(t, `{"model":"m","input":`+tc.input+`}`)
			if diff := cmp.Diff(tc.want, conv.Messages, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConversationDecodesSettings(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	schema := json.RawMessage(`{"z": 1, "a": 2}`)
	for name, tc := range map[string]struct {
		members string
		want    llm.Conversation
	}{
		"numbers": {`"temperature":0.10,"top_p":1e-7,"max_output_tokens":5.0`, llm.Conversation{MaxOutput: 5, Sampling: llm.Sampling{Temperature: "0.10", TopP: "1e-7"}}},
		"tools": {
			`"tools":[{"type":"function","name":"f","description":"d","parameters":` + string(schema) + `,"strict":false},{"type":"custom","name":"c","format":{"type":"text"}},{"type":"web_search","x":1}],"tool_choice":{"type":"function","name":"f"},"parallel_tool_calls":true`,
			llm.Conversation{
				Tools: []llm.Tool{
					{Name: "f", Description: "d", Schema: schema, Strict: &no},
					{Name: "c", Custom: true, Format: json.RawMessage(`{"type":"text"}`)},
					{Hosted: "web_search", Raw: json.RawMessage(`{"type":"web_search","x":1}`), Search: &llm.Search{}},
				},
				ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"f"}}, ParallelTools: &yes,
			},
		},
		"allowed tools":      {`"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"},{"type":"mcp"}]}`, llm.Conversation{ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAuto, Names: []string{"f"}}}},
		"a string":           {`"tool_choice":"required"`, llm.Conversation{ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust}}},
		"a hosted tool":      {`"tool_choice":{"type":"web_search"}`, llm.Conversation{Dropped: []string{"tool_choice"}}},
		"a schema":           {`"text":{"verbosity":"low","format":{"type":"json_schema","name":"n","description":"d","schema":` + string(schema) + `,"strict":true}}`, llm.Conversation{Verbosity: "low", Output: llm.Output{Kind: llm.OutputSchema, Name: "n", Description: "d", Schema: schema, Strict: &yes}}},
		"effort":             {`"reasoning":{"effort":"high","summary":"auto"}`, llm.Conversation{Effort: llm.Effort{Level: "high"}}},
		"account":            {`"user":"u","service_tier":"flex","store":true,"stream":true,"stream_options":{},"metadata":{},"prompt_cache_key":"k","truncation":"disabled","include":["reasoning.encrypted_content"]`, llm.Conversation{EndUser: "u", ServiceTier: "flex"}},
		"unsupported fields": {`"truncation":"auto","max_tool_calls":3,"top_logprobs":2,"include":["message.output_text.logprobs"],"odd":1`, llm.Conversation{Dropped: []string{"truncation", "max_tool_calls", "top_logprobs", "message.output_text.logprobs", "odd"}}},
		"instructions":       {`"instructions":"be"`, llm.Conversation{Messages: []llm.Message{message(llm.System, textPart("be"))}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := converse(t, `{"model":"m","input":"x",`+tc.members+`}`)
			want := tc.want
			want.Choices = 1
			want.Messages = append(want.Messages, message(llm.User, textPart("x")))
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestHostedToolRecordsAreReported(t *testing.T) {
	t.Parallel()
	conv := converse(t, `{"model":"m","input":[{"role":"user","content":"x"},{"type":"web_search_call","id":"ws"},{"type":"web_search_call","id":"ws2"},{"role":"assistant","content":"y"}]}`)
	if diff := cmp.Diff([]string{"input.web_search_call"}, conv.Dropped); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for _, body := range []string{
		`{"model":"m","input":"x","instructions":"i","stream":true}`,
		`{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,AAEC"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"1"}]}`,
		`{"model":"m","input":[{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}],"encrypted_content":"` + wrappedSignature{Text: "t", Signature: "s"}.String() + `"}]}`,
		`{"model":"m","input":"x","tools":[{"type":"function","name":"f","parameters":{}}],"tool_choice":{"type":"allowed_tools","tools":[]},"text":{"format":{"type":"json_schema","name":"n","schema":{}}},"provider":{"max_price":{}}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, body)
		if err != nil {
			if kind := llm.AsError(err).Kind; kind != llm.InvalidRequest && kind != llm.InvalidJSON {
				t.Fatalf("rejected as %s, want InvalidRequest or InvalidJSON", kind)
			}
			return
		}
		conv, err := req.Translate()
		if err != nil || len(conv.Messages) != req.Messages || req.Messages == 0 || req.Model == "" {
			t.Errorf("conversation: %v, request has %d messages; want the same number and a model", err, req.Messages)
		}
		for _, stream := range []bool{true, false} {
			req.Stream = stream
			events, err := collect(Format{}.EncodeResponse(req, "m", sequence([]llm.Delta{{Kind: llm.TextDelta, Text: "a"}, {Kind: llm.FinishDelta}}, nil)))
			if err != nil {
				t.Error(err)
			}
			for _, ev := range events {
				if !json.Valid(ev.Data) {
					t.Errorf("event is not JSON: %s", ev.Data)
				}
			}
		}
	})
}

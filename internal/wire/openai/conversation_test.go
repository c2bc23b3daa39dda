package openai

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/llm"
)

func read(t *testing.T, body string) *llm.Conversation {
	t.Helper()
	req := decode(t, llm.Chat, body)
	conv, err := req.Translate()
	if err != nil {
		t.Fatal(err)
	}
	return conv
}

func textPart(s string) llm.Part { return llm.Part{Kind: llm.TextPart, Text: s} }

func messageOf(role llm.Role, parts ...llm.Part) llm.Message {
	return llm.Message{Role: role, Parts: parts}
}

func callPart(call llm.ToolCall) llm.Part { return llm.Part{Kind: llm.CallPart, Call: &call} }

func toolResult(id, name string, parts ...llm.Part) llm.Message {
	return llm.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: id, Name: name, Parts: parts}}}}
}

func TestConversationReadsMessages(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		messages string
		want     []llm.Message
	}{
		"roles": {
			`{"role":"system","content":"a"},{"role":"user","content":"b","name":"ann"},{"role":"assistant","content":"c"},{"role":"developer","content":"d"}`,
			[]llm.Message{
				messageOf(llm.System, textPart("a")),
				{Role: llm.User, Name: "ann", Parts: []llm.Part{textPart("b")}},
				messageOf(llm.Assistant, textPart("c")), messageOf(llm.System, textPart("d")),
			},
		},
		"empty content": {
			`{"role":"user","content":""},{"role":"assistant","content":null},{"role":"assistant"},{"role":"user","content":[]}`,
			[]llm.Message{messageOf(llm.User), messageOf(llm.Assistant), messageOf(llm.Assistant), messageOf(llm.User)},
		},
		"text with escapes": {
			`{"role":"user","content":"\u0000\ud83d\ude42\ud800\u2028<&>"}`,
			[]llm.Message{messageOf(llm.User, textPart("\x00🙂\ufffd\u2028<&>"))},
		},
		"parts": {
			`{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}},` +
				`{"image_url":{"url":"data:image/PNG;base64,AAEC"},"type":"image_url"},{"type":"image_url","image_url":"https://bare"},` +
				`{"type":"input_audio","input_audio":{"data":"AAEC","format":"mp3"}},{"type":"file","file":{"file_id":"f1"}},` +
				`{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAEC"}},{"type":"file","file":{"filename":"b.PDF","file_data":"AAEC"}}]}`,
			[]llm.Message{messageOf(llm.User, textPart("see"),
				llm.Part{Kind: llm.ImagePart, Media: &llm.Media{URL: "https://x/y.png", Detail: "low"}},
				llm.Part{Kind: llm.ImagePart, Media: &llm.Media{Type: "image/png", Data: "AAEC"}},
				llm.Part{Kind: llm.ImagePart, Media: &llm.Media{URL: "https://bare"}},
				llm.Part{Kind: llm.AudioPart, Media: &llm.Media{Type: "audio/mpeg", Data: "AAEC"}},
				llm.Part{Kind: llm.FilePart, Media: &llm.Media{FileID: "f1"}},
				llm.Part{Kind: llm.FilePart, Media: &llm.Media{Type: "application/pdf", Data: "AAEC", Name: "a.pdf"}},
				llm.Part{Kind: llm.FilePart, Media: &llm.Media{Type: "application/pdf", Data: "AAEC", Name: "b.PDF"}},
			)},
		},
		"tools": {
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":""}},` +
				`{"type":"custom","id":"c2","custom":{"name":"run","input":"ls"}}]},{"role":"tool","tool_call_id":"c2","content":"out"},` +
				`{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"tool","tool_call_id":"c9","name":"n","content":""}`,
			[]llm.Message{
				messageOf(llm.Assistant, callPart(llm.ToolCall{ID: "c1", Name: "look"}), callPart(llm.ToolCall{ID: "c2", Name: "run", Arguments: "ls", Custom: true})),
				toolResult("c2", "run", textPart("out")), toolResult("c1", "look", textPart("a"), textPart("b")), toolResult("c9", "n"),
			},
		},
		"legacy functions": {
			`{"role":"user","content":"x"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"},` +
				`{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{\"a\":1}"}},{"role":"function","name":"f","content":null}`,
			[]llm.Message{
				messageOf(llm.User, textPart("x")),
				messageOf(llm.Assistant, callPart(llm.ToolCall{ID: "call_1", Name: "f", Arguments: "{}"})), toolResult("call_1", "f", textPart("1")),
				messageOf(llm.Assistant, callPart(llm.ToolCall{ID: "call_3", Name: "f", Arguments: `{"a":1}`})), toolResult("call_3", "f"),
			},
		},
		"refusals": {
			`{"role":"assistant","content":"x","refusal":"no"},{"role":"assistant","content":[{"type":"refusal","refusal":"never"}]}`,
			[]llm.Message{
				messageOf(llm.Assistant, textPart("x"), llm.Part{Kind: llm.RefusalPart, Text: "no"}),
				messageOf(llm.Assistant, llm.Part{Kind: llm.RefusalPart, Text: "never"}),
			},
		},
		"thinking": {
			`{"role":"assistant","content":"x","reasoning_content":"hm"},{"role":"assistant","content":"x","reasoning":"hm"},` +
				`{"role":"assistant","content":"x","reasoning_content":"ab","thinking_blocks":[{"type":"thinking","thinking":"a","signature":"s","provider":"p"},{"type":"redacted_thinking","data":"d","provider":"p"}]},` +
				`{"role":"assistant","reasoning_content":"ab","thinking_blocks":[{"type":"thinking","signature":"s"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"thinking","thinking":[{"type":"text","text":"h"},{"type":"text","text":"m"}]}]}`,
			[]llm.Message{
				messageOf(llm.Assistant, thinkingPart(llm.Thinking{Text: "hm"}), textPart("x")),
				messageOf(llm.Assistant, thinkingPart(llm.Thinking{Text: "hm"}), textPart("x")),
				messageOf(llm.Assistant, thinkingPart(llm.Thinking{Text: "a", Signature: "s", Provider: "p"}), thinkingPart(llm.Thinking{Redacted: "d", Provider: "p"}), textPart("x")),
				messageOf(llm.Assistant, thinkingPart(llm.Thinking{Text: "ab", Signature: "s"})),
				messageOf(llm.Assistant, thinkingPart(llm.Thinking{Text: "hm"}), textPart("x")),
			},
		},
		"signed calls": {
			`{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":{"a": 1}},"extra_content":{"google":{"thought_signature":"s"},"fairlead":{"provider":"gemini"}}}]}`,
			[]llm.Message{messageOf(llm.Assistant, callPart(llm.ToolCall{ID: "c", Name: "f", Arguments: `{"a": 1}`, Signature: "s", Provider: "gemini"}))},
		},
		"cache marks": {
			`{"role":"user","content":"a","cache_control":{"type":"ephemeral"}},{"role":"user","content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"text","text":"c","prompt_cache_breakpoint":{"mode":"explicit"}}]},` +
				`{"role":"tool","tool_call_id":"x","content":"d","cache_control":{"type":"ephemeral"}}`,
			[]llm.Message{
				messageOf(llm.User, llm.Part{Kind: llm.TextPart, Text: "a", Cache: &llm.CacheMark{}}),
				messageOf(llm.User, llm.Part{Kind: llm.TextPart, Text: "b", Cache: &llm.CacheMark{TTL: "1h"}}, llm.Part{Kind: llm.TextPart, Text: "c", Cache: &llm.CacheMark{}}),
				messageOf(llm.User, llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: "x", Parts: []llm.Part{textPart("d")}}, Cache: &llm.CacheMark{}}),
			},
		},
		"audio of an earlier response": {
			`{"role":"assistant","audio":{"id":"audio_1"}}`,
			[]llm.Message{messageOf(llm.Assistant, llm.Part{Kind: llm.AudioPart, Media: &llm.Media{FileID: "audio_1"}})},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := read(t, `{"model":"m","messages":[`+tc.messages+`]}`)
			if diff := cmp.Diff(tc.want, conv.Messages, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if len(conv.Dropped) > 0 {
				t.Errorf("dropped %q, want none", conv.Dropped)
			}
		})
	}
}

func thinkingPart(th llm.Thinking) llm.Part { return llm.Part{Kind: llm.ThinkingPart, Thinking: &th} }

func TestConversationReadsSettings(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type": "object", "properties": {"z":{}, "a":{}}}`)
	for name, tc := range map[string]struct {
		members string
		want    llm.Conversation
	}{
		"nothing":                {``, llm.Conversation{}},
		"nulls":                  {`"temperature":null,"tools":null,"tool_choice":null,"stop":null,"foo":null,"n":null,"response_format":null`, llm.Conversation{}},
		"numbers":                {`"temperature":0.10,"top_p":1.0,"top_k":40,"seed":9007199254740993,"frequency_penalty":-1e-7,"presence_penalty":0,"logprobs":true,"top_logprobs":3`, llm.Conversation{Sampling: llm.Sampling{Temperature: "0.10", TopP: "1.0", TopK: "40", Seed: "9007199254740993", FrequencyPenalty: "-1e-7", PresencePenalty: "0", Logprobs: true, TopLogprobs: 3}}},
		"limits":                 {`"max_completion_tokens":9,"n":2,"stop":"END"`, llm.Conversation{MaxOutput: 9, Choices: 2, Stop: []string{"END"}}},
		"several stop sequences": {`"stop":["a","b"]`, llm.Conversation{Stop: []string{"a", "b"}}},
		"account, stream":        {`"stream":true,"stream_options":{"include_usage":true},"store":true,"metadata":{"a":"b"},"prompt_cache_key":"k","models":["x"],"session_id":"s","provider":{},"user":"u","service_tier":"flex"`, llm.Conversation{EndUser: "u", ServiceTier: "flex"}},
		"unsupported fields":     {`"logit_bias":{"1":2},"modalities":["text"],"min_p":0.1,"verbosity":"low"`, llm.Conversation{Verbosity: "low", Dropped: []string{"logit_bias", "min_p"}}},
		"web search": {`"web_search_options":{"search_context_size":"low","user_location":{"type":"approximate","approximate":{"city":"Köln","country":"DE"}}}`, llm.Conversation{
			Tools: []llm.Tool{{Hosted: "web_search", Search: &llm.Search{ContextSize: "low", Place: llm.Place{City: "Köln", Country: "DE"}}}},
		}},
		"effort":            {`"reasoning_effort":"high"`, llm.Conversation{Effort: llm.Effort{Level: "high"}}},
		"reasoning":         {`"reasoning":{"max_tokens":100,"exclude":true}`, llm.Conversation{Effort: llm.Effort{Budget: 100, Hide: true}}},
		"reasoning enabled": {`"reasoning":{"enabled":true}`, llm.Conversation{Effort: llm.Effort{Adaptive: true}}},
		"thinking disabled": {`"thinking":{"type":"disabled"}`, llm.Conversation{Effort: llm.Effort{Level: "none"}}},
		"thinking":          {`"thinking":{"type":"enabled","budget_tokens":2048}`, llm.Conversation{Effort: llm.Effort{Budget: 2048}}},
		"adaptive thinking": {`"thinking":{"type":"adaptive","display":"omitted"}`, llm.Conversation{Effort: llm.Effort{Adaptive: true, Hide: true}}},
		"tools": {
			`"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":` + string(schema) + `,"strict":true},"cache_control":{"type":"ephemeral"}},` +
				`{"type":"custom","custom":{"name":"c","format":{"type":"text"}}},{"type":"web_search","x":[1]}],"tool_choice":"required","parallel_tool_calls":true`,
			llm.Conversation{
				Tools: []llm.Tool{
					{Name: "f", Description: "d", Schema: schema, Strict: new(true), Cache: &llm.CacheMark{}},
					{Name: "c", Custom: true, Format: json.RawMessage(`{"type":"text"}`)},
					{Hosted: "web_search", Raw: json.RawMessage(`{"type":"web_search","x":[1]}`), Search: &llm.Search{}},
				},
				ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust}, ParallelTools: new(true),
			},
		},
		"legacy functions": {
			`"functions":[{"name":"f","parameters":{}}],"function_call":{"name":"f"}`,
			llm.Conversation{Tools: []llm.Tool{{Name: "f", Schema: json.RawMessage(`{}`)}}, ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"f"}}},
		},
		"one tool":          {`"tool_choice":{"type":"custom","custom":{"name":"c"}}`, llm.Conversation{ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{"c"}}}},
		"allowed tools":     {`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}}`, llm.Conversation{ToolChoice: llm.ToolChoice{Mode: llm.ChoiceAuto, Names: []string{"f"}}}},
		"no tool":           {`"tool_choice":"none"`, llm.Conversation{ToolChoice: llm.ToolChoice{Mode: llm.ChoiceNone}}},
		"an unknown choice": {`"tool_choice":{"type":"web_search"}`, llm.Conversation{Dropped: []string{"tool_choice"}}},
		"JSON":              {`"response_format":{"type":"json_object"}`, llm.Conversation{Output: llm.Output{Kind: llm.OutputJSON}}},
		"a schema":          {`"response_format":{"type":"json_schema","json_schema":{"name":"n","description":"d","strict":true,"schema":` + string(schema) + `}}`, llm.Conversation{Output: llm.Output{Kind: llm.OutputSchema, Name: "n", Description: "d", Strict: new(true), Schema: schema}}},
		"plain text":        {`"response_format":{"type":"text"}`, llm.Conversation{}},
		"an unknown format": {`"response_format":{"type":"grammar"}`, llm.Conversation{Dropped: []string{"response_format"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			members := tc.members
			if members != "" {
				members = "," + members
			}
			got := read(t, `{"model":"m","messages":[{"role":"user","content":"x"}]`+members+`}`)
			want := tc.want
			want.Choices = max(want.Choices, 1)
			want.Messages = []llm.Message{messageOf(llm.User, textPart("x"))}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConversationRejectsUnsupportedContent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ body, param string }{
		"an unknown part":             {`"messages":[{"role":"user","content":[{"type":"video_url","video_url":{}}]}]`, "messages[0].content[0].type"},
		"an unknown role":             {`"messages":[{"role":"robot","content":"x"}]`, "messages[0].role"},
		"a number as content":         {`"messages":[{"role":"user","content":7}]`, "messages[0].content"},
		"a broken data URL":           {`"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,!"}}]}]`, "messages[0].content[0].image_url.url"},
		"an image without content":    {`"messages":[{"role":"user","content":[{"type":"image_url"}]}]`, "messages[0].content[0].image_url.url"},
		"invalid audio":               {`"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"!!","format":"wav"}}]}]`, "messages[0].content[0].input_audio.data"},
		"a tool without a name":       {`"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{}}]`, "tools[0].function.name"},
		"a tool without a definition": {`"messages":[{"role":"user","content":"x"}],"tools":[{"type":"function"}]`, "tools[0].function"},
		"a string as a number":        {`"messages":[{"role":"user","content":"x"}],"top_k":"5"`, "top_k"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := decode(t, llm.Chat, `{"model":"m",`+tc.body+`}`)
			_, err := req.Translate()
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind != llm.Untranslatable || e.Param != tc.param || e.Details["problems"] == nil {
				t.Errorf("got %v with param %q, want Untranslatable with param %q", err, llm.AsError(err).Param, tc.param)
			}
		})
	}
}

func TestUnknownMembersOfMessagesAreReportedOnce(t *testing.T) {
	t.Parallel()
	conv := read(t, `{"model":"m","messages":[{"role":"assistant","content":"x","annotations":[],"prefix":true},{"role":"assistant","content":"y","prefix":true,"odd":1,"none":null}]}`)
	if diff := cmp.Diff([]string{"messages.prefix", "messages.odd"}, conv.Dropped); diff != "" {
		t.Error(diff)
	}
}

// conversations lists the inputs of the round-trip test and the fuzz test.
var conversations = []string{
	`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"u","name":"ann"},{"role":"assistant","content":"a"}]}`,
	`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC","detail":"high"}},` +
		`{"type":"image_url","image_url":{"url":"https://x"}},{"type":"input_audio","input_audio":{"data":"AAEC","format":"mp3"}},{"type":"input_audio","input_audio":{"data":"AAEC","format":"wav"}},` +
		`{"type":"file","file":{"file_id":"f"}},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AAEC"}}]}]}`,
	`{"model":"m","messages":[{"role":"user","content":"x","cache_control":{"type":"ephemeral"}},{"role":"assistant","content":"y","refusal":"no","cache_control":{"type":"ephemeral"},"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"custom","custom":{"name":"g","input":"i"},"extra_content":{"google":{"thought_signature":"s"},"fairlead":{"provider":"p"}}}]},` +
		`{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":[{"type":"text","text":"1"},{"type":"text","text":"2"}],"cache_control":{"type":"ephemeral"}}]}`,
	`{"model":"m","messages":[{"role":"assistant","content":[{"type":"refusal","refusal":"r"},{"type":"text","text":"t"}],"reasoning_content":"ab","thinking_blocks":[{"thinking":"a","signature":"s","provider":"p"},{"data":"d","provider":"q"},{"thinking":"b"}],"audio":{"id":"i"}}]}`,
	`{"model":"m","messages":[{"role":"assistant","function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"1"}],"functions":[{"name":"f","parameters":{"b":1,"a":2}}],"function_call":"auto"}`,
	`{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"z":1,"a":2},"strict":false},"cache_control":{"type":"ephemeral"}},{"type":"custom","custom":{"name":"c","format":{"type":"text"}}}],` +
		`"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"c"}}]}},"parallel_tool_calls":false}`,
	`{"model":"m","messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"custom","custom":{"name":"c"}},"tools":[{"type":"custom","custom":{"name":"c"}}],"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"b":1,"a":1},"strict":true}}}`,
	`{"model":"m","messages":[{"role":"user","content":"x"}],"n":3,"max_tokens":7,"stop":["a","b"],"temperature":0.10,"top_p":1e-7,"top_k":5,"seed":9007199254740993,"frequency_penalty":0,"presence_penalty":1,"logprobs":true,"top_logprobs":2,"verbosity":"low","user":"u","service_tier":"flex"}`,
	`{"model":"m","messages":[{"role":"user","content":"x"}],"reasoning":{"effort":"low","max_tokens":5,"exclude":true},"response_format":{"type":"json_object"}}`,
	`{"model":"m","messages":[{"role":"user","content":"x"}],"thinking":{"type":"adaptive"}}`,
}

// everything returns options for a provider that supports all extensions of the format.
func everything() EncodeOptions {
	return EncodeOptions{
		Model: "m", Accepts: Accepts{Thinking: true, Reasoning: true, CacheMarks: true, AllowedTools: true, CustomTools: true, TopK: true},
		Signers: func(string) bool { return true }, NameSigners: true,
	}
}

// roundTrip encodes a conversation and decodes it again.
func roundTrip(t *testing.T, conv *llm.Conversation) *llm.Conversation {
	t.Helper()
	body, _ := EncodeRequest(conv, everything())
	req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, body)
	if err != nil {
		t.Fatalf("round trip: %v in %s", err, body)
	}
	again, err := req.Translate()
	if err != nil {
		t.Fatalf("round trip: %v in %s", err, body)
	}
	return again
}

func TestConversationRoundTrip(t *testing.T) {
	t.Parallel()
	for _, body := range conversations {
		conv := read(t, body)
		again := roundTrip(t, conv)
		if diff := cmp.Diff(conv, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", body, diff)
		}
	}
}

func FuzzConversation(f *testing.F) {
	for _, body := range conversations {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, body)
		if err != nil {
			return
		}
		conv, err := req.Translate()
		if err != nil {
			if kind := llm.AsError(err).Kind; kind != llm.Untranslatable {
				t.Fatalf("rejected as %s: %v, want Untranslatable", kind, err)
			}
			return
		}
		if hosted(conv) || conv.Output.Name == "" && conv.Output.Kind == llm.OutputSchema {
			return // the format requires a schema name and cannot express hosted tools
		}
		// Encoding is idempotent: a second round trip does not change the conversation.
		once := roundTrip(t, conv)
		twice := roundTrip(t, once)
		if diff := cmp.Diff(once, twice, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}
	})
}

func hosted(conv *llm.Conversation) bool {
	for _, tool := range conv.Tools {
		if tool.Hosted != "" {
			return true
		}
	}
	return false
}

func TestRenderDropsUnsupportedContent(t *testing.T) {
	t.Parallel()
	conv := read(t, conversations[3])
	conv.Tools = []llm.Tool{{Name: "f"}, {Name: "g"}, {Hosted: "web_search"}}
	conv.ToolChoice = llm.ToolChoice{Mode: llm.ChoiceAuto, Names: []string{"g"}}
	conv.Sampling.TopK = "4"
	conv.Effort = llm.Effort{Budget: 4096}
	conv.ServiceTier = "standard_only"
	conv.Dropped = []string{"odd"}
	conv.Messages = append(conv.Messages, messageOf(llm.User,
		textPart("first"), llm.Part{Kind: llm.ResultPart, Result: &llm.ToolResult{ID: "i", Failed: true, Parts: []llm.Part{textPart("out"), {Kind: llm.ImagePart, Media: &llm.Media{URL: "https://x"}}}}},
	))
	body, leftOut := EncodeRequest(conv, EncodeOptions{Model: "m", Stream: true})
	want := `{"model":"m","messages":[{"role":"assistant","content":[{"type":"refusal","refusal":"r"},{"type":"text","text":"t"}],"audio":{"id":"i"}},` +
		`{"role":"tool","tool_call_id":"i","content":"out"},{"role":"user","content":[{"type":"text","text":"first"},{"type":"image_url","image_url":{"url":"https://x"}}]}],` +
		`"stream":true,"tools":[{"type":"function","function":{"name":"g"}}],"tool_choice":"auto","reasoning_effort":"medium"}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff("odd|the tool web_search|top_k|service_tier", strings.Join(leftOut, "|")); diff != "" {
		t.Error(diff)
	}
}

func TestToolResultsFollowEachOther(t *testing.T) {
	t.Parallel()
	picture := llm.Part{Kind: llm.ImagePart, Media: &llm.Media{Type: "image/png", Data: "AAEC"}}
	conv := &llm.Conversation{Messages: []llm.Message{
		messageOf(llm.Assistant, thinkingPart(llm.Thinking{Text: "hm", Signature: "s"})),
		messageOf(llm.Assistant, callPart(llm.ToolCall{ID: "a", Name: "f"}), callPart(llm.ToolCall{ID: "b", Name: "f"})),
		toolResult("a", "f", textPart("1"), picture), toolResult("b", "f", textPart("2")), messageOf(llm.User, textPart("so?")),
	}}
	body, _ := EncodeRequest(conv, EncodeOptions{Model: "m"})
	want := `{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}},{"id":"b","type":"function","function":{"name":"f","arguments":""}}]},` +
		`{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"},` +
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"}}]},{"role":"user","content":"so?"}]}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Error(diff)
	}
}

func TestNoToolSettingsWithoutTools(t *testing.T) {
	t.Parallel()
	conv := &llm.Conversation{
		Messages: []llm.Message{messageOf(llm.User, textPart("x"))}, Tools: []llm.Tool{{Hosted: "web_search"}},
		ToolChoice: llm.ToolChoice{Mode: llm.ChoiceMust}, ParallelTools: new(false),
	}
	body, leftOut := EncodeRequest(conv, EncodeOptions{Model: "m"})
	if diff := cmp.Diff(`{"model":"m","messages":[{"role":"user","content":"x"}]}`, string(body)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the tool web_search"}, leftOut); diff != "" {
		t.Error(diff)
	}
}

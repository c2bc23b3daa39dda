package anthropic

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func decoded(t *testing.T, body string) *llm.Request {
	t.Helper()
	req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestDecodeDescribesTheRequest(t *testing.T) {
	t.Parallel()
	req := decoded(t, `{
		"model":"auto:cost","max_tokens":100,"stream":true,"system":[{"type":"text","text":"Be brief."}],
		"temperature":0.5,"top_k":null,"thinking":{"type":"adaptive"},"service_tier":"auto",
		"output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}},
		"tools":[{"name":"t","input_schema":{"type":"object"}}],
		"metadata":{"user_id":"u-1"},"models":["a","b"],"session_id":"s-1",
		"provider":{"order":["x"],"allow_fallbacks":false,"sort":"price","max_price":{"prompt":"1.5"},"data_collection":"deny","zdr":true},
		"messages":[
			{"role":"user","content":"first"},
			{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},{"type":"tool_use","id":"1","name":"t","input":{}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"url","url":"https://a.test/b.png"}}]},
				{"type":"text","text":"  Und nun, Käpt'n?\nJa."},
				{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},
				{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}}]}]}`)
	price := 1.5
	want := &llm.Request{
		Op: llm.Chat, Model: "auto:cost", Payload: llm.Payload{Format: "messages"},
		Needs:           llm.Tools | llm.Vision | llm.Files | llm.JSONSchema | llm.Reasoning,
		ResponseOptions: llm.ResponseOptions{Stream: true, MaxOutput: 100, Choices: 1, Effort: llm.CustomEffort, Sampling: []string{"temperature"}, ServiceTier: "auto"},
		Prompt:          llm.Prompt{Messages: 4, Preview: "Und nun, Käpt'n? Ja."},
		Attachments:     llm.Attachments{Images: 2, ImageURLs: 1, ImageBytes: 12, AttachedBytes: 8, Unsized: 1},
		Labels:          llm.Labels{EndUser: "u-1"},
		Controls: llm.Controls{Models: []string{"a", "b"}, SessionID: "s-1", Provider: llm.ProviderPreferences{
			Order: []string{"x"}, NoFallbacks: true, Sort: "price", MaxPrice: &llm.MaxPrice{Prompt: &price}, DenyCollection: true, ZeroRetention: true,
		}},
	}
	if diff := cmp.Diff(want, req, cmpopts.IgnoreFields(llm.Request{}, "Body", "Fields", "ASCIIBytes", "NonASCIIBytes", "Text", "Asked", "Answers", "Plain", "Conversation")); diff != "" {
		t.Error(diff)
	}
	if req.NonASCIIBytes != 2 || req.ASCIIBytes < 60 || req.ASCIIBytes > 160 {
		t.Errorf("%d ASCII and %d other bytes of text, want 60 to 160 and 2", req.ASCIIBytes, req.NonASCIIBytes)
	}
}

func TestAnthropicFeaturesNeedItsModels(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]bool{
		`"tools":[{"type":"code_execution_20250825","name":"c"}],"messages":"x"`:                                      true,
		`"tools":[{"type":"mcp_toolset","mcp_server_name":"m"}],"messages":"x"`:                                       true,
		`"tools":[{"type":"bash_20250124","name":"bash"},{"type":"web_search_20250305"},{"name":"f"}],"messages":"x"`: false,
		`"mcp_servers":[{"name":"m"}],"messages":"x"`:                                                                 true,
		`"mcp_servers":[],"container":null,"messages":"x"`:                                                            false,
		`"container":{"skills":[]},"messages":"x"`:                                                                    true,
		`"messages":[{"type":"image","source":{"type":"file","file_id":"file_011"}}]`:                                 true,
		`"messages":[{"type":"document","source":{"type":"url","url":"https://x"},"citations":{"enabled":true}}]`:     true,
		`"messages":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"x"}]}]`:       false,
		`"messages":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"f"}]}]`: false,
	} {
		at, content, _ := strings.Cut(members, `"messages":`)
		req := decoded(t, `{"model":"m","max_tokens":1,`+at+`"messages":[{"role":"user","content":`+content+`}]}`)
		if got := req.Needs.Has(llm.MessagesAPI); got != want {
			t.Errorf("%s: needs Anthropic %t, want %t", members, got, want)
		}
	}
}

func TestDecodeRejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	const rest = `"max_tokens":1,"messages":[{"role":"user","content":"x"}]`
	for name, tc := range map[string]struct {
		body   string
		kind   llm.Kind
		params []string
	}{
		"not JSON":                      {`{`, llm.InvalidJSON, []string{""}},
		"a list":                        {`[]`, llm.InvalidRequest, []string{""}},
		"an empty object":               {`{}`, llm.InvalidRequest, []string{"model", "messages", "max_tokens"}},
		"nulls":                         {`{"model":null,"messages":null,"max_tokens":null}`, llm.InvalidRequest, []string{"model", "messages", "max_tokens"}},
		"wrong types":                   {`{"model":1,"messages":{},"max_tokens":"5","stream":"yes","system":5,"tools":{}}`, llm.InvalidRequest, []string{"model", "messages", "max_tokens", "stream", "system", "tools"}},
		"an empty name":                 {`{"model":" ",` + rest + `}`, llm.InvalidRequest, []string{"model"}},
		"a repeated key":                {`{"model":"a","model":"b",` + rest + `}`, llm.InvalidRequest, []string{"model"}},
		"a misspelled key":              {`{"Model":"a",` + rest + `}`, llm.InvalidRequest, []string{"Model"}},
		"no messages":                   {`{"model":"a","max_tokens":1,"messages":[]}`, llm.InvalidRequest, []string{"messages"}},
		"messages of a wrong type":      {`{"model":"a","max_tokens":1,"messages":[1,{"role":"tool","content":"x"},{"role":"user"},{"role":"user","content":[1,{"text":"x"},{"type":"text"}]}]}`, llm.InvalidRequest, []string{"messages[0]", "messages[1].role", "messages[2].content", "messages[3].content[0]", "messages[3].content[1].type", "messages[3].content[2].text"}},
		"a fractional limit":            {`{"model":"a","max_tokens":1.5,"messages":[{"role":"user","content":"x"}]}`, llm.InvalidRequest, []string{"max_tokens"}},
		"a limit of zero":               {`{"model":"a","max_tokens":0,"messages":[{"role":"user","content":"x"}]}`, llm.InvalidRequest, []string{"max_tokens"}},
		"preferences of a wrong type":   {`{"model":"a","provider":{"order":"x","sort":"luck","max_price":{"prompt":-1},"Only":[]},"models":[1],` + rest + `}`, llm.InvalidRequest, []string{"provider.order", "provider.sort", "provider.max_price.prompt", "provider.Only", "models"}},
		"a misspelled key in a message": {`{"model":"a","max_tokens":1,"messages":[{"Role":"user","content":"x"}]}`, llm.InvalidRequest, []string{"messages[0].Role"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(tc.body))
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || e.Kind != tc.kind {
				t.Fatalf("decode: %v, want %s", err, tc.kind)
			}
			var params []string
			for _, p := range e.Details["problems"].([]map[string]string) {
				params = append(params, p["param"])
				if p["message"] == "" {
					t.Error("a problem without a message")
				}
			}
			if diff := cmp.Diff(tc.params, params); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCountingNeedsNoLimit(t *testing.T) {
	t.Parallel()
	body := []byte(`{"model":"a","messages":[{"role":"user","content":"x"}]}`)
	if _, err := (Format{}).DecodeRequest(t.Context(), llm.Count, body); err != nil {
		t.Error(err)
	}
	if _, err := (Format{}).DecodeRequest(t.Context(), llm.Embed, body); err == nil {
		t.Error("DecodeRequest of an embeddings request returned no error")
	}
}

// Deeply nested values must be read only once.
func TestDeepBodiesAreReadOnce(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, 500) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", 500)
	req := decoded(t, `{"model":"a","max_tokens":1,"messages":[{"role":"user","content":[{"type":"tool_use","id":"1","name":"n","input":`+deep+`}]}]}`)
	if req.ASCIIBytes < 1<<20 {
		t.Errorf("%d bytes counted, want at least 1 MiB", req.ASCIIBytes)
	}
	nested := strings.Repeat(`{"type":"tool_result","content":[`, 250) + strings.Repeat(`]}`, 250)
	if _, err := decoded(t, `{"model":"a","max_tokens":1,"messages":[{"role":"user","content":[`+nested+`]}]}`).Translate(); err != nil {
		t.Error(err)
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for _, seed := range []string{
		`{"model":"a","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`,
		`{"model":"a","max_tokens":1,"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"fairlead.e30"},{"type":"tool_use","id":"fl2_YQ","name":"n","input":{"a":[1]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"fl2_YQ","content":"x","is_error":true},{"type":"document","source":{"type":"text","data":"d"}}]}],"tools":[{"name":"n"},{"type":"web_search_20250305","name":"w"}],"tool_choice":{"type":"tool","name":"n"},"output_config":{"effort":"low","format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"minimum":1}}}}}}`,
		`{"model":1,"provider":{"max_price":{"prompt":"x"}}}`,
		`{"model":"a","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"thinking","signature":"fairlead."}]}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, body)
		if err != nil {
			if _, ok := errors.AsType[*llm.Error](err); !ok {
				t.Fatalf("%v is not an *llm.Error", err)
			}
			return
		}
		conv, err := req.Translate()
		if err != nil {
			t.Fatal(err)
		}
		for _, traits := range []Traits{{}, {Schemas: true, Thinking: AdaptiveThinking, Efforts: []string{"low"}, ThinksByDefault: true}, {Thinking: BudgetThinking, NoForcedTools: true}} {
			out, _, err := Render(t.Context(), conv, RenderOptions{Model: "m", Traits: traits})
			if err != nil {
				continue
			}
			if _, err := (Format{}).DecodeRequest(t.Context(), llm.Chat, out); err != nil {
				t.Fatalf("%s\nwas encoded as\n%s\nwhich is rejected: %v", body, out, err)
			}
		}
		out, lost := rewritten(req, Edit{Model: "m", Signer: "x"})
		if lost && rawjson.Get(out, "messages.#").Int() == 0 {
			return // Rewrite removed all messages, because they contained only thinking of other providers
		}
		if again, err := (Format{}).DecodeRequest(t.Context(), llm.Chat, out); err != nil || again.Model != "m" {
			t.Fatalf("%s\nwas rewritten to\n%s: %v, want model m", body, out, err)
		}
	})
}

func TestDecodeKeepsCacheMarks(t *testing.T) {
	t.Parallel()
	const mark = `,"cache_control":{"type":"ephemeral","ttl":"1h"}}`
	for _, block := range []string{
		`{"type":"text","text":"x"` + mark,
		`{"type":"document","source":{"type":"content","content":[{"type":"text","text":"x"}]}` + mark,
		`{"type":"image","source":{"type":"url","url":"https://a.test/b.png"}` + mark,
		`{"type":"tool_result","tool_use_id":"t","content":"x"` + mark,
		`{"type":"search_result","source":"https://a.test","title":"x","content":[]` + mark,
	} {
		req := decoded(t, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[`+block+`]}]}`)
		if parts := req.Conversation.Messages[0].Parts; len(parts) != 1 || parts[0].Cache == nil || parts[0].Cache.TTL != "1h" {
			t.Errorf("%s was decoded as %+v, want a cache mark of an hour", block, parts)
		}
	}
}

func TestInlineDataOfUnknownBlocksIsNotText(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("AAAA", 1000)
	req := decoded(t, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"video","title":"T","source":{"type":"base64","media_type":"video/mp4","data":"`+data+`"}}]}]}`)
	if req.AttachedBytes != len(data) || req.Unsized != 1 || req.ASCIIBytes == 0 || req.ASCIIBytes > 100 {
		t.Errorf("%d attached bytes, %d attachments and %d bytes of text; want %d, 1 and 1 to 100", req.AttachedBytes, req.Unsized, req.ASCIIBytes, len(data))
	}
}

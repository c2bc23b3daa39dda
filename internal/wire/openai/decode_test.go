package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

const hello = `"messages":[{"role":"user","content":"hi"}]`

// request appends members to a minimal chat request.
func request(extra string) string {
	if extra != "" {
		extra = "," + extra
	}
	return `{"model":"auto",` + hello + extra + `}`
}

func decode(t testing.TB, op llm.Op, body string) *llm.Request {
	t.Helper()
	req, err := Format{}.DecodeRequest(t.Context(), op, []byte(body))
	if err != nil {
		t.Fatalf("decode %s: %v", show.Cut(body, 200), err)
	}
	return req
}

// decodeError returns the error for a body that must be rejected.
func decodeError(t *testing.T, op llm.Op, body string) *llm.Error {
	t.Helper()
	req, err := Format{}.DecodeRequest(t.Context(), op, []byte(body))
	if err == nil {
		t.Fatalf("decode of %s: got no error, but %+v", show.Cut(body, 200), req)
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("%v is not an *llm.Error", err)
	}
	problems, ok := e.Details["problems"].([]map[string]string)
	if !ok || len(problems) == 0 || problems[0]["message"] != e.Message || problems[0]["param"] != e.Param {
		t.Errorf("problems are %v, want %q first", e.Details["problems"], e.Message)
	}
	if !utf8.ValidString(e.Message) || len(e.Message) > 600 || !strings.HasSuffix(e.Message, ".") {
		t.Errorf("message %q, want a sentence of at most 600 bytes", e.Message)
	}
	return e
}

// described maps test names to a body and the fields that are decoded from it.
type described map[string]struct {
	body string
	want llm.Request
}

// check decodes the bodies. A want without choices means one choice.
func (all described) check(t *testing.T, op llm.Op) {
	t.Helper()
	for name, tc := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.Op, tc.want.Format, tc.want.Choices = op, Name, max(tc.want.Choices, 1)
			got := decode(t, op, tc.body)
			if diff := cmp.Diff(&tc.want, got, cmpopts.IgnoreFields(llm.Request{}, "Body", "Fields", "Conversation", "Text", "ImageSizes", "Asked", "Answers", "Plain")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// checkRejected decodes objects with the given members after first and compares the parameter that the error names.
func checkRejected(t *testing.T, op llm.Op, first string, params map[string]string) {
	t.Helper()
	for members, param := range params {
		if e := decodeError(t, op, `{`+first+members+`}`); e.Param != param {
			t.Errorf("%s: error for %q, want %q", show.Cut(members, 80), e.Param, param)
		}
	}
}

func TestDecodeChatDescribesTheRequest(t *testing.T) {
	t.Parallel()
	described{
		"minimal": {
			request(""),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}},
		},
		"null fields are absent": {
			request(`"stream":null,"stream_options":null,"n":null,"max_tokens":null,"max_completion_tokens":null,"tools":null,
				"response_format":null,"models":null,"provider":null,"session_id":null,"user":null,"metadata":null,"temperature":null,
				"logprobs":null,"logit_bias":null,"reasoning_effort":null,"reasoning":null,"thinking":null,"modalities":null,
				"parallel_tool_calls":null,"functions":null,"service_tier":null,"safety_identifier":null,"top_p":null`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}},
		},
		"numbers": {
			request(`"n":3,"max_tokens":1e3,"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 3, MaxOutput: 1000, Stream: true, IncludeUsage: true}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}, Needs: llm.ManyChoices},
		},
		"both limits with one value": {
			request(`"max_tokens":10,"max_completion_tokens":10.0`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1, MaxOutput: 10}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}},
		},
		"one limit and a null": {
			request(`"max_tokens":null,"max_completion_tokens":7`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1, MaxOutput: 7}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}},
		},
		"sampling in the order sent": {
			request(`"top_p":1,"temperature":0,"logprobs":false,"presence_penalty":0.5,"frequency_penalty":1,"top_logprobs":2,"logit_bias":{}`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1, Sampling: []string{"top_p", "temperature", "logprobs", "presence_penalty", "frequency_penalty", "top_logprobs", "logit_bias"}}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}},
		},
		"accounts": {
			request(`"user":"u","safety_identifier":"s","service_tier":"flex","metadata":{"a":"b","n":1,"o":{"a":"x"}},"session_id":"s-1"`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1, ServiceTier: "flex"}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}, Labels: llm.Labels{EndUser: "u", Metadata: map[string]string{"a": "b"}}, Controls: llm.Controls{SessionID: "s-1"}},
		},
		"safety identifier instead of user": {
			request(`"safety_identifier":"s"`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}, Labels: llm.Labels{EndUser: "s"}},
		},
		"routing preferences": {
			request(`"models":["a","b/c"],"provider":{"order":["x"],"only":["y"],"ignore":["z"],"allow_fallbacks":false,"require_parameters":true,
				"sort":"price","max_price":{"prompt":"1.5","completion":2,"image":9},"data_collection":"deny","zdr":true,"quantizations":["fp8"]}`),
			llm.Request{
				Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2},
				Controls: llm.Controls{Models: []string{"a", "b/c"}, Provider: llm.ProviderPreferences{
					Order: []string{"x"}, Only: []string{"y"}, Ignore: []string{"z"}, NoFallbacks: true, RequireParameters: true, Sort: "price",
					MaxPrice: &llm.MaxPrice{Prompt: new(1.5), Completion: new(2.0)}, DenyCollection: true, ZeroRetention: true,
				}},
			},
		},
		"null fallbacks are allowed": {
			request(`"provider":{"allow_fallbacks":null,"sort":null,"max_price":null,"order":null}`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}},
		},
		"parts": {
			`{"messages":[{"content":[{"type":"text","text":"see"},{"image_url":{"url":"data:image/png;base64,AAAA"},"type":"image_url"},
				{"type":"image_url","image_url":{"url":"https://example.com/a.png"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}},
				{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA"}},{"type":"text","text":"this"}],"role":"user"}],"model":"m"}`,
			llm.Request{Model: "m", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "see"}, PromptSize: llm.PromptSize{ASCIIBytes: 7}, Attachments: llm.Attachments{Images: 2, ImageURLs: 1, ImageBytes: 4, AttachedBytes: 8, Unsized: 2}, Needs: llm.Vision | llm.AudioIn | llm.Files},
		},
		"escapes count as the character they stand for": {
			`{"model":"m","messages":[{"role":"user","content":"a\n\u00e9\ud83d\ude42\u20ac\u0000ü"}]}`,
			llm.Request{Model: "m", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "a é🙂€ ü"}, PromptSize: llm.PromptSize{ASCIIBytes: 3, NonASCIIBytes: 11}},
		},
		"tool loops": {
			`{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"c1","content":"ok"}],"tools":[{"type":"function","function":{"name":"f"}}],"parallel_tool_calls":true}`,
			llm.Request{Model: "m", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 3, Preview: "go"}, PromptSize: llm.PromptSize{ASCIIBytes: 71}, Needs: llm.Tools | llm.ParallelTools},
		},
		"empty tools need no capability": {
			request(`"tools":[],"functions":[]`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}},
		},
		"functions": {
			request(`"functions":[{"name":"f"}]`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 27}, Needs: llm.Tools},
		},
		"formats": {
			request(`"response_format":{"type":"json_schema","json_schema":{"name":"n"}},"modalities":["text","audio"],"logprobs":true,"reasoning_effort":"low"`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1, Sampling: []string{"logprobs"}, Effort: "low"}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 7}, Needs: llm.JSONSchema | llm.AudioOut | llm.Logprobs | llm.Reasoning},
		},
		"JSON mode": {
			request(`"response_format":{"type":"json_object"}`),
			llm.Request{Model: "auto", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}, Needs: llm.JSONMode},
		},
		"thinking enabled":  {request(`"thinking":{"type":"enabled","budget_tokens":1024}`), llm.Request{ResponseOptions: llm.ResponseOptions{Effort: llm.CustomEffort, Choices: 1}, Model: "auto", Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}, Needs: llm.Reasoning}},
		"thinking disabled": {request(`"thinking":{"type":"disabled"},"reasoning":{"effort":"none"},"reasoning_effort":"none"`), llm.Request{ResponseOptions: llm.ResponseOptions{Effort: "none", Choices: 1}, Model: "auto", Prompt: llm.Prompt{Messages: 1, Preview: "hi"}, PromptSize: llm.PromptSize{ASCIIBytes: 2}}},
		"the last user message is previewed": {
			`{"model":"m","messages":[{"role":"user","content":"one"},{"role":"user","content":" \n\ttwo"},{"role":"assistant","content":"three"}]}`,
			llm.Request{Model: "m", ResponseOptions: llm.ResponseOptions{Choices: 1}, Prompt: llm.Prompt{Messages: 3, Preview: "two"}, PromptSize: llm.PromptSize{ASCIIBytes: 14}},
		},
	}.check(t, llm.Chat)
}

func TestDecodeRejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		body  string
		kind  llm.Kind
		param string
	}{
		"nothing":                       {"", llm.InvalidJSON, ""},
		"a list":                        {"[]", llm.InvalidRequest, ""},
		"an encoded surrogate":          {request(`"user":"` + "\xed\xa0\x80" + `"`), llm.InvalidJSON, ""},
		"a repeated key":                {`{"model":"a","model":"b",` + hello + `}`, llm.InvalidRequest, "model"},
		"a repeated key in a message":   {`{"model":"m","messages":[{"role":"user","role":"system"}]}`, llm.InvalidRequest, "role"},
		"no model":                      {`{` + hello + `}`, llm.InvalidRequest, "model"},
		"a null model":                  {`{"model":null,` + hello + `}`, llm.InvalidRequest, "model"},
		"an empty model":                {`{"model":" ",` + hello + `}`, llm.InvalidRequest, "model"},
		"a numeric model":               {`{"model":5,` + hello + `}`, llm.InvalidRequest, "model"},
		"a long model":                  {`{"model":"` + strings.Repeat("m", 300) + `",` + hello + `}`, llm.InvalidRequest, "model"},
		"a model with a line break":     {`{"model":"a\nb",` + hello + `}`, llm.InvalidRequest, "model"},
		"no messages":                   {`{"model":"m"}`, llm.InvalidRequest, "messages"},
		"empty messages":                {`{"model":"m","messages":[]}`, llm.InvalidRequest, "messages"},
		"messages as text":              {`{"model":"m","messages":"hi"}`, llm.InvalidRequest, "messages"},
		"a message as text":             {`{"model":"m","messages":["hi"]}`, llm.InvalidRequest, "messages[0]"},
		"a message without role":        {`{"model":"m","messages":[{"role":"user"},{"content":"x"}]}`, llm.InvalidRequest, "messages[1].role"},
		"a numeric role":                {`{"model":"m","messages":[{"role":1}]}`, llm.InvalidRequest, "messages[0].role"},
		"stream as text":                {request(`"stream":"true"`), llm.InvalidRequest, "stream"},
		"stream options as a list":      {request(`"stream_options":[]`), llm.InvalidRequest, "stream_options"},
		"usage option as a number":      {request(`"stream_options":{"include_usage":1}`), llm.InvalidRequest, "stream_options.include_usage"},
		"tools as an object":            {request(`"tools":{}`), llm.InvalidRequest, "tools"},
		"a format as text":              {request(`"response_format":"json"`), llm.InvalidRequest, "response_format"},
		"models as text":                {request(`"models":"a"`), llm.InvalidRequest, "models"},
		"models with a number":          {request(`"models":["a",1]`), llm.InvalidRequest, "models"},
		"models with an empty name":     {request(`"models":[""]`), llm.InvalidRequest, "models"},
		"too many models":               {request(`"models":[` + strings.Repeat(`"a",`, 100) + `"a"]`), llm.InvalidRequest, "models"},
		"provider as text":              {request(`"provider":"x"`), llm.InvalidRequest, "provider"},
		"an unknown sort":               {request(`"provider":{"sort":"best"}`), llm.InvalidRequest, "provider.sort"},
		"a negative price":              {request(`"provider":{"max_price":{"prompt":-1}}`), llm.InvalidRequest, "provider.max_price.prompt"},
		"a price that is not a number":  {request(`"provider":{"max_price":{"completion":"NaN"}}`), llm.InvalidRequest, "provider.max_price.completion"},
		"an unknown data rule":          {request(`"provider":{"data_collection":"maybe"}`), llm.InvalidRequest, "provider.data_collection"},
		"a session that is a number":    {request(`"session_id":1`), llm.InvalidRequest, "session_id"},
		"metadata as a list":            {request(`"metadata":[]`), llm.InvalidRequest, "metadata"},
		"conflicting limits":            {request(`"max_tokens":10,"max_completion_tokens":11`), llm.InvalidRequest, "max_tokens"},
		"a misspelled key":              {request(`"Model":"b"`), llm.InvalidRequest, "Model"},
		"a key with NUL":                {request(`"model\u0000x":"b"`), llm.InvalidRequest, "model\x00x"},
		"a key with brackets":           {request(`"model[]":"b"`), llm.InvalidRequest, "model[]"},
		"a misspelled key with long s":  {request(`"me\u017F\u017Fages":[]`), llm.InvalidRequest, "meſſages"},
		"a misspelled key with Kelvin":  {request(`"max_to` + "\u212a" + `ens":1`), llm.InvalidRequest, "max_to\u212aens"},
		"a misspelled key in options":   {request(`"stream_options":{"Include_Usage":true}`), llm.InvalidRequest, "stream_options.Include_Usage"},
		"a misspelled key in a message": {`{"model":"m","messages":[{"role":"user","Content":"x"}]}`, llm.InvalidRequest, "messages[0].Content"},
		"a misspelled key in a part":    {`{"model":"m","messages":[{"role":"user","content":[{"Type":"image_url"}]}]}`, llm.InvalidRequest, "messages.content.Type"},
		"a misspelled key in provider":  {request(`"provider":{"Only":[]}`), llm.InvalidRequest, "provider.Only"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := decodeError(t, llm.Chat, tc.body)
			if e.Kind != tc.kind || e.Param != tc.param {
				t.Errorf("got %s %q (%s), want %s %q", e.Kind, e.Param, e.Message, tc.kind, tc.param)
			}
		})
	}
}

func TestDecodeRejectsImplausibleNumbers(t *testing.T) {
	t.Parallel()
	for _, field := range []string{"max_tokens", "max_completion_tokens", "n"} {
		for _, value := range []string{"-1", "0", "9223372036854775808", "1e400", `"10"`, "1.5", "-0", "1e-400", "true", "[1]", "99999999999999999999999999", "0.1e0"} {
			e := decodeError(t, llm.Chat, request(fmt.Sprintf("%q:%s", field, value)))
			if e.Param != field || e.Kind != llm.InvalidRequest {
				t.Errorf("%s = %s: got %s for %q, want InvalidRequest for the field", field, value, e.Kind, e.Param)
			}
		}
	}
	if e := decodeError(t, llm.Chat, request(`"n":129`)); e.Param != "n" {
		t.Errorf("n = 129: %v, want an error for n", e)
	}
}

func TestDecodeKeepsUnusualText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`\ud800`, `\udfff\ud800`, `\u0000`, `\u2028`, "\u2028", `\/`, "\x7f"} {
		req := decode(t, llm.Chat, `{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`)
		if !strings.Contains(string(Render(req, Edit{})), text) {
			t.Errorf("Render does not contain %q", text)
		}
		if !utf8.ValidString(req.Preview) || strings.ContainsFunc(req.Preview, show.Harmful) {
			t.Errorf("preview of %q is %q", text, req.Preview)
		}
	}
}

func TestDecodeListsEveryProblem(t *testing.T) {
	t.Parallel()
	e := decodeError(t, llm.Chat, `{"model":5,"messages":[],"stream":"x","n":0,"Tools":[]}`)
	var params []string
	for _, p := range e.Details["problems"].([]map[string]string) {
		params = append(params, p["param"])
	}
	if diff := cmp.Diff([]string{"model", "messages", "stream", "n", "Tools"}, params); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := decodeError(t, llm.Chat, `{"model":"m","messages":[`+strings.Repeat("1,", 100)+`1]}`)
	if n := len(many.Details["problems"].([]map[string]string)); n != 20 {
		t.Errorf("%d problems, want 20", n)
	}
}

func TestDecodeShortensQuotedValues(t *testing.T) {
	t.Parallel()
	secret := strings.Repeat("long", 200)
	for _, body := range []string{
		`{"model":"` + secret + `",` + hello + `}`, request(`"provider":{"sort":"` + secret + `"}`),
		request(`"n":` + strings.Repeat("9", 800)), request(`"a` + secret + `":1,"a` + secret + `":1`),
	} {
		if e := decodeError(t, llm.Chat, body); len(e.Message) > 350 {
			t.Errorf("message has %d bytes, want at most 350: %s", len(e.Message), e.Message)
		}
	}
}

func TestDecodeKeepsFieldPositions(t *testing.T) {
	t.Parallel()
	req := decode(t, llm.Chat, "{ \"model\" : \"m\" ,\n \"x\\u0079\":[1, 2] , "+hello+" }")
	var got []string
	for _, f := range req.Fields {
		got = append(got, f.Name+"|"+string(req.Body[f.KeyStart:f.Value])+"|"+string(req.Body[f.Value:f.End]))
	}
	want := []string{`model|"model" : |"m"`, `xy|"x\u0079":|[1, 2]`, `messages|"messages":|[{"role":"user","content":"hi"}]`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeLimitsMessages(t *testing.T) {
	t.Parallel()
	e := decodeError(t, llm.Chat, `{"model":"m","messages":[`+strings.Repeat(`{"role":"user"},`, 2*strict.MaxMessages)+`1]}`)
	if e.Kind != llm.InvalidRequest || e.Param != "messages" || !strings.Contains(e.Message, "more than") {
		t.Errorf("%s at %q: %s; want InvalidRequest at messages", e.Kind, e.Param, e.Message)
	}
}

func TestDecodeEmbeddings(t *testing.T) {
	t.Parallel()
	described{
		"a text":         {`{"model":"e","input":"héllo","encoding_format":"base64","dimensions":256,"user":"u"}`, llm.Request{Model: "e", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1, Base64: true, Dimensions: 256}, PromptSize: llm.PromptSize{ASCIIBytes: 4, NonASCIIBytes: 2}, Prompt: llm.Prompt{Preview: "héllo"}, Labels: llm.Labels{EndUser: "u"}}},
		"texts":          {`{"model":"e","input":["a","","bc"],"encoding_format":null,"dimensions":null}`, llm.Request{Model: "e", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 3, Longest: 2.0 / 3}, PromptSize: llm.PromptSize{ASCIIBytes: 3}, Prompt: llm.Prompt{Preview: "a"}}},
		"token ids":      {`{"model":"e","input":[1,2,300],"encoding_format":"float"}`, llm.Request{Model: "e", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1, TokenIDs: 3}}},
		"token id lists": {`{"model":"e","input":[[1,2],[3]]}`, llm.Request{Model: "e", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 2, Longest: 2.0 / 3, TokenIDs: 3}}},
		"chat fields are ignored": {
			`{"model":"e","input":"a","stream":"x","n":0}`, llm.Request{Model: "e", EmbeddingOptions: llm.EmbeddingOptions{Inputs: 1}, PromptSize: llm.PromptSize{ASCIIBytes: 2, ExtraBytes: 1}, Prompt: llm.Prompt{Preview: "a"}},
		},
	}.check(t, llm.Embed)
	checkRejected(t, llm.Embed, `"model":"e",`, map[string]string{
		`"user":"u"`: "input", `"input":null`: "input", `"input":""`: "input", `"input":[]`: "input", `"input":[[]]`: "input", `"input":{}`: "input",
		`"input":5`: "input", `"input":["a",1]`: "input", `"input":[1,"a"]`: "input", `"input":[1.5]`: "input", `"input":[-1]`: "input",
		`"input":[[1],["a"]]`: "input", `"input":[[1],2]`: "input", `"input":[null]`: "input", `"input":[[[1]]]`: "input",
		`"input":["a"` + strings.Repeat(`,"a"`, 2048) + `]`: "input",
		`"input":"a","dimensions":0`:                        "dimensions", `"input":"a","dimensions":"256"`: "dimensions",
		`"input":"a","encoding_format":"int8"`: "encoding_format", `"input":"a","Encoding_format":"float"`: "Encoding_format",
	})
}

func TestPreviewEndsAtARuneBoundary(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("ü", 500), strings.Repeat(`\u20ac`, 500), "x" + strings.Repeat("🙂", 500), strings.Repeat(`\ud83d\ude42`, 300), strings.Repeat(" ", 500) + "x"} {
		got := decode(t, llm.Chat, `{"model":"m","messages":[{"role":"user","content":"`+text+`"}]}`).Preview
		if len(got) > llm.PreviewBytes || !utf8.ValidString(got) || strings.Contains(got, "\ufffd") || got == "" {
			t.Errorf("preview has %d bytes: %q; want valid UTF-8 of at most %d", len(got), got, llm.PreviewBytes)
		}
	}
}

func FuzzDecodeRequest(f *testing.F) {
	for _, seed := range []string{
		request(""), request(`"a":{"b":[1,2.5e-3,"\ud83d\ude42",null,true]}`), string(conversation(500)), `{"model":"e","input":[[1]]}`,
		`{"mod\u0065l":"x","model":"y"}`, "{\"model\":\"\xff\"}", `{"max_tokens":1e400}`, `[]`, `{"Me\u017fsages":1}`,
		request(`"provider":{"max_price":{"prompt":"1"}},"models":["a"]`),
		`{"model":"p","prompt":["a",""],"n":2,"best_of":3,"max_tokens":0,"logprobs":1,"suffix":"s"}`,
		`{"input":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:x"}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, op := range []llm.Op{llm.Chat, llm.Embed, llm.Complete, llm.Moderate} {
			req, err := Format{}.DecodeRequest(t.Context(), op, body)
			if err != nil {
				if _, ok := errors.AsType[*llm.Error](err); !ok {
					t.Fatalf("%v is not an *llm.Error", err)
				}
				continue
			}
			if !json.Valid(body) || !utf8.Valid(body) {
				t.Fatalf("the invalid JSON %q was accepted", body)
			}
			if !utf8.ValidString(req.Preview) || len(req.Preview) > llm.PreviewBytes || req.MaxOutput < 0 || req.Choices < 1 {
				t.Fatalf("%q was decoded as %+v", body, req)
			}
			var members map[string]json.RawMessage
			if err := json.Unmarshal(body, &members); err != nil || len(members) != len(req.Fields) {
				t.Fatalf("%q has %d members, but %d fields were decoded (%v)", body, len(members), len(req.Fields), err)
			}
			if !json.Valid(Render(req, Edit{Model: "m", IncludeUsage: true, Drop: []string{"user"}})) {
				t.Fatalf("%q is rendered as invalid JSON %q", body, Render(req, Edit{}))
			}
		}
	})
}

// TestPropertiesDoNotKeepTheBody checks that the properties of a request, which outlive it in the log, do not share memory with its body.
func TestPropertiesDoNotKeepTheBody(t *testing.T) {
	t.Parallel()
	body := []byte(request(`"models":["other"],"provider":{"order":["first"],"sort":"price"},"session_id":"session","user":"ann","metadata":{"key":"value"},
		"service_tier":"flex","reasoning_effort":"high","temperature":1,"odd":"text","tools":[{"type":"web_search","file_ids":["file-1"]}]`))
	body = bytes.Replace(body, []byte(`"content":"hi"`), []byte(`"content":[{"type":"text","text":"hello"},{"type":"image_url","image_url":{"url":"https://x","detail":"low"}}]`), 1)
	req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Conversation, req.Body, req.Asked = nil, nil, ""
	from := uintptr(unsafe.Pointer(unsafe.SliceData(body)))
	var check func(path string, v reflect.Value)
	check = func(path string, v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			if at := uintptr(unsafe.Pointer(unsafe.StringData(v.String()))); v.Len() > 0 && at >= from && at < from+uintptr(len(body)) {
				t.Errorf("%s shares memory with the body", path)
			}
		case reflect.Struct:
			for i := range v.NumField() {
				check(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
		case reflect.Slice:
			for i := range v.Len() {
				check(path, v.Index(i))
			}
		case reflect.Map:
			for key, value := range v.Seq2() {
				check(path, key)
				check(path, value)
			}
		case reflect.Pointer:
			if !v.IsNil() {
				check(path, v.Elem())
			}
		default:
		}
	}
	check("Request", reflect.ValueOf(req))
}

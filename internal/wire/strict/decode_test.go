package strict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

// body is a request of an imaginary format.
type body struct {
	Controls
	Messages []struct {
		Role    string             `json:"role"`
		Content StringOr[[]string] `json:"content"`
		Unknown jsontext.Value     `json:",embed"`
	} `json:"messages"`
	MaxTokens   Whole          `json:"max_tokens"`
	Temperature Number         `json:"temperature"`
	Schema      jsontext.Value `json:"schema"`
	Metadata    Labels         `json:"metadata"`
	User        Label          `json:"user"`
}

var rules = Rules{Messages: "messages", Lenient: func(param string) bool { return param == "temperature" || strings.Contains(param, "content") }}

func decodeBody(t *testing.T, text string) (body, *Document) {
	t.Helper()
	var b body
	doc, err := Decode(t.Context(), []byte(text), &b, rules)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return b, doc
}

func TestDecodeFillsTheStruct(t *testing.T) {
	t.Parallel()
	b, doc := decodeBody(t, `{ "mod\u0065l" : "m", "messages":[{"role":"user","content":"a\u00e9\ud800\n"},{"content":["x","y"],"odd":1}],
		"max_tokens":1e3,"temperature":0.10,"schema":{"z": 1},"new":[1,2],"metadata":{"a":"b","n":1}, "user":null}`)
	if diff := cmp.Diff([]any{"aé\ufffd\n", []string{"x", "y"}, `{"odd":1}`, Name("m"), Whole("1e3"), Number("0.10"), `{"z": 1}`, Labels{"a": "b"}},
		[]any{
			b.Messages[0].Content.String, *b.Messages[1].Content.Other, string(b.Messages[1].Unknown), b.Model, b.MaxTokens, b.Temperature,
			string(b.Schema), b.Metadata,
		}); diff != "" {
		t.Error(diff)
	}
	if doc.Reject() != nil || doc.TranslationError() != nil || !doc.Given("new") || doc.Given("user") || doc.Given("none") {
		t.Errorf("problems %v and %v, want none", doc.Reject(), doc.TranslationError())
	}
	var fields []string
	for _, f := range doc.Fields {
		fields = append(fields, f.Name+"|"+string(doc.Body[f.KeyStart:f.Value])+"|"+string(doc.Body[f.Value:f.End]))
	}
	if diff := cmp.Diff([]string{`model|"mod\u0065l" : |"m"`, `new|"new":|[1,2]`}, []string{fields[0], fields[5]}); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeCollectsProblems(t *testing.T) {
	t.Parallel()
	b, doc := decodeBody(t, `{"messages":[1,{"role":2,"content":{}},{"content":[3]}],"max_tokens":"5","temperature":"hot","Model":1,
		"models":["a",1],"provider":{"sort":"best","max_price":{"prompt":-1},"Only":[]},"metadata":[],"user":7}`)
	b.Apply(doc, &llm.Request{})
	doc.RejectUnknownLookAlikes(b)
	doc.Require("model", b.Model != "", "Name a model.")
	messages := func(e *llm.Error) (list []string) {
		for _, p := range e.Details["problems"].([]map[string]string) {
			list = append(list, p["param"]+": "+p["message"])
		}
		return list
	}
	if diff := cmp.Diff([]string{
		"messages[0]: messages[0] must be an object; it is a number.", "messages[1].role: messages[1].role must be a string; it is a number.",
		"max_tokens: max_tokens must be a whole number; it is a string.", `Model: The key "Model" differs from "model" only in letter case. Use "model".`,
		"models: models must be a list of strings; it is a number.",
		`provider.sort: provider.sort must be one of price, latency, throughput; it is "best".`,
		`provider.max_price.prompt: provider.max_price.prompt must be a number of dollars per million tokens, at least 0; it is "-1".`,
		`provider.Only: The key "Only" differs from "only" only in letter case. Use "only".`,
		"metadata: metadata must be an object; it is a list.", "user: user must be a string; it is a number.",
	}, messages(doc.Reject())); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		"messages[1].content: messages[1].content must be a string or a list of strings; it is an object.",
		"messages[2].content[0]: messages[2].content[0] must be a string; it is a number.", "temperature: temperature must be a number; it is a string.",
	}, messages(doc.TranslationError())); diff != "" {
		t.Error(diff)
	}
	if doc.TranslationError().Kind != llm.Untranslatable || doc.Reject().Kind != llm.InvalidRequest {
		t.Error("unexpected kinds of errors")
	}
}

func TestLimitsOfSingleValues(t *testing.T) {
	t.Parallel()
	names := func(n int) string { return strings.TrimSuffix(strings.Repeat(`"m",`, n), ",") }
	for name, tc := range map[string]struct{ body, want string }{
		"the longest valid name":      {`{"model":"` + strings.Repeat("m", MaxName) + `"}`, ""},
		"a name above the limit":      {`{"model":"` + strings.Repeat("m", MaxName+1) + `"}`, "model"},
		"a name of white space":       {`{"model":" \t"}`, "model"},
		"a name with a line break":    {`{"model":"a\nb"}`, "model"},
		"the maximum number of names": {`{"models":[` + names(maxNames) + `]}`, ""},
		"too many names":              {`{"models":[` + names(maxNames+3) + `]}`, "models"},
		"the smallest integer":        {`{"max_tokens":1}`, ""},
		"the largest integer":         {fmt.Sprintf(`{"max_tokens":%d}`, int64(MaxTokens)), ""},
		"an integer above the limit":  {fmt.Sprintf(`{"max_tokens":%d}`, int64(MaxTokens)+1), "max_tokens"},
		"an integer that overflows":   {`{"max_tokens":99999999999999999999}`, "max_tokens"},
		"a fraction":                  {`{"max_tokens":1.5}`, "max_tokens"},
		"a price of zero":             {`{"provider":{"max_price":{"prompt":0}}}`, ""},
		"a price that is not finite":  {`{"provider":{"max_price":{"prompt":"Inf"}}}`, "provider.max_price.prompt"},
		"a price that is not numeric": {`{"provider":{"max_price":{"prompt":"cheap"}}}`, "provider.max_price.prompt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, doc := decodeBody(t, tc.body)
			doc.Int("max_tokens", b.MaxTokens, 1, MaxTokens)
			got := ""
			if e := doc.Reject(); e != nil {
				got = e.Param
				if n := len(e.Details["problems"].([]map[string]string)); n != 1 {
					t.Errorf("%d problems, want 1", n)
				}
			}
			if got != tc.want {
				t.Errorf("problem with %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLabelsAreShortened(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range maxLabels + 5 {
		fmt.Fprintf(&b, `,"key%d":"%s"`, i, strings.Repeat("v", maxLabel+1))
	}
	got, _ := decodeBody(t, `{"metadata":{`+b.String()[1:]+`}}`)
	if len(got.Metadata) != maxLabels {
		t.Errorf("%d labels, want %d", len(got.Metadata), maxLabels)
	}
	for key, value := range got.Metadata {
		if len(value) > maxLabel {
			t.Errorf("%s has %d bytes, want at most %d", key, len(value), maxLabel)
		}
	}
}

func TestDecodeRejectsMalformedBodies(t *testing.T) {
	t.Parallel()
	for name, text := range malformed {
		var b body
		_, err := Decode(t.Context(), []byte(text.body), &b, rules)
		e := llm.AsError(err)
		if err == nil || e.Kind != text.kind || e.Param != text.param || !strings.Contains(e.Message, text.says) || e.Details["problems"] == nil {
			t.Errorf("%s: %+v, want %s for %q with %q", name, e, text.kind, text.param, text.says)
		}
	}
	var b body
	_, err := Decode(t.Context(), []byte(`{"messages":[`+strings.Repeat("{},", MaxMessages)+`{}]}`), &b, rules)
	if e := llm.AsError(err); err == nil || e.Param != "messages" || !strings.Contains(e.Message, "more than 50000 messages") {
		t.Errorf("too many messages: %v", err)
	}
	if len(b.Messages) > MaxMessages+1 {
		t.Errorf("%d messages were decoded, want at most %d", len(b.Messages), MaxMessages+1)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Decode(ctx, []byte(`{}`), &b, rules); llm.AsError(err).Kind != llm.ClientCancelled {
		t.Errorf("cancelled: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"a":1,"messages":[{"content":["x",{}]}]}`))
	f.Add([]byte(`{"model":"a\ud800","models":[1],"schema":[[]], "provider" : {"max_price":{"prompt":"1"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b body
		doc, err := Decode(t.Context(), data, &b, rules)
		if _, want := Object(t.Context(), data); (err == nil) != (want == nil) {
			t.Fatalf("Decode of %q: %v, Object: %v", data, err, want)
		}
		if err != nil {
			return
		}
		fields, _ := Object(t.Context(), data)
		if diff := cmp.Diff(fields, doc.Fields); diff != "" {
			t.Fatalf("fields of %q: %s", data, diff)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{1, 100} {
		text := []byte(`{"model":"auto","stream":true,"messages":[` + strings.Repeat(`{"role":"user","content":"`+strings.Repeat("some text ", 100)+`"},`, n) + `{"role":"user","content":["a"]}]}`)
		b.Run(fmt.Sprintf("%dKB", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				var into body
				if _, err := Decode(b.Context(), text, &into, rules); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestMembersMayHaveTwoSpellings(t *testing.T) {
	t.Parallel()
	type inner struct {
		TopK    Whole          `json:"topK"`
		Unknown jsontext.Value `json:",embed"`
	}
	type body struct {
		Settings inner   `json:"theSettings"`
		List     []inner `json:"list"`
	}
	alias := func(name string) string {
		return map[string]string{"the_settings": "theSettings", "top_k": "topK"}[name]
	}
	decode := func(text string) (body, *Document) {
		var got body
		doc, err := Decode(t.Context(), []byte(text), &got, Rules{Alias: alias})
		if err != nil {
			t.Fatal(err)
		}
		return got, doc
	}
	got, doc := decode(`{"the_settings":{"top_k":1},"list":[{"topK":2,"other":[3], "x":null},{"topK":null,"top_k":4}],"more":5}`)
	var unknown []string
	for f := range doc.UnknownFields(got) {
		unknown = append(unknown, f.Name)
	}
	want := body{Settings: inner{TopK: "1"}, List: []inner{{TopK: "2", Unknown: jsontext.Value(`{"other":[3],"x":null}`)}, {TopK: "4"}}}
	if diff := cmp.Diff(want, got); diff != "" || doc.Reject() != nil || !slices.Equal(unknown, []string{"more"}) {
		t.Errorf("problems %v, unknown %v, (-want +got):\n%s", doc.Reject(), unknown, diff)
	}
	_, doc = decode(`{"theSettings":{"topK":1,"top_k":1},"the_settings":{},"list":[{"top_k":1,"topK":"2"}]}`)
	var params []string
	for _, p := range doc.problems {
		params = append(params, p.Param)
	}
	if diff := cmp.Diff([]string{"theSettings.topK", "theSettings", "list[0].topK"}, params); diff != "" {
		t.Errorf("repeated members (-want +got):\n%s", diff)
	}
}

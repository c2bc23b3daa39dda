package responsecache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/responsecache"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// field is a field of a request with values that are valid in any combination. The first value may be empty: the field is absent.
type field struct {
	name   string
	values []string
}

// influencing lists the fields of each wire format. The values of a field with nested members include one variant for each nested member.
var influencing = map[string][]field{
	"chat": {
		{"model", []string{`"auto"`, `"auto:cost"`, `"gpt-4.1"`, `"gpt-4.1-mini"`}},
		{"messages", []string{
			`[{"role":"user","content":"a"}]`, `[{"role":"user","content":"b"}]`, `[{"role":"user","content":"a "}]`, `[{"role":"system","content":"a"}]`,
			`[{"role":"developer","content":"a"}]`, `[{"role":"user","name":"x","content":"a"}]`, `[{"role":"user","name":"y","content":"a"}]`,
			`[{"role":"user","content":[{"type":"text","text":"a"}]}]`, `[{"role":"user","content":[{"type":"text","text":"b"}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"a","prompt_cache_breakpoint":true}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`, `[{"role":"user","content":[{"type":"text","text":"b"},{"type":"text","text":"a"}]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, `[{"role":"assistant","content":"b"},{"role":"user","content":"a"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":null,"refusal":"no"}]`, `[{"role":"user","content":"a"},{"role":"assistant","content":null,"refusal":"never"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"c"}]`, `[{"role":"user","content":"a"},{"role":"assistant","content":"b","annotations":[]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","audio":{"id":"1"},"content":"b"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"g","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{ }"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"s"}]`,
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]`, `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/b.png"}}]}]`,
			`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}}]}]`,
			`[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]`, `[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAAA","format":"mp3"}}]}]`,
			`[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA","filename":"a"}}]}]`,
			`[{"role":"user","content":[{"type":"file","file":{"file_data":"data:application/pdf;base64,AAAA","filename":"b"}}]}]`,
		}},
		{"temperature", []string{``, `0`, `0.0`, `1`, `null`}},
		{"top_p", []string{``, `1`, `0.9`}},
		{"frequency_penalty", []string{``, `0`, `1`}},
		{"presence_penalty", []string{``, `0`, `1`}},
		{"seed", []string{``, `9007199254740992`, `9007199254740993`}},
		{"logit_bias", []string{``, `{"1":5}`, `{"1":6}`, `{"2":5}`}},
		{"n", []string{``, `1`, `2`}},
		{"stop", []string{``, `"a"`, `["a"]`, `["a","b"]`, `["b","a"]`}},
		{"max_completion_tokens", []string{``, `10`, `11`}},
		{"max_tokens", []string{``, `10`, `11`}},
		{"reasoning_effort", []string{``, `"low"`, `"high"`}},
		{"verbosity", []string{``, `"low"`, `"high"`}},
		{"response_format", []string{
			``, `{"type":"text"}`, `{"type":"json_object"}`, `{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{"a":{},"b":{}}}}}`,
			`{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{"b":{},"a":{}}}}}`,
			`{"type":"json_schema","json_schema":{"name":"a","strict":true,"schema":{"type":"object","properties":{"a":{},"b":{}}}}}`,
			`{"type":"json_schema","json_schema":{"name":"b","schema":{"type":"object","properties":{"a":{},"b":{}}}}}`,
		}},
		{"modalities", []string{``, `["text"]`, `["text","audio"]`}},
		{"audio", []string{``, `{"voice":"a","format":"wav"}`, `{"voice":"b","format":"wav"}`}},
		{"logprobs", []string{``, `true`, `false`}},
		{"top_logprobs", []string{``, `1`, `2`}},
		{"prediction", []string{``, `{"type":"content","content":"a"}`, `{"type":"content","content":"b"}`}},
		{"tools", []string{
			``, `[{"type":"function","function":{"name":"f"}}]`, `[{"type":"function","function":{"name":"g"}}]`, `[{"type":"function","function":{"name":"f","description":"d"}}]`,
			`[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`, `[{"type":"function","function":{"name":"f","strict":true}}]`,
			`[{"type":"custom","custom":{"name":"f"}}]`, `[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}]`,
			`[{"type":"function","function":{"name":"g"}},{"type":"function","function":{"name":"f"}}]`,
		}},
		{"tool_choice", []string{``, `"none"`, `"auto"`, `"required"`, `{"type":"function","function":{"name":"f"}}`}},
		{"parallel_tool_calls", []string{``, `true`, `false`}},
		{"functions", []string{``, `[{"name":"f"}]`, `[{"name":"g"}]`}},
		{"function_call", []string{``, `"none"`, `"auto"`}},
		{"web_search_options", []string{``, `{}`, `{"search_context_size":"low"}`}},
		{"stream", []string{``, `true`, `false`}},
		{"stream_options", []string{``, `{"include_usage":true}`, `{"include_usage":false}`, `{"include_obfuscation":false}`}},
		{"user", []string{``, `"a"`, `"b"`}},
		{"safety_identifier", []string{``, `"a"`, `"b"`}},
		{"prompt_cache_key", []string{``, `"a"`, `"b"`}},
		{"prompt_cache_retention", []string{``, `"24h"`}},
		{"prompt_cache_options", []string{``, `{"mode":"a"}`, `{"ttl":"1h"}`}},
		{"service_tier", []string{``, `"auto"`, `"flex"`}},
		{"store", []string{``, `true`, `false`}},
		{"metadata", []string{``, `{"a":"b"}`, `{"a":"c"}`}},
		{"moderation", []string{``, `{"model":"a"}`, `{"policy":"b"}`}},
		{"top_k", []string{``, `1`, `2`}},
		{"min_p", []string{``, `0.1`, `0.2`}},
		{"repetition_penalty", []string{``, `1.1`, `1.2`}},
		{"chat_template_kwargs", []string{``, `{"a":1}`, `{"a":2}`}},
		{"reasoning", []string{``, `{"effort":"low"}`, `{"effort":"high"}`}},
		{"thinking", []string{``, `{"type":"enabled"}`, `{"type":"disabled"}`}},
		{"provider", []string{``, `{"only":["a"]}`, `{"only":["b"]}`, `{"sort":"price"}`}},
		{"models", []string{``, `["a"]`, `["a","b"]`, `["b","a"]`}},
		{"session_id", []string{``, `"a"`, `"b"`}},
		{"unknown", []string{``, `null`, `{"deep":[1,{"a":true}]}`, `{"deep":[1,{"a":false}]}`}},
	},
	"messages": {
		{"model", []string{`"auto"`, `"claude-sonnet-4-5"`}},
		{"max_tokens", []string{`10`, `11`}},
		{"messages", []string{
			`[{"role":"user","content":"a"}]`, `[{"role":"user","content":"b"}]`, `[{"role":"user","content":[{"type":"text","text":"a"}]}]`,
			`[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]`, `[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, `[{"role":"user","content":"a"},{"role":"assistant","content":"c"}]`,
			`[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}]`, `[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://example.com/b.png"}}]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"a":2}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"r"}]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":"r"}]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":"b"}]}]`,
			`[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"u"},{"type":"text","text":"b"}]}]`,
		}},
		{"system", []string{``, `"a"`, `"b"`, `[{"type":"text","text":"a"}]`, `[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]`}},
		{"temperature", []string{``, `0`, `1`}},
		{"top_p", []string{``, `1`, `0.9`}},
		{"top_k", []string{``, `1`, `2`}},
		{"stop_sequences", []string{``, `["a"]`, `["a","b"]`, `["b","a"]`}},
		{"stream", []string{``, `true`, `false`}},
		{"metadata", []string{``, `{"user_id":"a"}`, `{"user_id":"b"}`}},
		{"service_tier", []string{``, `"auto"`, `"standard_only"`}},
		{"thinking", []string{``, `{"type":"enabled","budget_tokens":1024}`, `{"type":"enabled","budget_tokens":2048}`, `{"type":"adaptive"}`, `{"type":"disabled"}`}},
		{"output_config", []string{``, `{"effort":"low"}`, `{"effort":"high"}`, `{"format":{"type":"json_schema","schema":{"type":"object"}}}`}},
		{"tools", []string{``, `[{"name":"f","input_schema":{"type":"object"}}]`, `[{"name":"g","input_schema":{"type":"object"}}]`, `[{"name":"f","description":"d","input_schema":{"type":"object"}}]`}},
		{"tool_choice", []string{``, `{"type":"auto"}`, `{"type":"any"}`, `{"type":"auto","disable_parallel_tool_use":true}`}},
		{"context_management", []string{``, `{"edits":[]}`}},
		{"container", []string{``, `"a"`}},
		{"unknown", []string{``, `1`, `2`}},
	},
	"responses": {
		{"model", []string{`"auto"`, `"gpt-4.1"`}},
		{"input", []string{
			`"a"`, `"b"`, `[{"role":"user","content":"a"}]`, `[{"role":"user","content":"b"}]`, `[{"role":"developer","content":"a"}]`,
			`[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}]`, `[{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}]`,
			`[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"}]}]`, `[{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png","detail":"low"}]}]`,
			`[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"r"}]`,
			`[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"s"}]`,
			`[{"role":"user","content":"a"},{"type":"reasoning","summary":[{"type":"summary_text","text":"x"}]},{"role":"assistant","content":"b"}]`,
		}},
		{"instructions", []string{``, `"a"`, `"b"`}},
		{"max_output_tokens", []string{``, `100`, `101`}},
		{"temperature", []string{``, `0`, `1`}},
		{"top_p", []string{``, `1`, `0.9`}},
		{"reasoning", []string{``, `{"effort":"low"}`, `{"effort":"high"}`, `{"effort":"low","summary":"auto"}`}},
		{"text", []string{``, `{"format":{"type":"text"}}`, `{"format":{"type":"json_object"}}`, `{"verbosity":"low"}`}},
		{"tools", []string{``, `[{"type":"function","name":"f","parameters":{}}]`, `[{"type":"function","name":"g","parameters":{}}]`, `[{"type":"web_search"}]`}},
		{"tool_choice", []string{``, `"auto"`, `"none"`}},
		{"parallel_tool_calls", []string{``, `true`, `false`}},
		{"store", []string{``, `true`, `false`}},
		{"stream", []string{``, `true`, `false`}},
		{"truncation", []string{``, `"auto"`, `"disabled"`}},
		{"include", []string{``, `["reasoning.encrypted_content"]`, `["message.output_text.logprobs"]`}},
		{"metadata", []string{``, `{"a":"b"}`, `{"a":"c"}`}},
		{"user", []string{``, `"a"`, `"b"`}},
		{"safety_identifier", []string{``, `"a"`, `"b"`}},
		{"prompt_cache_key", []string{``, `"a"`, `"b"`}},
		{"service_tier", []string{``, `"auto"`, `"flex"`}},
		{"top_logprobs", []string{``, `1`, `2`}},
		{"max_tool_calls", []string{``, `1`, `2`}},
		{"previous_response_id", []string{``, `"resp_a"`, `"resp_b"`}},
		{"prompt_cache_retention", []string{``, `"24h"`}},
		{"unknown", []string{``, `1`, `2`}},
	},
	"embeddings": {
		{"model", []string{`"auto"`, `"text-embedding-3-small"`}},
		{"input", []string{`"a"`, `"b"`, `["a"]`, `["a","b"]`, `["b","a"]`, `[1,2]`, `[2,1]`, `[[1],[2]]`}},
		{"encoding_format", []string{``, `"float"`, `"base64"`}},
		{"dimensions", []string{``, `256`, `512`}},
		{"user", []string{``, `"a"`, `"b"`}},
		{"unknown", []string{``, `1`, `2`}},
	},
}

var formats = map[string]struct {
	wire.Format
	op llm.Op
}{
	"chat": {openai.Format{}, llm.Chat}, "messages": {anthropic.Format{}, llm.Chat}, "responses": {responses.Format{}, llm.Chat}, "embeddings": {openai.Format{}, llm.Embed},
}

// body describes a request body: it holds the index of the chosen value for each field.
type body []int

func (b body) text(fields []field, r *rand.Rand) string {
	order := r.Perm(len(fields))
	space := func() string { return strings.Repeat(" ", r.IntN(2)) + strings.Repeat("\n\t", r.IntN(2)) }
	var members []string
	for _, i := range order {
		if value := fields[i].values[b[i]]; value != "" {
			members = append(members, space()+`"`+fields[i].name+`"`+space()+":"+spaced(value, space)+space())
		}
	}
	return "{" + strings.Join(members, ",") + space() + "}"
}

// spaced adds white space between the tokens of a JSON value.
func spaced(value string, space func() string) string {
	var b strings.Builder
	quoted := false
	for i, c := range []byte(value) {
		if c == '"' && (i == 0 || value[i-1] != '\\') {
			quoted = !quoted
		}
		b.WriteByte(c)
		if !quoted && strings.IndexByte(`,:[{`, c) >= 0 {
			b.WriteString(space())
		}
	}
	return b.String()
}

func decode(ctx context.Context, format, text string) (*llm.Request, error) {
	f := formats[format]
	return f.DecodeRequest(ctx, f.op, []byte(text))
}

func valid(t *testing.T, format, text string) *llm.Request {
	t.Helper()
	req, err := decode(t.Context(), format, text)
	if err != nil {
		t.Fatalf("%s: %v\n%s", format, err, text)
	}
	return req
}

func identities() responsecache.Identity {
	return responsecache.Identity{
		Workspace: "ws", Key: "key", Endpoint: "/chat/completions", Features: "beta", Requested: "auto", Objective: "cost", Tradeoff: 0.5,
		Model: "m", Effort: "low", MaxOutput: 9, Versions: []string{"1", "2"}, Targets: []string{"a/m", "b/m"},
	}
}

// stored reports whether a cache that has a response for one key returns a response for another key.
func stored(t *testing.T, c *responsecache.Cache, store, get responsecache.Key) bool {
	t.Helper()
	_, flight, err := c.Get(t.Context(), responsecache.Query{Key: store, MaxAge: time.Hour, Refresh: true})
	if err != nil {
		t.Fatal(err)
	}
	flight.Add(&llm.Event{Data: []byte("{}")})
	flight.Store(t.Context(), responsecache.Response{})
	found, flight, err := c.Get(t.Context(), responsecache.Query{Key: get, MaxAge: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	flight.End(false)
	return found != nil
}

// pairs is the number of pairs that are drawn in each format: 10,000 in total.
var pairs = map[string]int{"chat": 5000, "messages": 2000, "responses": 2500, "embeddings": 500}

// TestOnlyEqualRequestsHit draws pairs of requests that differ in one field of one format, and pairs that differ only in the order of
// fields and in white space.
func TestOnlyEqualRequestsHit(t *testing.T) {
	t.Parallel()
	for format, fields := range influencing {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, uint64(len(fields))))
			id := identities()
			for n, draws := 0, 0; n < pairs[format]; draws++ {
				if draws > 20*pairs[format] {
					t.Fatal("too many invalid requests")
				}
				c := responsecache.New(responsecache.Options{Memory: 1 << 20, Entry: 1 << 20})
				one := make(body, len(fields))
				for i := range fields {
					if r.IntN(3) == 0 || fields[i].values[0] != "" {
						one[i] = r.IntN(len(fields[i].values))
					}
				}
				other, changed := slices.Clone(one), draws%len(fields) // every field changes equally often
				other[changed] = (one[changed] + 1 + r.IntN(len(fields[changed].values)-1)) % len(fields[changed].values)
				a, b, same := one.text(fields, r), other.text(fields, r), one.text(fields, r)
				first, err := decode(t.Context(), format, a)
				second, otherErr := decode(t.Context(), format, b)
				if err != nil || otherErr != nil {
					continue // a combination that the format rejects
				}
				n++
				key := responsecache.KeyOf(&id, first)
				if stored(t, c, key, responsecache.KeyOf(&id, second)) {
					t.Fatalf("%s: requests with different %s have the same key\n%s\n%s", format, fields[changed].name, a, b)
				}
				if n%10 == 0 && !stored(t, c, key, responsecache.KeyOf(&id, valid(t, format, same))) {
					t.Fatalf("%s: equal requests have different keys\n%s\n%s", format, a, same)
				}
			}
		})
	}
}

func TestKeyDependsOnEveryFieldOfItsIdentity(t *testing.T) {
	t.Parallel()
	req := valid(t, "chat", `{"model":"auto","messages":[{"role":"user","content":"a"}]}`)
	base := identities()
	key := responsecache.KeyOf(&base, req)
	for i := range reflect.TypeFor[responsecache.Identity]().NumField() {
		changed := identities()
		switch v := reflect.ValueOf(&changed).Elem().Field(i); v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Float64:
			v.SetFloat(v.Float() + 1)
		default:
			v.Set(reflect.ValueOf([]string{"a", "x"}))
		}
		if responsecache.KeyOf(&changed, req) == key {
			t.Errorf("a change of %s does not change the key", reflect.TypeFor[responsecache.Identity]().Field(i).Name)
		}
	}
	sameSet := identities()
	sameSet.Targets = []string{"b/m", "a/m"}
	if responsecache.KeyOf(&sameSet, req) != key {
		t.Error("the order of the targets changes the key")
	}
	moved := identities()
	moved.Workspace, moved.Key = "w", "skey"
	if responsecache.KeyOf(&moved, req) == key {
		t.Error("moving text between neighbouring fields does not change the key")
	}
}

func TestInputKeysDependOnOneInput(t *testing.T) {
	t.Parallel()
	id := identities()
	keys := func(body string, inputs ...string) []responsecache.Key {
		raw := make([][]byte, len(inputs))
		for i := range inputs {
			raw[i] = []byte(inputs[i])
		}
		return responsecache.InputKeys(&id, valid(t, "embeddings", body), raw)
	}
	a := keys(`{"model":"m","input":["a","b"]}`, `"a"`, `"b"`)
	b := keys(`{"input":["b","c"],"model":"m"}`, `"b"`, `"c"`)
	other := keys(`{"model":"m","input":["a"],"dimensions":8}`, `"a"`)
	if a[1] != b[0] || a[0] == a[1] || other[0] == a[0] {
		t.Errorf("keys %x, %x, %x; want equal keys for equal inputs with equal options only", a, b, other)
	}
}

// TestKeysStayStable compares a key with a key that the test computes from the definition: a changed key would empty the caches in Redis at
// an upgrade.
func TestKeysStayStable(t *testing.T) {
	t.Parallel()
	body := `{ "temperature" : 0.0,"model":"auto:cost", "messages": [ {"role":"user" , "content":"a  \" b"} ]}`
	req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	got := responsecache.KeyOf(&responsecache.Identity{
		Workspace: "ws_1", Key: "key_1", Endpoint: "/chat/completions", Features: "beta", Requested: "auto:cost", Objective: "cost", Tradeoff: 0.25,
		Model: "large", Effort: "high", MaxOutput: 300, Versions: []string{"r1", "s1", "p1"}, Targets: []string{"beta/large", "alpha/large"},
	}, req)
	if want := "893a294b735db3e48760aa90a6bf6e6cefc87476a980e228efa47ccb0ef60601"; fmt.Sprintf("%x", got) != want {
		t.Errorf("key = %x, want %s", got, want)
	}
}

package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/bench/agent"
	"fairlead.dev/internal/gateway"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/promptcache"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// cachingProvider is a provider of the messages format that bills cache reads and writes: a prompt with a cache mark is written to the
// cache, and a later prompt with a mark reads the longest cached prompt that it begins with. It counts four bytes as one token.
type cachingProvider struct {
	written []string // written prompts, without the mark
	marks   int
}

func (c *cachingProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var sent struct {
		System   json.RawMessage   `json:"system"`
		Tools    json.RawMessage   `json:"tools"`
		Messages []json.RawMessage `json:"messages"`
		Mark     *struct {
			TTL string `json:"ttl"`
		} `json:"cache_control"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return nil, err
	}
	prompt := string(sent.Tools) + string(sent.System)
	for _, m := range sent.Messages {
		prompt += string(m)
	}
	read, write := 0, 0
	if sent.Mark != nil {
		c.marks++
		for _, earlier := range c.written {
			if strings.HasPrefix(prompt, earlier) {
				read = max(read, len(earlier)/4)
			}
		}
		write = len(prompt)/4 - read
		c.written = append(c.written, prompt)
	}
	usage := fmt.Sprintf(`{"input_tokens":%d,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}`, len(prompt)/4-read-write, write, read)
	reply := chunks(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":`+usage+`}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Aye."}}`, `{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":20}}`, `{"type":"message_stop"}`)
	return canned{reply, "text/event-stream"}.RoundTrip(r)
}

// markedKit returns a kit without a network whose only provider is up.
func markedKit(t *testing.T, up *cachingProvider, policies gateway.Policies) *kit {
	t.Helper()
	k := newKit(t, func(k *kit) { k.inside, k.prefixes, k.policies = true, promptcache.NewMemory(1000), policies })
	one := target("claude-sonnet-4-5", 3, 15)
	one.Provider, one.Vendor, one.Model.Context, one.Model.MaxOutput = "anthropic", "anthropic", 1_000_000, 64_000
	one.Price.CacheRead, one.Price.CacheWrite, one.Price.CacheWriteLong = new(money.PerMillion(0.3)), new(money.PerMillion(3.75)), new(money.PerMillion(6))
	k.only(anthropic.Vendor.New(provider.Settings{Name: "anthropic", Targets: []*provider.Target{one}, Credentials: []provider.Credential{{ID: "a#1", Secret: "s", Source: "test"}}}), up)
	return k
}

// only replaces all providers by one with the given transport.
func (k *kit) only(p *provider.Provider, transport http.RoundTripper) {
	k.Helper()
	p.Transport = transport
	k.gateway.Update(k.settings, route.NewSnapshot(defaultCatalog(k.T), []*provider.Provider{p}, nil))
}

// served sends a body and returns the entry of the served request.
func (k *kit) served(path, body string) *requestlog.Entry {
	k.Helper()
	k.post(path, body)
	e := k.entry()
	if e.Error != nil || len(e.Attempts) != 1 {
		k.Fatalf("%+v", e.Error)
	}
	return e
}

func TestMarksOfTheClientAreKept(t *testing.T) {
	t.Parallel()
	up := &cachingProvider{}
	k := markedKit(t, up, nil)
	s := agent.New(agent.Messages, "claude-sonnet-4-5", "", "", 1)
	for range 4 {
		body := bytes.Replace(s.Next(), []byte(`"text":"`), []byte(`"cache_control":{"type":"ephemeral"},"text":"`), 1)
		if e := k.served("/messages", string(body)); e.Attempts[0].CacheMark != "" || up.marks > 0 {
			t.Fatalf("mark %q, %d marks", e.Attempts[0].CacheMark, up.marks)
		}
	}
}

// keyedProvider records the prompt_cache_key of each request.
type keyedProvider struct {
	canned
	keys []string
}

func (p *keyedProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	p.keys = append(p.keys, rawjson.Get(body, "prompt_cache_key").String())
	return p.canned.RoundTrip(r)
}

func TestTurnsOfASessionHaveOneCacheKey(t *testing.T) {
	t.Parallel()
	const answer = `{"id":"c","object":"chat.completion","model":"gpt-4.1","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`
	set, problems := policy.Parse("workspace", []byte("policies: [{name: plain, cache_marks: false}]"), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	const tools = `,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]`
	chatTurns := func(fields string) []string {
		return []string{
			`{"model":"gpt-4.1"` + fields + `,"messages":[{"role":"user","content":"a"}]}`,
			`{"model":"gpt-4.1"` + fields + `,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`,
		}
	}
	for name, tc := range map[string]struct {
		path, reply string
		policies    gateway.Policies
		bodies      []string
		want        string // "set", empty for none, or the client's key
	}{
		"named session":          {"/chat/completions", answer, nil, chatTurns(`,"session_id":"s"`), "set"},
		"derived with tools":     {"/chat/completions", answer, nil, chatTurns(tools), "set"},
		"derived without tools":  {"/chat/completions", answer, nil, chatTurns(""), ""},
		"key of the client":      {"/chat/completions", answer, nil, chatTurns(`,"session_id":"s","prompt_cache_key":"mine"`), "mine"},
		"null key of the client": {"/chat/completions", answer, nil, chatTurns(`,"session_id":"s","prompt_cache_key":null`), "set"},
		"disabled":               {"/chat/completions", answer, fixedPolicies{set}, chatTurns(`,"session_id":"s"`), ""},
		"responses": {"/responses", storedResponse, nil, []string{
			`{"model":"gpt-4.1","session_id":"s","input":"a"}`, `{"model":"gpt-4.1","session_id":"s","input":"b"}`,
		}, "set"},
		"messages": {"/messages", answer, nil, []string{
			`{"model":"gpt-4.1","max_tokens":9,"metadata":{"session_id":"s"},"messages":[{"role":"user","content":"a"}]}`,
			`{"model":"gpt-4.1","max_tokens":9,"metadata":{"session_id":"s"},"messages":[{"role":"user","content":"b"}]}`,
		}, "set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row, _ := compatible.Find("openai")
			one := target("gpt-4.1", 2, 8)
			one.Provider, one.Vendor = "openai", "openai"
			up := &keyedProvider{canned: canned{tc.reply, "application/json"}}
			k := newKit(t, func(k *kit) {
				k.inside, k.sessions, k.prefixes, k.policies = true, newNamer(t), promptcache.NewMemory(1000), tc.policies
			})
			k.only(compatible.New(row, provider.Settings{Name: "openai", Targets: []*provider.Target{one}, Credentials: []provider.Credential{{ID: "o#1", Secret: "s", Source: "test"}}}), up)
			for _, body := range tc.bodies {
				e := k.served(tc.path, body)
				recorded := up.keys[len(up.keys)-1]
				if tc.want != "set" {
					recorded = ""
				}
				if e.Attempts[0].CacheKey != recorded {
					t.Errorf("the attempt records %q, sent %q", e.Attempts[0].CacheKey, up.keys)
				}
			}
			got := up.keys[0]
			if tc.want == "set" && (!strings.HasPrefix(got, "session_") || len(got) > 64) || tc.want != "set" && got != tc.want || up.keys[1] != got {
				t.Errorf("keys %q, want %q", up.keys, tc.want)
			}
		})
	}
}

// A policy that disables marks also removes them from the estimate of the cost.
func TestEstimateAssumesNoMarkThatIsDisabled(t *testing.T) {
	t.Parallel()
	set, problems := policy.Parse("workspace", []byte("policies: [{name: plain, cache_marks: false}]"), policy.Inventory{AllowUnknown: true})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	expected := func(policies gateway.Policies) route.CacheHit {
		k := markedKit(t, &cachingProvider{}, policies)
		s := agent.New(agent.Messages, "claude-sonnet-4-5", "", "", 1)
		var last *requestlog.Entry
		for range 3 {
			last = k.served("/messages", string(s.Next()))
		}
		return last.Decision.Candidates[0].Cache
	}
	if hit := expected(nil); hit.Read == 0 || hit.Write == 0 {
		t.Errorf("with marks: %+v, want reads and writes", hit)
	}
	if hit := expected(fixedPolicies{set}); hit.Read != 0 || hit.Write != 0 {
		t.Errorf("without marks: %+v, want no reads and writes", hit)
	}
}

// canned is a provider that always sends the same response.
type canned struct{ reply, media string }

func (c canned) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {c.media}}, Body: io.NopCloser(strings.NewReader(c.reply)), ContentLength: -1,
	}, nil
}

// chunks returns a stream of events with the given data.
func chunks(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

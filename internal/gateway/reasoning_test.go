package gateway_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/provider/gemini"
	"fairlead.dev/internal/reasoning"
	"fairlead.dev/internal/route"
)

const loopTurns = 20

// signingVendor serves a tool loop of loopTurns calls and rejects a call in the history without the signature that it issued for
// the call. Every call has the same name and arguments.
type signingVendor struct {
	mu       sync.Mutex
	issued   []string // signatures of the calls
	problems []string
	check    func(v *signingVendor, body map[string]any) error
	respond  func(turn int, signature string) string
}

func (v *signingVendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	defer v.mu.Unlock()
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(raw, &body)
	w.Header().Set("Content-Type", "application/json")
	if err := v.check(v, body); err != nil {
		v.problems = append(v.problems, err.Error())
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, err.Error())
		return
	}
	signature := fmt.Sprintf("sig-%d", len(v.issued))
	fmt.Fprint(w, v.respond(len(v.issued), signature))
	v.issued = append(v.issued, signature)
}

func items(v any, name string) []map[string]any {
	object, _ := v.(map[string]any)
	list, _ := object[name].([]any)
	var out []map[string]any
	for _, item := range list {
		m, _ := item.(map[string]any)
		out = append(out, m)
	}
	return out
}

// anthropicVendor returns a vendor that rejects a request if thinking is off, or if a turn with a tool call lacks its thinking block.
func anthropicVendor() *signingVendor {
	return &signingVendor{
		check: func(v *signingVendor, body map[string]any) error {
			if body["thinking"] == nil {
				return fmt.Errorf("thinking is off in turn %d", len(v.issued))
			}
			turn := 0
			for _, m := range items(body, "messages") {
				blocks := items(m, "content")
				if !slices.ContainsFunc(blocks, func(b map[string]any) bool { return b["type"] == "tool_use" }) {
					continue
				}
				if blocks[0]["type"] != "thinking" || blocks[0]["signature"] != v.issued[turn] || blocks[0]["thinking"] != "I should look" {
					return fmt.Errorf("messages.%d.content.0: expected thinking with %s, found %v", turn, v.issued[turn], blocks[0])
				}
				turn++
			}
			if turn != len(v.issued) {
				return fmt.Errorf("%d turns with calls, want %d", turn, len(v.issued))
			}
			return nil
		},
		respond: func(turn int, signature string) string {
			block := fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d","name":"look","input":{}}`, turn)
			stop := "tool_use"
			if turn == loopTurns {
				block, stop = `{"type":"text","text":"done"}`, "end_turn"
			}
			return fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","model":"claude-sonnet-4-5","stop_reason":%q,
				"content":[{"type":"thinking","thinking":"I should look","signature":%q},%s],"usage":{"input_tokens":40,"output_tokens":9}}`, turn, stop, signature, block)
		},
	}
}

// geminiVendor returns a vendor that requires the thought signature of every call and returns neither call ids nor response ids.
func geminiVendor() *signingVendor {
	return &signingVendor{
		check: func(v *signingVendor, body map[string]any) error {
			turn := 0
			for _, content := range items(body, "contents") {
				for _, part := range items(content, "parts") {
					if part["functionCall"] == nil {
						continue
					}
					if part["thoughtSignature"] != v.issued[turn] {
						return fmt.Errorf("function call %d has the thought_signature %v, want %s", turn, part["thoughtSignature"], v.issued[turn])
					}
					turn++
				}
			}
			if turn != len(v.issued) {
				return fmt.Errorf("%d calls, want %d", turn, len(v.issued))
			}
			return nil
		},
		respond: func(turn int, signature string) string {
			part := fmt.Sprintf(`{"functionCall":{"name":"look","args":{}},"thoughtSignature":%q}`, signature)
			if turn == loopTurns {
				part = `{"text":"done"}`
			}
			return fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":"STOP"}],
				"usageMetadata":{"promptTokenCount":40,"candidatesTokenCount":9,"totalTokenCount":49}}`, part)
		},
	}
}

// thinkingTarget returns a target for a model that thinks and calls tools.
func thinkingTarget(providerName, model string) *provider.Target {
	return &provider.Target{
		Provider: providerName, Upstream: model, FirstToken: 10 * time.Second,
		Model: &catalog.Model{Name: model, Op: llm.Chat, Abilities: catalog.Common | llm.Tools | llm.Reasoning, Context: 200_000, MaxOutput: 32_000},
		Price: &catalog.Price{Input: money.PerMillion(3), Output: money.PerMillion(15), Source: "test"},
	}
}

// serveVendors makes the kit's gateway offer claude-sonnet-4-5 and gemini-3-pro-preview at the mocks.
func (k *kit) serveVendors(claude, google http.Handler) {
	k.Helper()
	settings := func(name, model string, h http.Handler) provider.Settings {
		server := httptest.NewServer(h)
		k.Cleanup(server.Close)
		return provider.Settings{
			BaseURL: server.URL + "/v1", Targets: []*provider.Target{thinkingTarget(name, model)},
			Credentials: []provider.Credential{{ID: name + "#1", Secret: "sk-" + name + "-secret", Source: "test"}},
		}
	}
	k.gateway.Update(k.settings, route.NewSnapshot(defaultCatalog(k.T), []*provider.Provider{
		anthropic.Vendor.New(settings("anthropic", "claude-sonnet-4-5", claude)),
		gemini.Vendor.New(settings("gemini", "gemini-3-pro-preview", google)),
	}, nil))
}

// forgetfulClient is a chat client that keeps only the members of a response that the chat format defines.
type forgetfulClient struct {
	k        *kit
	model    string
	stream   bool
	headers  []string
	controls string // additional members of the request
	messages []string
}

// turn sends the conversation and adds the response to it. It returns the ids of the tool calls.
func (c *forgetfulClient) turn() (ids []string) {
	c.k.Helper()
	if c.messages == nil {
		c.messages = []string{`{"role":"user","content":"go"}`}
	}
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"reasoning_effort":"high","max_tokens":16000,%s"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}],"messages":[%s]}`,
		c.model, c.stream, c.controls, strings.Join(c.messages, ","))
	resp := c.k.post("/chat/completions", body, c.headers...)
	if resp.status != http.StatusOK {
		c.k.Fatalf("turn %d: status %d, want 200: %s", len(c.messages)/2, resp.status, resp.body)
	}
	type toolCall struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	type message struct {
		Role      string     `json:"role"`
		Content   string     `json:"content,omitempty"`
		ToolCalls []toolCall `json:"tool_calls,omitempty"`
	}
	var documents []string
	if c.stream {
		for s := bufio.NewScanner(strings.NewReader(resp.body)); s.Scan(); {
			if data, ok := strings.CutPrefix(s.Text(), "data: {"); ok {
				documents = append(documents, "{"+data)
			}
		}
	} else {
		documents = []string{resp.body}
	}
	reply := message{Role: "assistant"}
	for _, document := range documents {
		var got struct {
			Choices []struct{ Message, Delta message }
		}
		if err := json.Unmarshal([]byte(document), &got); err != nil {
			c.k.Fatal(err)
		}
		for _, choice := range got.Choices {
			for _, m := range []message{choice.Message, choice.Delta} {
				reply.Content += m.Content
				for _, call := range m.ToolCalls {
					if call.ID != "" {
						reply.ToolCalls = append(reply.ToolCalls, call)
					} else {
						reply.ToolCalls[len(reply.ToolCalls)-1].Function.Arguments += call.Function.Arguments
					}
				}
			}
		}
	}
	raw, err := json.Marshal(reply)
	if err != nil {
		c.k.Fatal(err)
	}
	c.messages = append(c.messages, strings.ReplaceAll(string(raw), `{"id"`, `{"type":"function","id"`))
	for _, call := range reply.ToolCalls {
		ids = append(ids, call.ID)
		c.messages = append(c.messages, fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"nothing yet"}`, call.ID))
	}
	return ids
}

func TestForgetfulClientsKeepThinkingInLongToolLoops(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		for _, model := range []string{"claude-sonnet-4-5", "gemini-3-pro-preview"} {
			t.Run(fmt.Sprint(model, " stream ", stream), func(t *testing.T) {
				t.Parallel()
				k := newKit(t, func(k *kit) { k.reasoning = reasoning.New() })
				claude, google := anthropicVendor(), geminiVendor()
				k.serveVendors(claude, google)
				client := &forgetfulClient{k: k, model: model, stream: stream}
				seen := map[string]bool{}
				for range loopTurns {
					ids := client.turn()
					if len(ids) != 1 || seen[ids[0]] {
						t.Fatalf("call ids %v are missing or repeated", ids)
					}
					seen[ids[0]] = true
					if e := k.entry(); strings.Contains(string(e.Body.Request), "sig-") {
						t.Error("the log contains restored reasoning")
					}
				}
				if ids := client.turn(); len(ids) != 0 {
					t.Errorf("the last turn has the calls %v, want none", ids)
				}
				if problems := slices.Concat(claude.problems, google.problems); problems != nil {
					t.Errorf("the vendor rejected requests: %v", problems)
				}
			})
		}
	}
}

func TestRestoredReasoningIsPartOfTheHold(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.reasoning = reasoning.New() })
	k.serveVendors(anthropicVendor(), geminiVendor())
	client := &forgetfulClient{k: k, model: "claude-sonnet-4-5"}
	client.turn()
	client.turn()
	k.entry()
	if e := k.entry(); len(e.UsageFlag) > 0 || len(e.Warnings) > 0 {
		t.Errorf("usage flag %q, warnings %q", e.UsageFlag, e.Warnings)
	}
}

func TestReasoningIsNotSharedBetweenWorkspaces(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.reasoning = reasoning.New() })
	k.keys.others = map[string]*account.Grant{"other": {
		Key:       &account.Key{ID: "key_2", WorkspaceID: "ws_2", KeySettings: account.KeySettings{Name: "other", Scopes: []account.Scope{account.Inference}}},
		Workspace: &account.Workspace{ID: "ws_2", Name: "Other"},
	}}
	claude := anthropicVendor()
	k.serveVendors(claude, geminiVendor())
	client := &forgetfulClient{k: k, model: "claude-sonnet-4-5"}
	client.turn()
	thief := k.post("/chat/completions", fmt.Sprintf(`{"model":"claude-sonnet-4-5","reasoning_effort":"high","max_tokens":16000,
		"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}],"messages":[%s]}`, strings.Join(client.messages, ",")),
		"Authorization", "Bearer other")
	if thief.status == http.StatusOK || len(claude.problems) != 1 || !strings.Contains(claude.problems[0], "thinking is off") {
		t.Errorf("status %d, problems %q: another workspace must not get the reasoning", thief.status, claude.problems)
	}
}

// TestReasoningIsKeptAsTheCallerAllows checks whether the second turn of a conversation finds the stored reasoning of the first turn.
func TestReasoningIsKeptAsTheCallerAllows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, controls string
		headers        []string
		second         bool // whether the second turn finds the reasoning
	}{
		{"stored text", ``, nil, true},
		{"text not stored", ``, []string{"X-Fairlead-Log-Body", "false"}, true},
		{"zero data retention", `"provider":{"zdr":true},`, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, func(k *kit) { k.reasoning = reasoning.New() })
			claude := anthropicVendor()
			k.serveVendors(claude, geminiVendor())
			for _, target := range k.gateway.Targets().Targets() {
				target.ZeroRetention = true
			}
			client := &forgetfulClient{k: k, model: "claude-sonnet-4-5", controls: c.controls, headers: c.headers}
			client.turn()
			resp := k.post("/chat/completions", fmt.Sprintf(`{"model":"claude-sonnet-4-5","reasoning_effort":"high","max_tokens":16000,
				"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object"}}}],"messages":[%s]}`, strings.Join(client.messages, ",")))
			if found := resp.status == http.StatusOK; found != c.second {
				t.Errorf("the second turn finds the reasoning: %t, want %t; %s", found, c.second, resp.body)
			}
		})
	}
}

// TestUntranslatableRequestsReachTheNextTarget sends a tool that only a provider of the chat format may accept, first to a target that
// signs its reasoning.
func TestUntranslatableRequestsReachTheNextTarget(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.reasoning = reasoning.New() })
	k.gateway.Update(k.settings, route.NewSnapshot(defaultCatalog(t), []*provider.Provider{
		anthropic.Vendor.New(provider.Settings{BaseURL: k.url, Targets: []*provider.Target{thinkingTarget("anthropic", "claude-sonnet-4-5")}}),
		k.provider("plain", k.alpha, target("plain", 2, 8)),
	}, nil))
	resp := k.post("/chat/completions", `{"model":"claude-sonnet-4-5","models":["claude-sonnet-4-5","plain"],"tools":[{"type":"function"}],
		"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`)
	if resp.status != http.StatusOK || resp.header.Get("X-Fairlead-Model") != "plain" || resp.header.Get("X-Fairlead-Attempts") != "2" {
		t.Errorf("%d by %s after %s attempts: %s", resp.status, resp.header.Get("X-Fairlead-Model"), resp.header.Get("X-Fairlead-Attempts"), resp.body)
	}
}

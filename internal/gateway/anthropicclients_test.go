package gateway_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/route"
)

type anthropicPage struct {
	Data    []anthropicModel
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

type anthropicModel struct {
	Type, ID    string
	DisplayName string `json:"display_name"`
	CreatedAt   string `json:"created_at"`
}

func (p anthropicPage) ids() string {
	var ids []string
	for _, m := range p.Data {
		ids = append(ids, m.ID)
	}
	return strings.Join(ids, " ")
}

// anthropicGet requests a path as an Anthropic client does.
func (k *kit) anthropicGet(path string) clientResponse {
	r := k.request(http.MethodGet, path, "")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	return k.do(r)
}

func TestAnthropicClientsGetTheirModelList(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	const want = "claude-auto claude-auto:cost claude-auto:quality claude-auto:speed auto auto:cost auto:quality auto:speed large small"
	for name, got := range map[string]clientResponse{
		"version": k.anthropicGet("/models"),
		"limit":   k.do(k.request(http.MethodGet, "/models?limit=1000", "")),
	} {
		var page anthropicPage
		if err := json.Unmarshal([]byte(got.body), &page); err != nil {
			t.Fatalf("%s: %v in %s", name, err, got.body)
		}
		if diff := cmp.Diff(want, page.ids()); diff != "" || page.HasMore {
			t.Fatalf("%s: has_more %t, models (-want +got):\n%s", name, page.HasMore, diff)
		}
		if diff := cmp.Diff(anthropicModel{"model", "claude-auto", "Fairlead auto", "2025-01-01T00:00:00Z"}, page.Data[0]); diff != "" {
			t.Errorf("%s: auto (-want +got):\n%s", name, diff)
		}
		if *page.FirstID != "claude-auto" || *page.LastID != "small" {
			t.Errorf("%s: first %s, last %s; want claude-auto, small", name, *page.FirstID, *page.LastID)
		}
	}
	k.keys.grant.Key.AllowedModels = []string{"small"}
	if got := k.anthropicGet("/models"); strings.Contains(got.body, `"large"`) || !strings.Contains(got.body, `"small"`) {
		t.Errorf("a key for small gets %s", got.body)
	}
}

func TestAnthropicModelListIsPaged(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	type window struct {
		ids  string
		more bool
	}
	for query, want := range map[string]window{
		"limit=2":                                       {"claude-auto claude-auto:cost", true},
		"limit=2&after_id=auto:speed":                   {"large small", false},
		"limit=1&after_id=auto:speed":                   {"large", true},
		"limit=2&before_id=large":                       {"auto:quality auto:speed", true},
		"limit=2&before_id=claude-auto:quality":         {"claude-auto claude-auto:cost", false},
		"after_id=small":                                {"", false},
		"after_id=auto&before_id=auto":                  {"", false},
		"limit=1&after_id=auto:quality&before_id=small": {"auto:speed", true},
	} {
		got := k.anthropicGet("/models?" + query)
		var page anthropicPage
		if err := json.Unmarshal([]byte(got.body), &page); err != nil {
			t.Fatalf("%s: %v in %s", query, err, got.body)
		}
		if diff := cmp.Diff(want, window{page.ids(), page.HasMore}, cmp.AllowUnexported(window{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
		if empty := page.FirstID == nil && page.LastID == nil; empty != (want.ids == "") || !strings.Contains(got.body, `"data":[`) {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	for query, param := range map[string]string{"limit=0": "limit", "limit=x": "limit", "limit=1001": "limit", "after_id=none": "after_id", "before_id=none": "before_id"} {
		got := k.anthropicGet("/models?" + query)
		if got.status != http.StatusBadRequest || got.code(t) != "INVALID_REQUEST" || !strings.Contains(got.body, `"param":"`+param+`"`) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
}

func TestAnthropicClientsGetOneModel(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	for id, name := range map[string]string{"claude-auto": "Fairlead auto", "claude-auto:cost": "Fairlead auto:cost", "auto": "Fairlead auto", "large": "large", "alpha/large": "alpha/large"} {
		got := k.anthropicGet("/models/" + id)
		var one anthropicModel
		if err := json.Unmarshal([]byte(got.body), &one); err != nil {
			t.Fatalf("%s: %v in %s", id, err, got.body)
		}
		one.CreatedAt = ""
		if diff := cmp.Diff(anthropicModel{Type: "model", ID: id, DisplayName: name}, one); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
	if got := k.anthropicGet("/models/none"); got.status != http.StatusNotFound || got.code(t) != "MODEL_NOT_FOUND" {
		t.Errorf("unknown model: %d %s", got.status, got.body)
	}
}

func TestBetaHeaderIsNotSentToOtherFormats(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	got := k.post("/messages?beta=true", `{"model":"small","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`,
		"Anthropic-Version", "2023-06-01", "Anthropic-Beta", "claude-code-20250219,effort-2025-11-24")
	if got.status != http.StatusOK {
		t.Fatalf("status %d, want 200: %s", got.status, got.body)
	}
	for _, name := range []string{"Anthropic-Beta", "Anthropic-Version"} {
		if sent := k.alpha.Calls()[0].Header.Values(name); len(sent) > 0 {
			t.Errorf("%s was sent: %q", name, sent)
		}
	}
}

func TestBetaHeadersReachAnthropic(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	server := httptest.NewServer(k.alpha)
	t.Cleanup(server.Close)
	one := target("claude-opus-4-1", 1, 2)
	one.Provider = "anthropic"
	vendor := anthropic.Vendor.New(provider.Settings{Name: "anthropic", BaseURL: server.URL, Targets: []*provider.Target{one}})
	k.gateway.Update(k.settings, route.NewSnapshot(defaultCatalog(t), []*provider.Provider{vendor}, nil))
	r := k.request(http.MethodPost, "/messages", `{"model":"claude-auto","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`)
	r.Header["Anthropic-Beta"] = []string{"claude-code-20250219", "effort-2025-11-24"}
	k.do(r)
	if sent := k.alpha.Calls()[0].Header.Values("Anthropic-Beta"); len(sent) != 1 || sent[0] != "claude-code-20250219,effort-2025-11-24" {
		t.Errorf("sent %q", sent)
	}
}

package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/rawjson"
)

const geminiHello = `{"contents":[{"role":"user","parts":[{"text":"hello"}]}]}`

// google sends a request to a path below /proxy/v1beta as Google's clients do.
func (k *kit) google(method, path, body string, headers ...string) clientResponse {
	k.Helper()
	r := k.request(method, "beta"+path, body, headers...)
	r.Header.Del("Authorization")
	if !strings.Contains(path, "key=") && r.Header.Get("X-Goog-Api-Key") == "" {
		r.Header.Set("X-Goog-Api-Key", "good")
	}
	return k.do(r)
}

// TestNewerGoogleClients checks the Gemini endpoints under /proxy/v1. The other tests use /proxy/v1beta.
func TestNewerGoogleClients(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	if got := k.post("/models/large:generateContent", geminiHello); got.status != http.StatusOK || !rawjson.ParseString(got.body).Get("candidates").Exists() {
		t.Errorf("%d %s", got.status, got.body)
	}
	for _, path := range []string{"/models", "/models/large"} {
		r := k.request(http.MethodGet, path, "", "X-Goog-Api-Key", "good")
		r.Header.Del("Authorization")
		if got := k.do(r); got.status != http.StatusOK || !strings.Contains(got.body, `"name":"models/large"`) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
		if got := k.do(k.request(http.MethodGet, path, "")); got.status != http.StatusOK || strings.Contains(got.body, `"models/large"`) {
			t.Errorf("%s for another client: %d %s", path, got.status, got.body)
		}
	}
}

func TestGeminiKeyMayBeInTheQuery(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	if got := k.google(http.MethodPost, "/models/large:generateContent?key=good", geminiHello); got.status != http.StatusOK {
		t.Errorf("status %d, want 200: %s", got.status, got.body)
	}
	if raw, _ := json.Marshal(k.entry()); strings.Contains(string(raw), "key=good") {
		t.Errorf("the entry contains the key: %s", raw)
	}
	if got := k.google(http.MethodPost, "/models/large:generateContent?key=good&key=other", geminiHello); got.code(t) != "INVALID_REQUEST" {
		t.Errorf("two different keys: %d %s", got.status, got.body)
	}
	for path, code := range map[string]string{"?key=wrong": "INVALID_API_KEY", "?key=": "MISSING_API_KEY"} {
		got := k.google(http.MethodPost, "/models/large:generateContent"+path, geminiHello)
		if got.status != http.StatusUnauthorized || got.code(t) != code || strings.Contains(got.body, "wrong") {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

func TestGeminiTokensAreCounted(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	got := k.google(http.MethodPost, "/models/large:countTokens", `{"contents":[{"parts":[{"text":"how long is this?"}]}]}`)
	if got.status != http.StatusOK || rawjson.ParseString(got.body).Get("totalTokens").Int() < 4 {
		t.Errorf("%d %s", got.status, got.body)
	}
	if e := k.entry(); e.Endpoint != "countTokens" || e.Cost == nil || *e.Cost != 0 {
		t.Errorf("entry %+v", e)
	}
}

func TestGoogleClientsGetTheirModelList(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	names := func(body string) (names []string, next string) {
		v := rawjson.ParseString(body)
		for _, m := range v.Get("models").List() {
			names = append(names, m.Get("name").String())
		}
		return names, v.Get("nextPageToken").String()
	}
	want := []string{"models/auto", "models/auto:cost", "models/auto:quality", "models/auto:speed", "models/large", "models/small"}
	got, _ := names(k.google(http.MethodGet, "/models", "").body)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first, token := names(k.google(http.MethodGet, "/models?pageSize=4", "").body)
	rest, end := names(k.google(http.MethodGet, "/models?pageSize=4&pageToken="+token, "").body)
	if diff := cmp.Diff(want, append(first, rest...)); diff != "" || end != "" || len(first) != 4 {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
	for _, query := range []string{"pageSize=0", "pageSize=x", "pageToken=99", "pageToken=x"} {
		if got := k.google(http.MethodGet, "/models?"+query, ""); got.status != http.StatusBadRequest {
			t.Errorf("%s: status %d, want 400", query, got.status)
		}
	}
	one := rawjson.ParseString(k.google(http.MethodGet, "/models/small", "").body)
	if one.Get("name").String() != "models/small" || one.Get("inputTokenLimit").Int() != 100_000 {
		t.Errorf("%s", one.Raw)
	}
	for _, name := range []string{"embed", "unknown"} {
		if got := k.google(http.MethodGet, "/models/"+name, ""); got.status != http.StatusNotFound {
			t.Errorf("%s: status %d, want 404: %s", name, got.status, got.body)
		}
	}
}

func TestGeminiEmbeddingsAreTranslated(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	one := k.google(http.MethodPost, "/models/embed:embedContent", `{"model":"models/embed","content":{"parts":[{"text":"hello"}]}}`)
	if v := rawjson.ParseString(one.body); one.status != http.StatusOK || len(v.Get("embedding.values").List()) == 0 {
		t.Errorf("%d %s", one.status, one.body)
	}
	if e := k.entry(); e.Endpoint != "embedContent" || e.Format != "gemini" || e.Model != "embed" || e.Cost == nil || *e.Cost == 0 || !strings.Contains(string(e.Body.Response), `{"embedding":{"values":[`) {
		t.Errorf("entry %+v with %s", e, e.Body.Response)
	}
	many := k.google(http.MethodPost, "/models/embed:batchEmbedContents", `{"requests":[{"content":{"parts":[{"text":"hello"}]},"output_dimensionality":8},{"content":{"parts":[{"text":"world"}]},"outputDimensionality":8}]}`)
	if v := rawjson.ParseString(many.body); many.status != http.StatusOK || len(v.Get("embeddings").List()) != 2 {
		t.Errorf("%d %s", many.status, many.body)
	}
	if sent := k.beta.Calls()[1].Body; !strings.Contains(string(sent), `"input":["hello","world"],"dimensions":8`) {
		t.Errorf("sent %s", sent)
	}
	for name, body := range map[string]string{
		"task":       `{"requests":[{"content":{"parts":[{"text":"a"}]},"taskType":"RETRIEVAL_QUERY"}]}`,
		"dimensions": `{"requests":[{"content":{"parts":[{"text":"a"}]},"outputDimensionality":8},{"content":{"parts":[{"text":"a"}]}}]}`,
		"image":      `{"requests":[{"content":{"parts":[{"inlineData":{}}]}}]}`,
		"nothing":    `{"requests":[]}`,
		"no list":    `{"content":{"parts":[{"text":"a"}]}}`,
	} {
		got := k.google(http.MethodPost, "/models/embed:batchEmbedContents", body)
		if got.status != http.StatusBadRequest || rawjson.ParseString(got.body).Get("error.status").String() != "INVALID_ARGUMENT" {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withProviders gives the lab a file with one provider that works, one that does not and one that is off.
func withProviders(t *testing.T) *lab {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-0123456789abcdef" || r.URL.Path != "/v1/models" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"one"},{"id":"two"}]}`))
	}))
	t.Cleanup(upstream.Close)
	l := newLab(t)
	l.configure(`simulator: "off"
providers:
  - name: good
    base_url: ` + upstream.URL + `/v1
    api_keys: ["sk-0123456789abcdef"]
    models:
      - {name: house-model, upstream: one, input_per_mtok: 0.4, output_per_mtok: 1.6, cache_read_per_mtok: 0.1, context: 128000, quality: 0.7, abilities: [tools, vision]}
      - {name: house-embed, upstream: two, kind: embedding, input_per_mtok: 0.02, dimensions: 1536}
  - name: bad
    base_url: ` + upstream.URL + `/v1
    api_keys: ["sk-9999999999999999"]
    models: [{name: unpriced-model, upstream: one}, {name: house-model, upstream: one, input_per_mtok: 0, output_per_mtok: 0}]
  - name: resting
    base_url: ` + upstream.URL + `/v1
    disabled: true
`)
	return l
}

func (l *lab) configure(text string) {
	l.t.Helper()
	path := filepath.Join(l.t.TempDir(), "fairlead.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.console.env = append(l.console.env, "FAIRLEAD_CONFIG="+path)
}

// squeeze makes runs of spaces one, so that widths do not matter.
func squeeze(text string) []string {
	spaces := regexp.MustCompile(` {2,}`)
	var rows []string
	for line := range strings.Lines(text) {
		rows = append(rows, strings.TrimSpace(spaces.ReplaceAllString(line, "  ")))
	}
	return rows
}

func TestListModels(t *testing.T) {
	t.Parallel()
	l := withProviders(t)
	out, _ := l.run(exitDone, "models", "list")
	want := []string{
		"MODEL  PROVIDERS  CONTEXT  IN  OUT  CACHED  QUALITY  ABILITIES",
		"house-embed  good  —  $0.02000  —  —  —  —",
		"house-model  bad,good  128K  free  free  —  0.70  tools,vision",
	}
	got := squeeze(out)
	if diff := cmp.Diff(want, got[:3]); diff != "" || len(got) != 4 || !strings.HasPrefix(got[3], "unpriced-model  bad  —  —  —  —  —") {
		t.Errorf("%s\n%s", diff, out)
	}
	out, _ = l.run(exitDone, "models", "list", "--kind", "embedding", "--json")
	rows := lines(t, out)
	if len(rows) != 1 || rows[0]["name"] != "house-embed" || rows[0]["kind"] != "embeddings" {
		t.Fatalf("embeddings: %s", out)
	}
	price := rows[0]["targets"].([]any)[0].(map[string]any)["price"].(map[string]any)
	if price["input_per_mtok_usd"] != "0.02" {
		t.Errorf("price: %v", price)
	}
	out, _ = l.run(exitDone, "models", "list", "--provider", "good", "--kind", "chat", "--json")
	if rows := lines(t, out); len(rows) != 1 || len(rows[0]["targets"].([]any)) != 1 {
		t.Errorf("one provider's: %s", out)
	}
}

func TestListAllModels(t *testing.T) {
	t.Parallel()
	l := withProviders(t)
	out, _ := l.run(exitDone, "models", "list", "--all", "--json")
	rows := lines(t, out)
	if len(rows) < 100 {
		t.Fatalf("only %d models", len(rows))
	}
	configured := 0
	for i, row := range rows {
		if i > 0 && rows[i-1]["name"].(string) >= row["name"].(string) {
			t.Errorf("%s is out of order or repeated", row["name"])
		}
		for _, target := range row["targets"].([]any) {
			if target.(map[string]any)["configured"] == true {
				configured++
			}
		}
	}
	if configured != 4 {
		t.Errorf("%d configured targets", configured)
	}
	_, err := l.run(exitDone, "models", "list", "--provider", "nobody")
	mustContain(t, err, "no models match; --all lists those of the catalog too")
}

func TestListProviders(t *testing.T) {
	t.Parallel()
	l := withProviders(t)
	out, _ := l.run(exitDone, "providers", "list")
	rows := squeeze(out)
	for i, want := range []string{
		`^PROVIDER  SOURCE  BASE URL  CREDENTIALS  MODELS  STATE$`,
		`^good  file  http://127\.0\.0\.1:\d+/v1  file …cdef  2  on$`,
		`^bad  file  http://127\.0\.0\.1:\d+/v1  file …9999  2  on$`,
		`^resting  file  http://127\.0\.0\.1:\d+/v1  none  0  off$`,
	} {
		if i >= len(rows) || !regexp.MustCompile(want).MatchString(rows[i]) {
			t.Errorf("row %d does not match %s:\n%s", i, want, out)
		}
	}
	out, _ = l.run(exitDone, "providers", "list", "--json")
	if strings.Contains(out, "sk-0123456789abcdef") || len(lines(t, out)) != 3 {
		t.Errorf("JSON: %s", out)
	}
}

func TestProvidersOfTheEnvironment(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	out, _ := l.run(exitDone, "providers", "list", "--json")
	if rows := lines(t, out); len(rows) != 1 || rows[0]["simulated"] != true {
		t.Errorf("without any: %s", out)
	}
	l.console.env = append(l.console.env, "FAIRLEAD_DETECT=true", "MISTRAL_API_KEY=abcdefghijklmnopf3Qa")
	out, _ = l.run(exitDone, "providers", "list")
	mustContain(t, out, "mistral", "env", "MISTRAL_API_KEY …f3Qa")
	if strings.Contains(out, "abcdefgh") {
		t.Errorf("a secret is shown: %s", out)
	}
}

func TestTestProviders(t *testing.T) {
	t.Parallel()
	l := withProviders(t)
	out, err := l.run(exitProblems, "providers", "test")
	rows := squeeze(out)
	for i, want := range []string{`^PROVIDER  RESULT  LATENCY  MODELS  ERROR$`, `^good  ok  .*s  2$`, `^bad  failed  .*s  —  401: .*$`} {
		if i >= len(rows) || !regexp.MustCompile(want).MatchString(rows[i]) {
			t.Errorf("row %d does not match %s:\n%s", i, want, out)
		}
	}
	mustContain(t, err, "1 of 2 providers failed")
	if strings.Contains(out+err, "sk-9999999999999999") {
		t.Error("the secret is shown")
	}
	out, _ = l.run(exitDone, "providers", "test", "good", "--json")
	if diff := cmp.Diff([]any{"one", "two"}, lines(t, out)[0]["models"]); diff != "" {
		t.Error(diff)
	}
	_, err = l.run(exitFailed, "providers", "test", "god")
	mustContain(t, err, `there is no provider "god"`, `did you mean "good"?`)
	_, err = l.run(exitFailed, "providers", "test", "resting")
	mustContain(t, err, `provider "resting" is switched off`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l.runContext(ctx, exitInterrupted, "providers", "test")
}

// There is no call to Bedrock that costs nothing: that is not its failure.
func TestAProviderThatListsNoModelsIsNotTested(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.configure("providers: [{name: bedrock, options: {region: eu-central-1}, api_keys: [bedrock-0123456789abcdef]}]\n")
	out, err := l.run(exitDone, "providers", "test")
	if rows := squeeze(out); len(rows) != 2 || !regexp.MustCompile(`^bedrock  not tested  —  —  .* lists no models`).MatchString(rows[1]) || strings.Contains(err, "failed") {
		t.Errorf("%s%s", out, err)
	}
	out, _ = l.run(exitDone, "providers", "test", "bedrock", "--json")
	if row := lines(t, out)[0]; row["tested"] != false || row["ok"] != false {
		t.Errorf("JSON: %s", out)
	}
}

func TestNoProvidersToTest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.configure("simulator: \"off\"\n")
	_, err := l.run(exitFailed, "providers", "test")
	mustContain(t, err, "there are no providers to test", "fix: set OPENAI_API_KEY")
	_, err = l.run(exitDone, "providers", "list")
	mustContain(t, err, "no providers")
}

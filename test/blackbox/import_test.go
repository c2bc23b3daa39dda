package blackbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fairlead.dev/test/harness"
)

// A file of LiteLLM is converted, checked and served: a deployment by its name, a model group alias, a wildcard and an embedding model.
func TestImportedLiteLLMFileServes(t *testing.T) {
	t.Parallel()
	mock, address := harness.Upstream(t)
	from := filepath.Join(t.TempDir(), "config.yaml")
	err := os.WriteFile(from, fmt.Appendf(nil, `
model_list:
  - model_name: chat-team
    litellm_params: {model: openai/gpt-4.1, api_base: %[1]q, api_key: os.environ/HOUSE_KEY}
    model_info: {input_cost_per_token: 0.000001, output_cost_per_token: 0.000002}
  - model_name: vectors
    litellm_params: {model: openai/text-embedding-3-small, api_base: %[1]q, api_key: os.environ/HOUSE_KEY}
    model_info: {mode: embedding, input_cost_per_token: 0}
  - model_name: sonnet
    litellm_params: {model: anthropic/claude-sonnet-4-5, api_key: os.environ/ANTHROPIC_API_KEY}
  - model_name: "groq/*"
    litellm_params: {model: "groq/*", api_key: os.environ/GROQ_API_KEY}
router_settings:
  model_group_alias: {team: chat-team}
  fallbacks: [{chat-team: [sonnet]}]
general_settings: {master_key: os.environ/LITELLM_MASTER_KEY, database_url: os.environ/DATABASE_URL}
`, address), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	converted, report, code := harness.CLI(t, harness.Options{}, "import", "litellm", from, "--out", "-")
	if code != 0 {
		t.Fatalf("import: exit code %d\n%s", code, report)
	}
	g := harness.Start(t, harness.Options{Config: converted, Env: []string{
		"HOUSE_KEY=house-0123456789", "ANTHROPIC_API_KEY=anthropic-0123456789", "GROQ_API_KEY=groq-0123456789",
	}})
	if out, problem, code := g.CLI(t, "config", "check"); code != 0 {
		t.Errorf("config check: exit code %d\n%s%s", code, out, problem)
	}
	key := g.Key(t)
	for _, model := range []string{"chat-team", "team"} {
		wantOK(t, g.Call(t, harness.Request{Key: key, Body: fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"hi"}]}`, model)}))
	}
	wantOK(t, g.Call(t, harness.Request{Path: "/proxy/v1/embeddings", Key: key, Body: `{"model":"vectors","input":"hi"}`}))
	var models []string
	for _, call := range mock.Calls() {
		models = append(models, call.Model)
	}
	if want := "[gpt-4.1 gpt-4.1 text-embedding-3-small]"; fmt.Sprint(models) != want {
		t.Errorf("the server received %v, want %s", models, want)
	}
}

package migration_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/migration"
)

// vendors are the vendors that the samples use.
var vendors = []string{"openai", "azure", "anthropic", "bedrock", "groq", "ollama"}

func convert(t *testing.T, name string) (*migration.Result, config.Config) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	known, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	r, err := migration.LiteLLM(text, known, vendors)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "fairlead.yaml")
	if err := os.WriteFile(path, []byte(r.YAML), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Options{Path: path, Vendors: vendors, Env: []string{
		"HOME=/h", "OPENAI_API_KEY=sk-0123456789ab", "SECOND_OPENAI_KEY=sk-1123456789ab", "AZURE_API_KEY=az-0123456789ab", "ANTHROPIC_API_KEY=an-0123456789ab", "GROQ_API_KEY=gr-0123456789ab",
		"MODELS.EXAMPLE.COM_API_KEY=x", "MODELS_EXAMPLE_COM_API_KEY=mo-0123456789ab",
	}})
	if err != nil {
		t.Fatalf("the converted file is invalid: %v\n%s", err, r.YAML)
	}
	return r, loaded.Config
}

func provider(t *testing.T, c config.Config, name string) config.Provider {
	t.Helper()
	i := slices.IndexFunc(c.Providers, func(p config.Provider) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no provider %s in %+v", name, c.Providers)
	}
	return c.Providers[i]
}

func model(t *testing.T, p config.Provider, name string) config.Model {
	t.Helper()
	i := slices.IndexFunc(p.Models, func(m config.Model) bool { return m.Name == name })
	if i < 0 {
		t.Fatalf("no model %s at %s: %+v", name, p.Name, p.Models)
	}
	return p.Models[i]
}

// want checks that a finding of this kind begins with the setting and contains the text.
func want(t *testing.T, r *migration.Result, kind migration.Kind, setting, text string) {
	t.Helper()
	if !slices.ContainsFunc(r.Findings, func(f migration.Finding) bool {
		return f.Kind == kind && strings.HasPrefix(f.Setting, setting) && strings.Contains(f.Text, text)
	}) {
		t.Errorf("no finding of kind %q for %s with %q", kind, setting, text)
	}
}

func TestLiteLLMConfigurationIsConverted(t *testing.T) {
	t.Parallel()
	r, c := convert(t, "full.yaml")
	for _, secret := range []string{"literal", "another"} {
		if strings.Contains(r.YAML+r.Report(), "sk-"+secret) {
			t.Errorf("the secret sk-%s was copied", secret)
		}
	}
	openai := provider(t, c, "openai")
	if fast := model(t, openai, "gpt-4.1-mini"); !slices.Equal(fast.Aliases, []string{"fast"}) {
		t.Errorf("fast is %+v", fast)
	}
	if big := model(t, openai, "gpt-4.1"); big.Timeouts.Total.Seconds() != 300 || big.Timeouts.FirstToken.Seconds() != 60 {
		t.Errorf("gpt-4.1 is %+v", big)
	}
	if e := model(t, openai, "text-embedding-3-small"); e.Kind != "embedding" || !slices.Equal(e.Aliases, []string{"embed"}) {
		t.Errorf("embed is %+v", e)
	}
	// The name "best" refers to two models, so it is a separate model at both providers, with their prices.
	if best := model(t, openai, "best"); best.Upstream != "gpt-4.1" || best.InputPerMtok == nil || *best.InputPerMtok != 2 || *best.OutputPerMtok != 8 {
		t.Errorf("best is %+v", best)
	}
	anthropic := provider(t, c, "anthropic")
	if best := model(t, anthropic, "best"); best.Upstream != "claude-sonnet-4-5" || best.InputPerMtok == nil {
		t.Errorf("best is %+v", best)
	}
	// The same model at another provider has another name, so that a request for each name is sent to its provider.
	if sonnet := model(t, anthropic, "sonnet"); sonnet.Upstream != "claude-sonnet-4-5" || sonnet.Quality == nil || anthropic.APIKeys[0] != "an-0123456789ab" {
		t.Errorf("sonnet is %+v", sonnet)
	}
	azure, second := provider(t, c, "azure"), provider(t, c, "azure-2")
	if second.Vendor != "azure" || model(t, azure, "gpt-4.1").Upstream != "my-eu-deployment" || model(t, second, "gpt-4.1").Upstream != "my-us-deployment" || azure.Options["api_version"] != "2024-10-21" {
		t.Errorf("azure is %+v and %+v", azure, second)
	}
	house := provider(t, c, "10.0.0.5")
	if m := model(t, house, "house-llama"); m.Upstream != "llama-3.3-70b" || *m.InputPerMtok != 0.2 || *m.OutputPerMtok != 0.2 || m.Context != 32000 || m.MaxOutput != 4096 || len(house.APIKeys) > 0 {
		t.Errorf("house-llama is %+v", m)
	}
	if local := provider(t, c, "ollama"); local.BaseURL != "http://localhost:11434/v1" || *model(t, local, "local").InputPerMtok != 0 {
		t.Errorf("local is %+v", local)
	}
	if groq := provider(t, c, "groq"); groq.Catalog == nil || !*groq.Catalog {
		t.Errorf("groq is %+v", groq)
	}
	if bedrock := provider(t, c, "bedrock"); bedrock.Options["region"] != "eu-central-1" || bedrock.Models[0].Name != "claude-eu" || bedrock.Models[0].Upstream != "anthropic.claude-sonnet-4-5-20250929-v1:0" {
		t.Errorf("bedrock is %+v", bedrock)
	}
	if c.Log.Bodies {
		t.Error("the converted file stores prompts, which LiteLLM does not")
	}
	for _, f := range []struct {
		kind          migration.Kind
		setting, text string
	}{
		{migration.Taken, "model_list[1] fast", "alias of gpt-4.1-mini"},
		{migration.Changed, "model_list[0] gpt-4.1 stream_timeout", "first_token"},
		{migration.Unsupported, "model_list[0] gpt-4.1 rpm", "--rpm"},
		{migration.Unsupported, "model_list[1] fast temperature", "clients send it"},
		{migration.Unsupported, "model_list[2] gpt-4.1 weight", "balances"},
		{migration.Changed, "model_list[2] gpt-4.1 supports_vision", "catalog"},
		{migration.Changed, "model_list[6] mystery api_key", "MODELS_EXAMPLE_COM_API_KEY"},
		{migration.Changed, "model_list[6] mystery", "no known price"},
		{migration.Unsupported, "model_list[9] picture", "image_generation"},
		{migration.Unsupported, "model_list[14] odd", "nowhere"},
		{migration.Unsupported, "router_settings.routing_strategy", "only model_list is converted"},
		{migration.Unsupported, "general_settings.master_key", "only model_list is converted"},
	} {
		want(t, r, f.kind, f.setting, f.text)
	}
	if t.Failed() {
		t.Logf("%s\n%s", r.YAML, r.Report())
	}
}

func TestLiteLLMKeysOfOneModelAreJoined(t *testing.T) {
	t.Parallel()
	_, c := convert(t, "simple.yaml")
	if len(c.Providers) != 1 || len(c.Providers[0].APIKeys) != 2 {
		t.Errorf("providers %+v, want one provider with two keys", c.Providers)
	}
}

func TestInvalidFilesAreRejected(t *testing.T) {
	t.Parallel()
	known, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "a: [", "other: 1", "- 1", strings.Repeat("a", 5<<20)} {
		if r, err := migration.LiteLLM([]byte(text), known, vendors); err == nil {
			t.Errorf("%.20q was converted to %+v, want an error", text, r)
		}
	}
}

func FuzzLiteLLM(f *testing.F) {
	known, err := catalog.Default()
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"full.yaml", "simple.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text []byte) { _, _ = migration.LiteLLM(text, known, vendors) })
}

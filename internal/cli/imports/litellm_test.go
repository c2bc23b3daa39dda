package imports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/cli/clitest"
	"fairlead.dev/internal/config"
)

// testVendors are the vendors that the samples use.
var testVendors = []string{"openai", "azure", "anthropic", "bedrock", "groq", "ollama"}

func testCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	known, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	return known
}

func readSample(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestLiteLLMConfigurationIsConverted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"full", "simple", "unusual"} {
		text, findings, err := convertLiteLLM(readSample(t, name+".yaml"), testCatalog(t), testVendors)
		if err != nil {
			t.Fatal(err)
		}
		clitest.Golden(t, name+".txt", text+"\n"+report(findings))
		if strings.Contains(text+report(findings), "secret") {
			t.Errorf("%s: a key in plain text was copied", name)
		}
		path := filepath.Join(t.TempDir(), "fairlead.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var env []string
		for i, variable := range []string{
			"OPENAI_API_KEY", "SECOND_OPENAI_KEY", "AZURE_API_KEY", "AZURE_API_KEY_2", "ANTHROPIC_API_KEY", "GROQ_API_KEY", "MODELS_EXAMPLE_COM_API_KEY", "PROXY_KEY", "SECOND_PROXY_KEY", "REGION", "AWS_ID", "AWS_SECRET",
		} {
			env = append(env, variable+"=value-0123456789-"+string(rune('a'+i)))
		}
		env = append(env, "AWS_REGION=eu-central-1")
		if _, err := config.Load(config.Options{Path: path, Vendors: testVendors, Env: append(env, "HOME=/h")}); err != nil {
			t.Errorf("%s: the converted file is invalid: %v", name, err)
		}
	}
}

func TestInvalidFilesAreRejected(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "a: [", "other: 1", "- 1"} {
		if converted, _, err := convertLiteLLM([]byte(text), testCatalog(t), testVendors); err == nil {
			t.Errorf("%.20q was converted to %s, want an error", text, converted)
		}
	}
}

func FuzzLiteLLM(f *testing.F) {
	known := testCatalog(f)
	for _, name := range []string{"full.yaml", "simple.yaml", "unusual.yaml"} {
		f.Add(readSample(f, name))
	}
	f.Fuzz(func(_ *testing.T, text []byte) { _, _, _ = convertLiteLLM(text, known, testVendors) })
}

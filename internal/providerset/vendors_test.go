package providerset

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/config"
)

func TestConfiguredProviderNeedsAnAddress(t *testing.T) {
	t.Parallel()
	for provider, c := range map[string]struct {
		variable string
		fix      string // empty when the file is fine
	}{
		`{name: bedrock, api_keys: [a-0123456]}`:                                          {fix: "add base_url: https://host/v1, options: {region: eu-central-1}, or set AWS_REGION"},
		`{name: ours, vendor: bedrock}`:                                                   {variable: "AWS_DEFAULT_REGION=eu-west-1"},
		`{name: bedrock, options: {region: eu-west-1}}`:                                   {},
		`{name: azure, api_keys: [a-0123456]}`:                                            {fix: "add base_url: https://host/v1, or set AZURE_OPENAI_ENDPOINT"},
		`{name: azure, disabled: true}`:                                                   {},
		`{name: azure, base_url: "https://ours.openai.azure.com/openai/v1"}`:              {},
		`{name: cloudflare, api_keys: [a-0123456]}`:                                       {fix: "add base_url: https://host/v1, or set CLOUDFLARE_ACCOUNT_ID"},
		`{name: cloudflare}`:                                                              {variable: "CLOUDFLARE_ACCOUNT_ID=ours"},
		`{name: openai, format: messages}`:                                                {fix: "add base_url: https://host/v1"},
		`{name: openai, format: messages, base_url: "https://ours.example/v1"}`:           {},
		`{name: vertex, options: {project: ours}}`:                                        {},
		`{name: house, base_url: "http://127.0.0.1:1/v1", models: [{name: house-model}]}`: {},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "fairlead.yaml")
			if err := os.WriteFile(path, []byte("providers:\n  - "+provider+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := config.Load(config.Options{Path: path, Env: []string{c.variable}, Vendors: VendorNames(), Missing: MissingAddress})
			if c.fix == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			problems, ok := errors.AsType[*config.Problems](err)
			if !ok || len(problems.List) != 1 || problems.List[0].Line != 2 || problems.List[0].Fix != c.fix {
				t.Errorf("%v, want one problem on line 2 with the fix %q", err, c.fix)
			}
		})
	}
}

func TestProviderWithoutKeysUsesTheIdentityOfTheMachine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{name: bedrock, options: {region: eu-west-1}}`:                           "AWS default credentials",
		`{name: vertex, options: {project: ours}}`:                                "Google Cloud metadata server",
		`{name: azure, options: {resource: ours}}`:                                "Azure managed or workload identity",
		`{name: azure, base_url: "https://ours.test", options: {auth: identity}}`: "Azure managed or workload identity",
		`{name: azure, base_url: "https://ours.test"}`:                            "",
		`{name: bedrock, options: {region: eu-west-1}, api_keys: [a-0123456]}`:    "file",
		`{name: openai}`: "",
	} {
		var p config.Provider
		if err := yaml.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		set, err := Preview(t.Context(), config.Config{Providers: []config.Provider{p}}, func(string) string { return "" }, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range set.Providers[0].Credentials {
			got += c.Source
		}
		if got != want {
			t.Errorf("%s: credential from %q, want %q", text, got, want)
		}
	}
}

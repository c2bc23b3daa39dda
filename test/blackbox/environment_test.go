package blackbox

import (
	"strings"
	"testing"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

const envSecret = "sk-canary-environment-5566778899"

func TestVariableEnablesItsProviderWithoutAFile(t *testing.T) {
	t.Parallel()
	mock, url := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Env: []string{"FAIRLEAD_DETECT=true", "OPENAI_API_KEY=" + envSecret, "OPENAI_BASE_URL=" + url}})

	answer := wantOK(t, g.Call(t, harness.Request{Key: g.Key(t), Body: scenario.Chat("gpt-4.1-mini")}))

	if got := answer.Header.Get("X-Fairlead-Provider"); got != "openai" {
		t.Errorf("served by %q, want openai", got)
	}
	call := mock.Calls()[0]
	if got := call.Header.Get("Authorization"); got != "Bearer "+envSecret || call.Path != "/v1/chat/completions" {
		t.Errorf("the provider got %s with Authorization %q, want /v1/chat/completions with the key of the variable", call.Path, got)
	}
	if strings.Contains(g.Log(), envSecret) {
		t.Error("the log contains the credential")
	}
}

// A credential is sent only to the host it belongs to. If the configuration file sets another address for a vendor, it must
// also set a credential.
func TestVendorsKeyNeverGoesToAnotherHost(t *testing.T) {
	t.Parallel()
	models := []harness.Model{harness.Chat(small, 1, 1, 0.5)}
	tests := []struct {
		name     string
		provider func(url string) harness.Provider
		env      func(url string) []string
		want     string
	}{
		{
			"the vendor's name at another address", func(url string) harness.Provider {
				return harness.Provider{Name: "openai", BaseURL: url, Models: models}
			}, func(string) []string { return nil }, "",
		},
		{
			"another name at another address", func(url string) harness.Provider {
				return harness.Provider{Name: "house", BaseURL: url, Models: models}
			}, func(string) []string { return nil }, "",
		},
		{
			"the file sets the credential", func(url string) harness.Provider {
				return harness.Provider{Name: "openai", BaseURL: url, APIKeys: []string{"${OPENAI_API_KEY}"}, Models: models}
			}, func(string) []string { return nil }, "Bearer " + envSecret,
		},
		{
			"OPENAI_BASE_URL sets the same address", func(url string) harness.Provider {
				return harness.Provider{Name: "openai", BaseURL: url, Models: models}
			}, func(url string) []string { return []string{"OPENAI_BASE_URL=" + url} }, "Bearer " + envSecret,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mock, url := harness.Upstream(t)
			g := harness.Start(t, harness.Options{
				Config: harness.Config(t, []harness.Provider{tt.provider(url)}),
				Env:    append([]string{"OPENAI_API_KEY=" + envSecret}, tt.env(url)...),
			})

			wantOK(t, g.Call(t, harness.Request{Key: g.Key(t), Body: scenario.Chat(small)}))

			for _, call := range mock.Calls() {
				if got := call.Header.Get("Authorization"); got != tt.want {
					t.Errorf("Authorization sent to the other host is %q, want %q", got, tt.want)
				}
			}
		})
	}
}

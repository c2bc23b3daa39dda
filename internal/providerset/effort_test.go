package providerset

import (
	"cmp"
	"io"
	"strings"
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// TestAdaptersSendEveryEffortOfTheCatalog sends each effort that the router may choose to each provider, for each client format.
func TestAdaptersSendEveryEffortOfTheCatalog(t *testing.T) {
	t.Parallel()
	cat, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	clients := []struct {
		format wire.Format
		body   string
	}{
		{openai.Format{}, `{"model":"auto","messages":[{"role":"user","content":"x"}],"max_tokens":60000}`},
		{anthropic.Format{}, `{"model":"auto","messages":[{"role":"user","content":"x"}],"max_tokens":60000,"output_config":null}`},
		{responses.Format{}, `{"model":"auto","input":"x","reasoning":{"summary":"auto"},"max_output_tokens":60000}`},
	}
	sent := 0
	for _, v := range vendors() {
		for _, o := range cat.Offers(v.Name) {
			model := cat.At(o)
			efforts := catalog.EffortsFor(v.Name, o.Model)
			if model == nil || len(efforts) == 0 {
				continue
			}
			target := provider.Target{
				Provider: v.Name, Vendor: v.Name, Model: model, Upstream: cmp.Or(o.Upstream, o.Model), Traits: provider.Traits{ResponsesOnly: o.Needs == catalog.NeedsResponses},
			}
			p := v.New(provider.Settings{BaseURL: "https://provider.test/v1", Targets: []*provider.Target{&target}, Options: map[string]string{"region": "r", "project": "p"}})
			for _, e := range efforts {
				for _, client := range clients {
					req, err := client.format.DecodeRequest(t.Context(), llm.Chat, []byte(client.body))
					if err != nil {
						t.Fatal(err)
					}
					chosen := *p.Targets[0]
					chosen.Effort = e
					call := &provider.Call{Target: &chosen, Request: req, Client: client.format, Access: provider.Access{Secret: "secret-0123456789"}}
					out, err := p.Chat.NewRequest(t.Context(), call)
					if err != nil {
						t.Fatalf("%s of %s to %s: %v", req.Format, o.Model, v.Name, err)
					}
					body, err := io.ReadAll(out.Body)
					if err != nil {
						t.Fatal(err)
					}
					sent++
					if !strings.Contains(string(body), `"`+e+`"`) || strings.Contains(strings.Join(call.Warnings, "\n"), "effort") {
						t.Errorf("%s to %s of %s at effort %s: sent %s, warnings %q", req.Format, o.Model, v.Name, e, body, call.Warnings)
					}
				}
			}
		}
	}
	if sent < 100 {
		t.Errorf("%d requests were built, want at least 100", sent)
	}
}

package route

import (
	"testing"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

func TestNamesResolveToRoutes(t *testing.T) {
	t.Parallel()
	target := func(name string) *provider.Target {
		return &provider.Target{Provider: "p", Model: &catalog.Model{Name: name, Op: llm.Chat}, Upstream: name}
	}
	snap := NewSnapshot(&catalog.Catalog{}, []*provider.Provider{{Name: "p", Targets: []*provider.Target{target("support:8b"), target("claude-opus")}}}, nil)
	instance, workspace := []Route{{Name: "support"}, {Name: "opus"}}, []Route{{Name: "support", Pool: []string{"x"}}, {Name: "auto", Pool: []string{"y"}}}
	for name, want := range map[string]string{
		"auto": "auto", "AUTO:Cost": "auto:cost", "claude-auto": "auto", "Gemini-Auto:speed": "auto:speed",
		"support": "support", "Support:cost": "support:cost", "claude-support:quality": "support:quality", "support:bogus": "support:bogus",
		"support:8b": "", "claude-opus": "", "opus": "opus", "automatic": "", "p/support": "",
	} {
		got, definition, ok := snap.Resolve(name, instance, workspace)
		if ok != (want != "") || ok && got != want || !ok && got != name {
			t.Errorf("%s is resolved to %s, %v; want %s", name, got, ok, want)
		}
		if definition != nil && definition.Name == "support" && definition.Pool != nil {
			t.Errorf("%s: the route of the workspace replaces the one of the instance", name)
		}
	}
}

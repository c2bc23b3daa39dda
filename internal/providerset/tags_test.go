package providerset

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/simulator"
)

func TestTargetsHaveConfiguredAndDerivedTags(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect, c.Simulator = false, "on"
	one := []config.Model{{Name: "one"}}
	c.Providers = []config.Provider{
		{Name: "plain", BaseURL: "https://plain.example/v1", Models: one},
		{Name: "marked", BaseURL: "https://marked.example/v1", Models: one, Tags: []string{"internal", "eu", "eu"}},
		{Name: "discreet", BaseURL: "https://discreet.example/v1", Models: one, ZeroRetention: true},
		{Name: "curious", BaseURL: "https://curious.example/v1", Models: one, Collects: true, Tags: []string{"test"}},
		{Name: "here", BaseURL: "http://127.0.0.1:9/v1", Models: one, Tags: []string{"local"}},
		{Name: "off", BaseURL: "https://off.example/v1", Models: one, Tags: []string{"spare"}, Disabled: true},
	}
	f := assembled(t, c)

	got := map[string][]string{}
	for _, p := range append(f.Providers, f.Off...) {
		got[p.Name] = p.Targets[0].Tags
	}
	want := map[string][]string{
		"plain": nil, "marked": {"eu", "internal"}, "discreet": {"zdr"}, "curious": {"collects", "test"}, "here": {"local"},
		"off": {"spare"}, simulator.Provider: {"simulated"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpenWeightsAreTagged(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Detect = false
	c.Providers = []config.Provider{{Name: "groq", APIKeys: []string{"sk"}}}
	tagged := 0
	for _, target := range assembled(t, c).Snapshot().Targets() {
		if (len(target.Tags) == 1 && target.Tags[0] == "open_weights") != target.Model.OpenWeights {
			t.Errorf("%s: open weights %t, tags %v", target.ID(), target.Model.OpenWeights, target.Tags)
		}
		if target.Model.OpenWeights {
			tagged++
		}
	}
	if tagged == 0 {
		t.Error("no target has a model with open weights")
	}
}

func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"http://127.0.0.1:11434/v1":       true,
		"http://[::1]:8000/v1":            true,
		"http://[::ffff:10.0.0.1]/v1":     true,
		"http://192.168.1.20/v1":          true,
		"http://[fd00::1]/v1":             true,
		"http://169.254.1.1/v1":           true,
		"http://localhost:1234/v1":        true,
		"http://LOCALHOST./v1":            true,
		"http://ollama:11434/v1":          true,
		"https://llm.internal/v1":         true,
		"https://gpu.lab.local/v1":        true,
		"https://api.openai.com/v1":       false,
		"https://8.8.8.8/v1":              false,
		"https://local.example.com/v1":    false,
		"https://notlocal.mylocal.dev/v1": false,
		"https://internal.example/v1":     false,
		"":                                false,
		"://":                             false,
	} {
		if got := isPrivate(address); got != want {
			t.Errorf("isPrivate(%q) = %t, want %t", address, got, want)
		}
	}
}

// assembled returns the provider set of a configuration, without environment and store.
func assembled(t *testing.T, c config.Config) *Set {
	t.Helper()
	f, err := Builder{
		Config: c, Env: func(string) string { return "" }, Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
	}.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

package app

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/providerset"
	"fairlead.dev/internal/simulator"
)

// loadText writes text to a configuration file and loads the file.
func loadText(t *testing.T, text string) *config.Loaded {
	t.Helper()
	path := filepath.Join(t.TempDir(), config.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(config.Options{Path: path, Env: []string{"HOME=" + t.TempDir(), "FAIRLEAD_DETECT=false"}, Vendors: providerset.VendorNames()})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

const ruledHouse = `listen: 127.0.0.1:0
master_key: 0123456789abcdef0123456789abcdef
providers:
  - {name: house, base_url: "http://127.0.0.1:9/v1", tags: [inside], models: [{name: our-model, aliases: [ours]}]}
  - {name: spare, base_url: "https://spare.example/v1", models: [{name: spare-model}], disabled: true}
`

func TestPoliciesMayNameKnownModelsAndProviders(t *testing.T) {
	t.Parallel()
	f := assembled(t, loadText(t, ruledHouse).Config)
	w := f.Inventory()
	for what, c := range map[string]struct {
		list []string
		has  []string
		no   []string
	}{
		"models":    {w.Models, []string{"our-model", "spare-model", "gpt-4.1"}, []string{"ours", "nobody"}},
		"providers": {w.Providers, []string{"house", "spare", "openai", "anthropic"}, []string{simulator.Provider, "nobody"}},
		"targets":   {w.Targets, []string{"house/our-model", "spare/spare-model", "openai/gpt-4.1"}, []string{"house/gpt-4.1"}},
		"tags":      {w.Tags, []string{"inside", "zdr", "collects", "local", "simulated", "open_weights"}, []string{"outside"}},
	} {
		for _, name := range c.has {
			if !slices.Contains(c.list, name) {
				t.Errorf("%s: %s is missing", what, name)
			}
		}
		for _, name := range c.no {
			if slices.Contains(c.list, name) {
				t.Errorf("%s: %s is listed", what, name)
			}
		}
		if !slices.IsSorted(c.list) || len(slices.Compact(slices.Clone(c.list))) != len(c.list) {
			t.Errorf("%s: %v is not sorted or has duplicates", what, c.list)
		}
	}
	if name, ok := w.Canonical("ours"); !ok || name != "our-model" {
		t.Errorf("Canonical(ours) = %q, %t; want our-model, true", name, ok)
	}
	if _, err := w.Zone("Europe/Berlin"); err != nil {
		t.Error(err)
	}
}

func TestInstancePoliciesAreParsed(t *testing.T) {
	t.Parallel()
	loaded := loadText(t, ruledHouse+`policies:
  - name: stay-inside      # by day
    when: time.hour("Europe/Berlin") < 18
    allow: {tags: [inside]}
  - {name: ours, prefer: [house/ours, spare-model], exclude: {providers: [openai]}}
rescue: off
`)
	set, err := new(App).instancePolicies(loaded, assembled(t, loaded.Config))
	if err != nil {
		t.Fatal(err)
	}
	if set.Len() != 2 || set.Name() != "instance" || set.Version() == "" {
		t.Errorf("%d policies of %q, version %q", set.Len(), set.Name(), set.Version())
	}
	if source := string(set.Source()); !strings.HasPrefix(source, "policies:\n") || strings.Contains(source, "0123") || strings.Contains(source, "rescue") {
		t.Errorf("source of the instance policies:\n%s", source)
	}
	none, err := new(App).instancePolicies(loadText(t, ruledHouse), assembled(t, config.Default()))
	if none != nil || err != nil {
		t.Errorf("without policies: %v, %v", none, err)
	}
}

func TestInvalidInstancePoliciesAreConfigurationProblems(t *testing.T) {
	t.Parallel()
	loaded := loadText(t, ruledHouse+`policies:
  - name: stay-inside
    when: request.task == "code" and key.name == "ci"
    allow: {tags: [inside], providers: [opnai]}
  - {name: ours, pin: house/our-modle}
`)
	_, err := new(App).instancePolicies(loaded, assembled(t, loaded.Config))
	problems, ok := errors.AsType[*config.Problems](err)
	if !ok {
		t.Fatalf("got %v, want problems", err)
	}
	want := `error: FILE line 8: policy "stay-inside": unexpected "and"
   8 |     when: request.task == "code" and key.name == "ci"
     |                                  ^^^
  fix: correct the condition: write &&        [E2040]

error: FILE line 9: policy "stay-inside": unknown provider "opnai"
   9 |     allow: {tags: [inside], providers: [opnai]}
     |                                         ^^^^^ did you mean "openai"?
  fix: correct the name        [E2035]

error: FILE line 10: policy "ours": unknown model "house/our-modle"
  10 |   - {name: ours, pin: house/our-modle}
     |                       ^^^^^^^^^^^^^^^ did you mean "house/our-model"?
  fix: correct the name        [E2035]

3 problems: correct them, then run  fairlead config check --config FILE
`
	if diff := cmp.Diff(want, strings.ReplaceAll(problems.Pretty(), loaded.Path, "FILE")); diff != "" {
		t.Error(diff)
	}
	if _, err := providerset.Check(t.Context(), loaded, func(string) string { return "" }); err == nil || err.Error() != problems.Error() {
		t.Errorf("Check without a store: got %v, want %v", err, problems)
	}
}

// Removing a provider in the dashboard does not invalidate the active configuration.
func TestActivePoliciesMayNameRemovedModels(t *testing.T) {
	t.Parallel()
	loaded := loadText(t, ruledHouse+"policies: [{name: ours, exclude: {models: [our-model]}}]\n")
	without := loadText(t, "listen: 127.0.0.1:0\n").Config
	a := &App{}
	a.config.Store(loaded)
	if _, err := a.instancePolicies(loaded, assembled(t, without)); err == nil {
		t.Error("accepted an unknown name at startup")
	}
	a.providers.Store(assembled(t, loaded.Config))
	if set, err := a.instancePolicies(loaded, assembled(t, without)); err != nil || set.Len() != 1 {
		t.Errorf("under the active configuration: %v", err)
	}
	next := *loaded
	if _, err := a.instancePolicies(&next, assembled(t, without)); err == nil {
		t.Error("accepted a new configuration with an unknown name")
	}
}

// assembled returns the provider set of a configuration, without environment variables and store.
func assembled(t *testing.T, c config.Config) *providerset.Set {
	t.Helper()
	set, err := providerset.Builder{
		Config: c, Env: func(string) string { return "" }, Simulator: simulator.NewSimulator(simulator.Options{}), Book: &catalog.PriceHistory{},
	}.Assemble()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

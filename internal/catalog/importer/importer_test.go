package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func tables(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Default()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func fixture(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "modelsdev.json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func readRows(t testing.TB) []Row {
	t.Helper()
	rows, err := Read(fixture(t))
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func find(t *testing.T, rows []Row, provider, id string) Row {
	t.Helper()
	i := slices.IndexFunc(rows, func(r Row) bool { return r.Provider == provider && r.ID == id })
	if i < 0 {
		t.Fatalf("no row for %s at %s", id, provider)
	}
	return rows[i]
}

func rate(dollars float64) *money.Rate { return new(money.PerMillion(dollars)) }

func TestModelsDevRows(t *testing.T) {
	t.Parallel()
	rows := readRows(t)
	want := Row{
		Provider: "openai", ID: "gpt-9", Op: llm.Chat, Needs: "responses", Context: 400000, MaxOutput: 128000,
		Abilities: llm.Tools | llm.ParallelTools | llm.Vision | llm.AudioIn | llm.AudioOut | llm.Files | llm.JSONMode | llm.JSONSchema | llm.Reasoning,
		Price: &catalog.Price{
			Input: *rate(1), Output: *rate(4), AudioInput: rate(10), AudioOutput: rate(20), Services: []catalog.Service{{Name: "fast", Factor: 2500}}, Source: Source,
		},
	}
	if diff := cmp.Diff(want, find(t, rows, "openai", "gpt-9")); diff != "" {
		t.Error(diff)
	}
	if p := find(t, rows, "openai", "gpt-5.6-sol").Price; len(p.Tiers) != 1 || p.Tiers[0].Above != 272000 {
		t.Errorf("the older copy of the tier was read: %+v", p.Tiers)
	}
	if p := find(t, rows, "gemini", "gemini-2.5-pro").Price; len(p.Tiers) != 1 || p.Tiers[0].Above != 200000 {
		t.Errorf("price with only the older tier field: got tiers %+v, want one above 200000", p.Tiers)
	}
	if r := find(t, rows, "openai", "text-embedding-3-large"); r.Op != llm.Embed || r.MaxOutput != 0 {
		t.Errorf("got %+v", r)
	}
	if r := find(t, rows, "openai", "gpt-10"); r.Price != nil {
		t.Errorf("a missing price was read as one: %+v", r.Price)
	}
	if slices.ContainsFunc(rows, func(r Row) bool { return strings.HasPrefix(r.ID, "glm") }) {
		t.Error("a subscription plan was read")
	}
}

// formatDiff formats a diff with one line per change.
func formatDiff(d Diff) []string {
	var lines []string
	for _, c := range d.Changes {
		show := func(p *catalog.Price) string {
			if p == nil {
				return "-"
			}
			return fmt.Sprintf("%g/%g", p.Input.Dollars(), p.Output.Dollars())
		}
		line := fmt.Sprintf("%s %s/%s %s %s x%.3g %s", c.State, c.Provider, c.Model, show(c.Old), show(c.New), c.Factor, c.Reason)
		lines = append(lines, strings.TrimSpace(line))
	}
	return append(lines, fmt.Sprintf("unchanged %d, unknown %d", d.Unchanged, d.Unknown))
}

// offersAll stands for accounts that offer every model.
func offersAll(string) bool { return true }

func TestCompare(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		options Options
		want    []string
	}{
		"known models": {Options{At: noon}, []string{
			"changed gemini/gemini-2.5-pro 1.25/10 1.25/10 x2.5",
			"rejected groq/gpt-oss-20b 0.075/0.3 0/0 x0 price is zero",
			"rejected mistral/mistral-large-2512 0.5/1.5 0.5/1.5 x1 cached input costs more than input",
			"changed openai/gpt-4.1 2/8 1.8/7.2 x1.11",
			"rejected openai/gpt-4o 2.5/10 - x0 no price",
			"changed openai/gpt-5-pro 15/120 14/110 x1.09",
			"rejected openai/gpt-5.5 5/30 0.5/3 x10 changes by a factor of 10",
			"new openrouter/grok-4.7 - 2/6 x1",
			"unchanged 4, unknown 4",
		}},
		"after the promotion": {Options{At: noon.AddDate(0, 2, 0)}, []string{
			"changed gemini/gemini-2.5-pro 1.25/10 1.25/10 x2.5",
			"changed gemini/gemini-3.8-flash 1.5/7.5 0.75/3.75 x2",
			"rejected groq/gpt-oss-20b 0.075/0.3 0/0 x0 price is zero",
			"rejected mistral/mistral-large-2512 0.5/1.5 0.5/1.5 x1 cached input costs more than input",
			"changed openai/gpt-4.1 2/8 1.8/7.2 x1.11",
			"rejected openai/gpt-4o 2.5/10 - x0 no price",
			"changed openai/gpt-5-pro 15/120 14/110 x1.09",
			"rejected openai/gpt-5.5 5/30 0.5/3 x10 changes by a factor of 10",
			"changed openai/gpt-5.6-sol 5/30 4/20 x1.5",
			"new openrouter/grok-4.7 - 2/6 x1",
			"unchanged 2, unknown 4",
		}},
		"models of connected accounts": {Options{At: noon, Offered: offersAll}, []string{
			"changed gemini/gemini-2.5-pro 1.25/10 1.25/10 x2.5",
			"rejected groq/gpt-oss-20b 0.075/0.3 0/0 x0 price is zero",
			"rejected mistral/mistral-large-2512 0.5/1.5 0.5/1.5 x1 cached input costs more than input",
			"changed openai/gpt-4.1 2/8 1.8/7.2 x1.11",
			"rejected openai/gpt-4o 2.5/10 - x0 no price",
			"changed openai/gpt-5-pro 15/120 14/110 x1.09",
			"rejected openai/gpt-5.5 5/30 0.5/3 x10 changes by a factor of 10",
			"new openai/gpt-9 - 1/4 x0",
			"new openrouter/grok-4.7 - 2/6 x1",
			"unchanged 4, unknown 3",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := formatDiff(Compare(readRows(t), tables(t), tc.options))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAcceptedPricesAreAppliedWithHistory(t *testing.T) {
	t.Parallel()
	tables := tables(t)
	b := emptyHistory(t)
	Compare(readRows(t), tables, Options{At: noon, Offered: offersAll}).Apply(b, tables, noon)
	c := tables.With(b.Overrides(tables))
	o, _ := c.Offer("openai", "gpt-4.1")
	if p := o.Price; p.Input != *rate(1.8) || *p.CacheRead != *rate(0.45) || p.Source != Source || p.AsOf != "2026-11-15" ||
		p.At(noon.Add(-time.Second)).Input != *rate(2) || p.At(noon).Input != *rate(1.8) {
		t.Errorf("got %+v", p)
	}
	if o, _ := c.Offer("openai", "gpt-4o"); o.Price.Input != *rate(2.5) {
		t.Errorf("a rejected price was applied: %+v", o.Price)
	}
	if o, _ := c.Offer("openai", "gpt-5-pro"); o.Needs != "responses" {
		t.Errorf("an import made %s callable", o.Model)
	}
	m, ok := c.Model("gpt-9")
	if !ok || m.Context != 400000 || m.MaxOutput != 128000 || !m.Abilities.Has(llm.Vision) {
		t.Errorf("the new model: %+v", m)
	}
	if again := Compare(readRows(t), c, Options{At: noon.Add(time.Hour), Offered: offersAll}); again.Count(New)+again.Count(Changed) != 0 {
		t.Errorf("a second import of the same list has changes: %v", formatDiff(again))
	}
	if b.Find("openai", "gpt-9").Upstream != "gpt-9" || b.Find("openai", "gpt-4.1").Upstream != "" {
		t.Errorf("upstream names %q and %q, want gpt-9 for the new offer only", b.Find("openai", "gpt-9").Upstream, b.Find("openai", "gpt-4.1").Upstream)
	}
}

func emptyHistory(t *testing.T) *catalog.PriceHistory {
	t.Helper()
	b, err := catalog.ReadPriceHistory(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestManualPricesAreKept(t *testing.T) {
	t.Parallel()
	c := tables(t)
	b := emptyHistory(t)
	b.Set(c, catalog.Listing{Provider: "openai", Model: "gpt-4.1", Price: &catalog.Price{Input: *rate(1), Output: *rate(1), Source: catalog.OverrideSource}}, noon)
	diff := Compare(readRows(t), c.With(b.Overrides(c)), Options{At: noon.Add(time.Hour)})
	i := slices.IndexFunc(diff.Changes, func(c Change) bool { return c.Model == "gpt-4.1" })
	if diff.Changes[i].State != Kept || diff.Count(Kept) != 1 {
		t.Errorf("got %v", formatDiff(diff))
	}
}

func TestInvalidListsAreRejected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[]": "unexpected format", "<html>": "unexpected format", "{}": "no models", `{"gpt-4.1": {"litellm_provider": "openai"}}`: "no models",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(fixture(f))
	c := tables(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		rows, err := Read(text)
		if err != nil {
			return
		}
		b := emptyHistory(t)
		Compare(rows, c, Options{At: noon, Offered: offersAll}).Apply(b, c, noon)
		encoded, err := b.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := catalog.ReadPriceHistory(encoded); err != nil {
			t.Fatalf("the imported list results in an invalid price history: %v", err)
		}
	})
}

func TestOpenRouterListIsRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/openrouter.json")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Read(text)
	want := []Row{
		{
			Provider: "openrouter", ID: "openai/gpt-9", Op: llm.Chat, Context: 400_000, MaxOutput: 128_000,
			Abilities: llm.JSONMode | llm.Tools | llm.JSONSchema | llm.Reasoning | llm.Vision | llm.Files,
			Price:     &catalog.Price{Input: *rate(1), Output: *rate(4), CacheRead: rate(0.1), Source: "openrouter"},
		},
		{Provider: "openrouter", ID: "openrouter/auto", Op: llm.Chat, Context: 2_000_000, Abilities: llm.JSONMode}, // its price varies
	}
	if diff := cmp.Diff(want, rows); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

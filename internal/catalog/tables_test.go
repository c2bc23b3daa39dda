package catalog

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTablesReadBackAsTheEmbeddedCatalog(t *testing.T) {
	t.Parallel()
	tables, err := EmbeddedTables()
	if err != nil {
		t.Fatal(err)
	}
	known, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	c, err := ReadTables(tables)
	if err != nil || c.Version() != known.Version() || c.AsOf() < "2026" {
		t.Errorf("version %s, as of %s, %v", c.Version(), c.AsOf(), err)
	}
}

func TestInvalidExternalTablesAreRejected(t *testing.T) {
	t.Parallel()
	const (
		model = "one,v,,chat,p,1000,,,,,0.5,list,,2026,,\n"
		offer = "one,p,one-1,,,,1,2,,,,,,,,,,list,2026-01-01\n"
	)
	good := map[string]string{
		"models.csv": modelColumns + "\n" + model, "offers.csv": offerColumns + "\n" + offer, "periods.csv": periodColumns + "\n",
		"aliases.csv": aliasColumns + "\n", "benchmarks.csv": scoreColumns + "\n",
	}
	if _, err := ReadTables(good); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ table, text, want string }{
		"missing table":    {"periods.csv", "", "the tables must be"},
		"unknown table":    {"other.csv", "x\n", "the tables must be"},
		"other columns":    {"models.csv", "name\none\n", "unexpected columns"},
		"duplicate offer":  {"offers.csv", offerColumns + "\n" + offer + offer, "listed twice"},
		"unknown model":    {"offers.csv", offerColumns + "\n" + strings.Replace(offer, "one", "two", 1), `unknown model "two"`},
		"negative rate":    {"offers.csv", offerColumns + "\n" + strings.Replace(offer, ",1,2,", ",-1,2,", 1), "negative"},
		"implausible rate": {"offers.csv", offerColumns + "\n" + strings.Replace(offer, ",1,2,", ",1,200000,", 1), "costs more than $100000"},
		"no upstream name": {"offers.csv", offerColumns + "\n" + strings.Replace(offer, "one-1", "", 1), "no upstream name"},
		"quality above 1":  {"models.csv", modelColumns + "\n" + strings.Replace(model, "0.5", "1.5", 1), "quality outside"},
		"quality NaN":      {"models.csv", modelColumns + "\n" + strings.Replace(model, "0.5", "NaN", 1), "quality outside"},
	} {
		tables := maps.Clone(good)
		if tables[tc.table] = tc.text; tc.text == "" {
			delete(tables, tc.table)
		}
		if _, err := ReadTables(tables); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
		}
	}
}

func TestArchivedCatalogIsRestored(t *testing.T) {
	t.Parallel()
	tables, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	price := &Price{Input: 3, Output: 4, Source: OverrideSource}
	known := tables.With(Overrides{{Model: "house", Provider: "here", Aliases: []string{"our-model"}, Price: price}})
	data, err := known.Archive()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Restore(data)
	if err != nil {
		t.Fatal(err)
	}
	if again.Version() != known.Version() {
		t.Errorf("version %s, want %s", again.Version(), known.Version())
	}
	if diff := cmp.Diff(known.AllOffers(), again.AllOffers()); diff != "" {
		t.Error(diff)
	}
	for _, m := range known.Models() {
		for _, name := range append([]string{m.Name, strings.ToUpper(m.Name)}, m.Aliases...) {
			want, _ := known.Model(name)
			if got, ok := again.Model(name); !ok || got.Name != want.Name || got.Abilities != want.Abilities || got.Context != want.Context {
				t.Errorf("Model(%s) = %+v, want %+v", name, got, want)
			}
		}
		if diff := cmp.Diff(known.ListPrice(m.Name), again.ListPrice(m.Name)); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := Restore([]byte(`{"offers":[{"Model":"x"}]}`)); err == nil {
		t.Error("restored an offer without a model")
	}
}

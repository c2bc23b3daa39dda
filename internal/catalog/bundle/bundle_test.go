package bundle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
)

var created = time.Date(2026, 12, 1, 8, 30, 0, 0, time.UTC)

func embeddedText(t *testing.T, change ...string) []byte {
	t.Helper()
	tables, err := catalog.EmbeddedTables()
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.NewReplacer(change...).Replace(string(Format(created, tables))))
}

func TestCatalogFileReadsBack(t *testing.T) {
	t.Parallel()
	known, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse(embeddedText(t))
	if err != nil || !b.Created.Equal(created) || b.Catalog.Version() != known.Catalog.Version() {
		t.Fatalf("%+v, %v", b, err)
	}
	if diff := cmp.Diff(known.Catalog.AllOffers(), b.Catalog.AllOffers()); diff != "" || !b.Created.After(known.Created) {
		t.Errorf("%s, created %v", diff, known.Created)
	}
}

func TestMalformedCatalogFilesAreRejected(t *testing.T) {
	t.Parallel()
	text := string(embeddedText(t))
	for name, bad := range map[string]string{
		"empty":             "",
		"another file":      "<html></html>",
		"newer format":      strings.Replace(text, "fairlead-catalog 1", "fairlead-catalog 2", 1),
		"no time":           strings.Replace(text, "created 2026-12-01T08:30:00Z\n", "", 1),
		"invalid time":      strings.Replace(text, "T08:30:00Z", "", 1),
		"text before table": strings.Replace(text, "-- models.csv --", "hello\n-- models.csv --", 1),
		"table twice":       text + "-- models.csv --\n",
		"missing table":     strings.Split(text, "-- benchmarks.csv --")[0],
		"unknown table":     text + "-- other.csv --\n",
		"cut off":           text[:len(text)/2],
		"too large":         text + strings.Repeat("\n", MaxSize),
		"invalid cell":      strings.Replace(text, ",chat,", ",talk,", 1),
	} {
		if b, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%s: parsed as the catalog %s", name, b.Catalog.Version())
		}
	}
}

func TestSignaturesAreVerified(t *testing.T) {
	t.Parallel()
	public, secret, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	key, err := ParseSecret(secret)
	if err != nil || Public(key) != public {
		t.Fatalf("%s, %v", Public(key), err)
	}
	other, _, err := GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("fairlead-catalog 1\n")
	signature := Sign(text, key) + "\n"
	if err := Verify(text, signature, []string{other, public}); err != nil {
		t.Error(err)
	}
	for name, err := range map[string]error{
		"changed text":     Verify([]byte("fairlead-catalog 1 \n"), signature, []string{public}),
		"another key":      Verify(text, signature, []string{other}),
		"no key":           Verify(text, signature, nil),
		"no signature":     Verify(text, "", []string{public}),
		"cut signature":    Verify(text, signature[:40], []string{public}),
		"another document": Verify(text, Sign([]byte("other"), key), []string{public}),
	} {
		if !errors.Is(err, ErrSignature) {
			t.Errorf("%s: got %v, want ErrSignature", name, err)
		}
	}
	if err := Verify(text, signature, []string{"c2hvcnQ="}); err == nil || errors.Is(err, ErrSignature) {
		t.Errorf("short public key: got %v, want an error other than ErrSignature", err)
	}
	for _, bad := range []string{"", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, err := ParseSecret([]byte(bad)); err == nil {
			t.Errorf("ParseSecret(%q): got no error", bad)
		}
	}
}

func TestImplausibleChangesAreRejected(t *testing.T) {
	t.Parallel()
	active, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	price := func(input, output money.Rate) *catalog.Catalog {
		o, _ := active.Catalog.Offer("openai", "gpt-4.1")
		p := *o.Price
		p.Input, p.Output = p.Input*input/100, p.Output*output/100
		return active.Catalog.With(catalog.Overrides{{Model: "gpt-4.1", Provider: "openai", Price: &p}})
	}
	small, err := catalog.ReadTables(map[string]string{
		"models.csv":     "name,vendor,family,op,home,context,max_input,max_output,abilities,traits,quality,quality_source,dimensions,released,deprecated,open_weights\n",
		"offers.csv":     "model,provider,upstream,needs,context,lacks,input,output,cache_read,cache_write,cache_write_1h,audio_input,audio_output,per_request,tiers,services,hours,source,as_of\n",
		"periods.csv":    "model,provider,name,from,until,input,output,cache_read,cache_write,tiers,source,as_of\n",
		"aliases.csv":    "alias,model\n",
		"benchmarks.csv": "model,benchmark,value,source,as_of\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		next   *catalog.Catalog
		factor float64
		want   string
	}{
		"same":               {active.Catalog, 10, ""},
		"tenfold":            {price(1000, 100), 10, ""},
		"a tenth":            {price(10, 100), 10, ""},
		"elevenfold input":   {price(1100, 100), 10, "openai/gpt-4.1 input from $2 to $22"},
		"output below":       {price(100, 9), 10, "openai/gpt-4.1 output from $8 to $0.72"},
		"free":               {price(0, 100), 10, "openai/gpt-4.1 input from $2 to $0"},
		"every change":       {price(0, 0), 0, ""},
		"factor of two":      {price(300, 100), 2, "factor of 2"},
		"almost no offers":   {small, 10, "only 0 of the"},
		"no offers, allowed": {small, 0, ""},
	} {
		err := CheckChange(active.Catalog, tc.next, tc.factor)
		if tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, ErrChange) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: got error %v, want %q", name, err, tc.want)
		}
	}
}

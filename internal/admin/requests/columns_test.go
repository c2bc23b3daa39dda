package requests

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

func TestExportOfLogColumnEqualsFieldOfRow(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]requestlog.Entry{
		"empty": {},
		"full": {
			ID: "req_1", Result: requestlog.Result{Outcome: requestlog.OK, Status: 200, Finish: "stop"},
			Call:     requestlog.Call{Stream: true, Requested: "auto"},
			Routing:  requestlog.Routing{Model: "small", Provider: "openai", DecisionKind: route.Policy, Policy: "p", Simulated: true},
			Charge:   requestlog.Charge{Cost: new(money.Amount(5))},
			Baseline: requestlog.Baseline{BaselineCost: new(money.Amount(3))},
			Timing:   requestlog.Timing{Latency: 1500 * time.Millisecond}, Owner: requestlog.Owner{KeyID: "key_1"},
			Labels: requestlog.Labels{Session: "s", EndUser: "u"}, Connection: requestlog.Connection{Client: "curl/8"},
			Cache: &requestlog.Cache{Status: requestlog.CacheHit},
		},
	} {
		row := exportRow{RowOf(&e), &e}
		text, err := json.Marshal(row.RequestRow)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		for _, c := range requestlog.Columns() {
			got, err := json.Marshal(logged(c.Export).value(&row))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(fields[c.Export]), string(got)); diff != "" {
				t.Errorf("%s entry, column %s:\n%s", name, c.Export, diff)
			}
		}
	}
}

func TestNeutral(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"a formula", "=1+1", "'=1+1"},
		{"a formula behind a semicolon", "a;=1+1;b;@x", "a;'=1+1;b;'@x"},
		{"a formula behind a semicolon and quotes", `a; "=1+1"`, `a; "'=1+1"`},
		{"a formula behind spaces", "  =1+1", "  '=1+1"},
		{"a full-width formula", "＝1+1", "'＝1+1"},
		{"a formula on another line", "a\n=1\r\n=2", `a\n=1\r\n=2`},
		{"terminal sequences", "\x1b[31m\x9b\x00\x7f\u009b\u2028", `\u001b[31m` + "\ufffd" + `\u0000\u007f\u009b\u2028`},
		{"text direction", "a\u202eb\u2066c\u200f", `a\u202eb\u2066c\u200f`},
		{"ordinary text", "a; b - c = d, é 漢", "a; b - c = d, é 漢"},
	} {
		if got := Neutral(tt.text); got != tt.want {
			t.Errorf("%s: Neutral(%q) = %q, want %q", tt.name, tt.text, got, tt.want)
		}
	}
}

func FuzzNeutral(f *testing.F) {
	for _, s := range []string{"", "=x", "plain", "\r=", "−1", "a;=b", "a; \"+1", "\n=x", "\u0085@"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Neutral(s)
		if strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("Neutral(%q) = %q has control characters", s, got)
		}
		for cell := range strings.SplitSeq(got, ";") {
			if cell = strings.TrimLeft(cell, " \""); cell != "" && strings.ContainsAny(cell[:1], "=+-@") {
				t.Errorf("Neutral(%q) = %q has the formula %q", s, got, cell)
			}
		}
	})
}

func TestPriceSourceIsKindOfPrice(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"models.dev+litellm+openrouter": "list", "vendor page": "list", "": "list", "override": "override",
		"provider": "provider-reported", "local": "local",
	} {
		if bill := billView(&catalog.Bill{Source: source, AsOf: "2026-11-01"}); bill.Kind != want || bill.Source != source {
			t.Errorf("%q: %+v", source, bill)
		}
	}
}

func TestTailsAreBounded(t *testing.T) {
	t.Parallel()
	open := tails{each: map[string]int{}}
	for range maxTailsEach {
		open.enter("home")
	}
	if open.enter("home") || open.all != maxTailsEach {
		t.Errorf("a workspace may open more live views than its maximum, or %d are open; want %d", open.all, maxTailsEach)
	}
	for i := range maxTails - maxTailsEach {
		if !open.enter(fmt.Sprint(i)) {
			t.Fatal("one workspace uses up the live views of the others")
		}
	}
	if open.enter("another") {
		t.Error("there are more live views than the maximum")
	}
	open.leave("home")
	if open.all != maxTails-1 || !open.enter("another") {
		t.Errorf("after closing one: %d live views are open, or another was rejected", open.all)
	}
}

func TestBillShowsTheFeeOfSearches(t *testing.T) {
	t.Parallel()
	price := catalog.Price{Search: &catalog.SearchFee{Rate: new(catalog.SearchRate(10 * money.Dollar))}}
	u := llm.Usage{Input: 9, Searches: 3}
	known := price.Bill(u)
	v := billView(&known)
	row := v.Rows[len(v.Rows)-1]
	if row.Class != "web_search" || row.Tokens != nil || row.PerMtok != nil || *row.Searches != 3 || *row.Per1000 != 10*money.Dollar || row.Amount != 30_000_000 || len(v.Excluded) != 0 {
		t.Errorf("the row is %+v, excluded %q", row, v.Excluded)
	}
	price.Search = nil
	unknown := price.Bill(u)
	if v := billView(&unknown); len(v.Excluded) != 1 || v.Excluded[0] != "web_search" || v.Total != 0 {
		t.Errorf("excluded %q from a total of %v", v.Excluded, v.Total)
	}
	if tokens(u).Searches != 3 {
		t.Errorf("%+v", tokens(u))
	}
}

func TestExportWithoutBodiesHasNoContent(t *testing.T) {
	t.Parallel()
	const secret = "confidential"
	e := requestlog.Entry{
		ID: "req_1", Call: requestlog.Call{Preview: secret}, Result: requestlog.Result{Error: &requestlog.Failure{Message: secret, Origin: llm.FromProvider}},
		Routing: requestlog.Routing{Attempts: []requestlog.Attempt{{AttemptResult: requestlog.AttemptResult{Message: secret}, Cost: new(money.Amount(1))}}},
	}
	for bodies, want := range map[bool]int{false: 0, true: 3} {
		text, err := json.Marshal(ExportOf(&e, bodies))
		if got := strings.Count(string(text), secret); err != nil || got != want || !strings.Contains(string(text), `"operator_cost_usd":"`) {
			t.Errorf("bodies %t: %d times content, want %d, %v\n%s", bodies, got, want, err, text)
		}
	}
}

package requestlog

import (
	"errors"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

var testNow = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

func TestParseFilterReadsEveryParameter(t *testing.T) {
	t.Parallel()
	yes, cost, saved := true, money.Amount(10_000_000), money.Amount(-500)
	values, err := url.ParseQuery(`decision=expected,policy&outcome=ok&outcome=partial&status=200,429&model=a\,b,c&requested=auto&provider=p&policy=x` +
		`&key=key_1&tag=team%3Dsearch,stage&session=s&user=u&stream=true&simulated=1&min_cost=0.01&max_cost=$0.01&min_latency=500&max_latency=2s` +
		`&min_saved=-0.0000005&from=now-24h&to=2026-11-15T13:00:00%2B01:00&id=req_1&q=100%25&before=req_9&limit=20&sort=cost&unpriced=true&source=playground`)
	if err != nil {
		t.Fatal(err)
	}

	f, p, err := ParseFilter(values, testNow)
	if err != nil {
		t.Fatal(err)
	}
	want := Filter{
		From: testNow.Add(-24 * time.Hour), To: testNow,
		Lists: Lists{
			ID: []string{"req_1"}, Decision: []string{"expected", "policy"}, Outcome: []string{"ok", "partial"},
			Status: []int{200, 429}, Model: []string{"a,b", "c"}, Requested: []string{"auto"}, Provider: []string{"p"}, Policy: []string{"x"},
			Key: []string{"key_1"}, Tag: []string{"team=search", "stage"}, Session: []string{"s"}, User: []string{"u"},
		},
		Stream: &yes, Simulated: &yes,
		Ranges:   Ranges{MinCost: &cost, MaxCost: &cost, MinSaved: &saved, MinLatency: 500 * time.Millisecond, MaxLatency: 2 * time.Second},
		Unpriced: true, Source: SourcePlayground, Q: "100%",
	}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("filter: %s", diff)
	}
	if diff := cmp.Diff(Page{Before: "req_9", Limit: 20, Sort: "cost"}, p); diff != "" {
		t.Errorf("page: %s", diff)
	}
}

func TestParseFilterNamesTheInvalidParameter(t *testing.T) {
	t.Parallel()
	for query, test := range map[string]struct{ param, says string }{
		"modl=x":                             {"modl", `Did you mean "model"`},
		"min_coast=1":                        {"min_coast", `Did you mean "min_cost"`},
		"session=,":                          {"session", "has no value"},
		"decision=lucky":                     {"decision", "expected, fallback, policy"},
		"outcome=good":                       {"outcome", "upstream_error"},
		"status=abc":                         {"status", "abc"},
		"stream=maybe":                       {"stream", "maybe"},
		"source=phone":                       {"source", "key, playground, all"},
		"unpriced=maybe":                     {"unpriced", "maybe"},
		"min_cost=1e3":                       {"min_cost", "0.05"},
		"min_latency=fast":                   {"min_latency", "800ms"},
		"max_latency=-1s":                    {"max_latency", "800ms"},
		"from=yesterday":                     {"from", "now-24h"},
		"from=now-99999999999999d":           {"from", "now-24h"},
		"to=now-1x":                          {"to", "now-24h"},
		"from=now&to=now-1h":                 {"to", "before the start"},
		"limit=201":                          {"limit", "200"},
		"limit=0":                            {"limit", "200"},
		"sort=colour":                        {"sort", "latency"},
		"preset=nice":                        {"preset", "negative_savings"},
		"model=" + strings.Repeat("a,", 60):  {"model", "50"},
		"status=" + strings.Repeat("1,", 60): {"status", "50"},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = ParseFilter(values, testNow)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Kind != llm.InvalidRequest || e.Param != test.param || !strings.Contains(e.Message, test.says) {
			t.Errorf("%s: %v, want parameter %s and %q", query, err, test.param, test.says)
		}
	}
}

func TestPresetsFillUnsetParameters(t *testing.T) {
	t.Parallel()
	loss := money.Amount(-1)
	for query, want := range map[string]struct {
		Filter Filter
		Page   Page
	}{
		"preset=errors":                 {Filter{Lists: Lists{Outcome: []string{"upstream_error", "gateway_error", "partial", "interrupted"}}}, Page{}},
		"preset=errors&outcome=partial": {Filter{Lists: Lists{Outcome: []string{"partial"}}}, Page{}},
		"preset=fallbacks":              {Filter{Lists: Lists{Decision: []string{"fallback"}}}, Page{}},
		"preset=policy&model=m":         {Filter{Lists: Lists{Decision: []string{"policy"}, Model: []string{"m"}}}, Page{}},
		"preset=expensive":              {Filter{}, Page{Sort: "cost"}},
		"preset=slowest&limit=5":        {Filter{}, Page{Sort: "latency", Limit: 5}},
		"preset=negative_savings":       {Filter{Ranges: Ranges{MaxSaved: &loss}}, Page{}},
		"preset=unpriced":               {Filter{Unpriced: true}, Page{}},
		"preset=":                       {},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		f, p, err := ParseFilter(values, testNow)
		if diff := cmp.Diff(want.Filter, f) + cmp.Diff(want.Page, p); err != nil || diff != "" {
			t.Errorf("%s: %v %s", query, err, diff)
		}
	}
	for _, name := range Presets() {
		if _, _, ok := Preset(name); !ok {
			t.Errorf("Preset(%s) = false for a listed preset", name)
		}
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{
		"now":                       testNow,
		"now-15m":                   testNow.Add(-15 * time.Minute),
		"now+1h":                    testNow.Add(time.Hour),
		"now-7d":                    testNow.AddDate(0, 0, -7),
		"now-2w":                    testNow.AddDate(0, 0, -14),
		"now-30s":                   testNow.Add(-30 * time.Second),
		"2026-11-15":                time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC),
		"2026-11-15T12:00:00.5Z":    testNow.Add(500 * time.Millisecond),
		"2026-11-15T14:00:00+02:00": testNow,
	} {
		if got, err := ParseTime(text, testNow); err != nil || !got.Equal(want) {
			t.Errorf("ParseTime(%s) = %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "nowhere", "now-", "now1h", "now-h", "now--1h", "now-20000w", "now+2562048h", "now-153722868m", "1969-12-31", "0000-01-01T00:00:00Z"} {
		if got, err := ParseTime(text, testNow); err == nil {
			t.Errorf("ParseTime(%q) = %s, want an error", text, got)
		}
	}
}

func FuzzParseFilterRoundTrip(f *testing.F) {
	for _, query := range []string{
		"", `model=a\,b,c&q=%25`, "from=now-24h&to=now", "min_cost=0.000000001&max_saved=-1&unpriced=1", `tag=\\,x&session=a%00b&status=200`,
		"preset=errors&sort=time&limit=7&before=req_1&after=req_2", "stream=f&simulated=t&min_latency=3&max_latency=1h",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		filter, page, err := ParseFilter(values, testNow)
		if err != nil {
			return
		}
		written := filter.Values()
		maps.Copy(written, page.Values())
		filter2, page2, err := ParseFilter(written, testNow.Add(time.Hour))
		if diff := cmp.Diff(filter, filter2) + cmp.Diff(page, page2); err != nil || diff != "" {
			t.Errorf("%q was encoded as %q: %v %s", query, written.Encode(), err, diff)
		}
	})
}

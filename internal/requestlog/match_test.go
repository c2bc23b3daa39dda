package requestlog

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route"
)

func TestFilterMatchesEntries(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 15, 12, 0, 0, int(5*time.Millisecond), time.UTC)
	cost, baseline := money.Amount(300), money.Amount(200)
	entry := Entry{
		ID: id.New("req", at), Owner: Owner{WorkspaceID: "ws", KeyID: "key_1"},
		Timing:  Timing{Time: at, Latency: time.Second},
		Call:    Call{Stream: true, Requested: "auto", Preview: "Say 100%_ Ärger"},
		Routing: Routing{Model: "small-b", Provider: "openai", Policy: "cheap", DecisionKind: route.Policy},
		Result:  Result{Outcome: OK, Status: 200, Error: &Failure{Code: "NO_ROUTE", Message: "none left"}},
		Charge:  Charge{Cost: &cost}, Baseline: Baseline{BaselineCost: &baseline},
		Labels: Labels{Session: strings.Repeat("s", 500), EndUser: "u", Tags: map[string]string{"team": "search"}},
	}
	yes, no := true, false
	amount := func(n int64) *money.Amount { a := money.Amount(n); return &a }
	for name, test := range map[string]struct {
		filter Filter
		want   bool
	}{
		"empty filter":                           {Filter{}, true},
		"from is inclusive":                      {Filter{From: at}, true},
		"from later":                             {Filter{From: at.Add(time.Microsecond)}, false},
		"to is exclusive":                        {Filter{To: at}, false},
		"to later":                               {Filter{To: at.Add(time.Microsecond)}, true},
		"one of several models":                  {Filter{Lists: Lists{Model: []string{"large", "small-b"}}}, true},
		"all fields must match":                  {Filter{Lists: Lists{Model: []string{"small-b"}, Provider: []string{"other"}}}, false},
		"long values match by prefix":            {Filter{Lists: Lists{Session: []string{strings.Repeat("s", 600)}}}, true},
		"tag with value":                         {Filter{Lists: Lists{Tag: []string{"team=search"}}}, true},
		"tag with another value":                 {Filter{Lists: Lists{Tag: []string{"team=sales"}}}, false},
		"tag with any value":                     {Filter{Lists: Lists{Tag: []string{"team"}}}, true},
		"status":                                 {Filter{Lists: Lists{Status: []int{404, 200}}}, true},
		"other status":                           {Filter{Lists: Lists{Status: []int{404}}}, false},
		"streams":                                {Filter{Stream: &yes}, true},
		"no streams":                             {Filter{Stream: &no}, false},
		"simulated":                              {Filter{Simulated: &yes}, false},
		"sent with a key":                        {Filter{Source: SourceKey}, true},
		"sent from the playground":               {Filter{Source: SourcePlayground}, false},
		"least cost":                             {Filter{Ranges: Ranges{MinCost: amount(300)}}, true},
		"more cost":                              {Filter{Ranges: Ranges{MinCost: amount(301)}}, false},
		"most cost":                              {Filter{Ranges: Ranges{MaxCost: amount(299)}}, false},
		"negative savings":                       {Filter{Ranges: Ranges{MaxSaved: amount(-1)}}, true},
		"saved at least":                         {Filter{Ranges: Ranges{MinSaved: amount(0)}}, false},
		"slow":                                   {Filter{Ranges: Ranges{MinLatency: time.Second, MaxLatency: time.Second}}, true},
		"faster":                                 {Filter{Ranges: Ranges{MaxLatency: time.Millisecond}}, false},
		"unpriced":                               {Filter{Unpriced: true}, false},
		"text is literal":                        {Filter{Q: "100%_"}, true},
		"wildcards are literal":                  {Filter{Q: "1%_"}, false},
		"ASCII letters match in any case":        {Filter{Q: "SAY"}, true},
		"other letters match in their case only": {Filter{Q: "ärger"}, false},
		"text in the error":                      {Filter{Q: "no_route none"}, true},
		"text in the id":                         {Filter{Q: "REQ_"}, true},
		"text without a match":                   {Filter{Q: "elsewhere"}, false},
		"decision":                               {Filter{Lists: Lists{Decision: []string{"policy"}}}, true},
		"key":                                    {Filter{Lists: Lists{Key: []string{"key_2"}}}, false},
		"id":                                     {Filter{Lists: Lists{ID: []string{entry.ID}}}, true},
		"outcome, policy, user, requested":       {Filter{Lists: Lists{Outcome: []string{"ok"}, Policy: []string{"cheap"}, User: []string{"u"}, Requested: []string{"auto"}}}, true},
	} {
		test.filter.WorkspaceID = "ws"
		if got := test.filter.Match(&entry); got != test.want {
			t.Errorf("%s: Match = %t, want %t", name, got, test.want)
		}
	}
	if (&Filter{WorkspaceID: "other"}).Match(&entry) {
		t.Error("a filter of another workspace matches the entry")
	}
}

func TestUnknownAmountsMatchNoRange(t *testing.T) {
	t.Parallel()
	zero, lots := money.Amount(0), money.Max
	entry := Entry{Routing: Routing{Model: "m"}, Baseline: Baseline{BaselineCost: &zero}}
	for _, f := range []Filter{{Ranges: Ranges{MinCost: &zero}}, {Ranges: Ranges{MaxCost: &lots}}, {Ranges: Ranges{MinSaved: &zero}}, {Ranges: Ranges{MaxSaved: &lots}}} {
		if f.Match(&entry) {
			t.Errorf("%v matches an entry without a cost", f.Values())
		}
	}
	if !(&Filter{Unpriced: true}).Match(&entry) {
		t.Error("Unpriced does not match an entry without a cost")
	}
	if (&Filter{Unpriced: true}).Match(&Entry{}) {
		t.Error("Unpriced matches an entry without a model")
	}
}

func FuzzTermIsStorable(f *testing.F) {
	for _, s := range []string{"", "a\x00b", "\xff", strings.Repeat("é", 300), strings.Repeat("x", 199) + "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		term := Term(s)
		if len(term) > termBytes || !utf8.ValidString(term) || strings.Contains(term, "\x00") {
			t.Errorf("Term(%q) = %q, want at most %d bytes of valid UTF-8 without NUL", s, term, termBytes)
		}
		if Term(term) != term {
			t.Errorf("Term(%q) = %q, want it unchanged", term, Term(term))
		}
	})
}

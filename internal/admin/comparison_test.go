package admin

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/admin/comparison"
	"fairlead.dev/internal/admin/spending"
	"fairlead.dev/internal/judge"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/proof"
)

// comparisons is a comparer and a store of comparisons with fixed results.
type comparisons struct {
	bias     *judge.Bias
	records  []proof.Record
	measured []string
}

func (c *comparisons) MeasureJudge(_ context.Context, w *account.Workspace, s *account.Comparison) (judge.Bias, error) {
	c.measured = append(c.measured, w.ID+" "+s.Judge)
	return judge.Bias{Pairs: 32, Accuracy: 1}, nil
}

func (*comparisons) CheckJudge(judging, model string) error {
	if judging == model {
		return errors.New("same vendor")
	}
	return nil
}

func (*comparisons) ComparisonUse(context.Context, string, *account.Comparison) (spending.BudgetUse, error) {
	return spending.BudgetUse{Spent: money.Dollar, Held: 5}, nil
}

func (*comparisons) DroppedComparisons() int64 { return 3 }

func (*comparisons) Tally(context.Context, string, time.Time) (proof.Tally, error) {
	return proof.Tally{Compared: 7, Unjudged: 2, Failed: 1, Cost: money.Dollar}, nil
}

func (c *comparisons) Record(_ context.Context, _, request string) (proof.Record, bool, error) {
	for _, r := range c.records {
		if r.Request == request {
			return r, true, nil
		}
	}
	return proof.Record{}, false, nil
}

func (c *comparisons) Records(_ context.Context, workspace string, _, _ time.Time, limit int) ([]proof.Record, error) {
	if workspace != home {
		return nil, nil
	}
	return c.records[:min(limit, len(c.records))], nil
}

func (c *comparisons) Bias(context.Context, string, string, string) (judge.Bias, time.Time, bool, error) {
	if c.bias == nil {
		return judge.Bias{}, time.Time{}, false, nil
	}
	return *c.bias, noon, true, nil
}

// comparing returns a site with comparisons.
func comparing(t *testing.T) (*site, *comparisons) {
	t.Helper()
	c := &comparisons{}
	return newSite(t, func(p *Parts) { p.Comparison.Comparer, p.Comparison.Store = c, c }), c
}

func TestComparisonIsSetAndEnded(t *testing.T) {
	t.Parallel()
	s, _ := comparing(t)
	var none *account.Comparison
	want := &account.Comparison{Share: 0.05, Holdout: 0.01, Baseline: "gpt", Budget: 20 * money.Dollar, Judge: "odd", Hook: "https://example.com"}
	s.call("PUT", "/workspace/comparison", `{"settings":{"share":0.05,"holdout":0.01,"baseline":"gpt","budget_usd":"20","judge":"odd","hook":"https://example.com"}}`, as("acc_admin")).want(200)
	if diff := cmp.Diff(&want, s.fake.wsChange.Comparison); diff != "" {
		t.Error(diff)
	}
	s.call("PUT", "/workspace/comparison", `{"settings":null}`, as("acc_admin")).want(200)
	if diff := cmp.Diff(&none, s.fake.wsChange.Comparison); diff != "" {
		t.Error(diff)
	}
	s.call("PUT", "/workspace/comparison", `{}`, as("acc_admin")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
	s.call("PUT", "/workspace/comparison", `{"settings":null}`, as("acc_developer")).rejected(http.StatusForbidden, "PERMISSION_DENIED")
}

func TestUnsuitableJudgesAreRejected(t *testing.T) {
	t.Parallel()
	s, c := comparing(t)
	body := func(baseline, judging string) string {
		return `{"settings":{"share":0.05,"baseline":"` + baseline + `","budget_usd":"20","judge":"` + judging + `"}}`
	}
	for name, tc := range map[string]struct {
		body  string
		bias  *judge.Bias
		param string
		says  string
	}{
		"unknown baseline": {body("gtp", ""), nil, "settings.baseline", "unknown model"},
		"unknown judge":    {body("gpt", "od"), nil, "settings.judge", "unknown model"},
		"same vendor":      {body("gpt", "gpt"), nil, "settings.judge", "a different vendor"},
		"refused":          {body("gpt", "odd"), &judge.Bias{Position: 80, Refused: "It prefers the position of a response by 80.0 points; at most 40 are allowed."}, "settings.judge", "80.0 points"},
	} {
		c.bias = tc.bias
		e := s.call("PUT", "/workspace/comparison", tc.body, as("acc_admin")).rejected(http.StatusBadRequest, "INVALID_REQUEST")
		if len(e.Details.Problems) != 1 || e.Details.Problems[0].Param != tc.param || !strings.Contains(e.Details.Problems[0].Message, tc.says) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestComparisonShowsUseAndBias(t *testing.T) {
	t.Parallel()
	s, c := comparing(t)
	var got comparison.ComparisonState
	s.call("GET", "/workspace/comparison", "", as("acc_viewer")).want(200).into(&got)
	if got.Settings != nil || got.Use != nil || got.Compared != 7 || got.Dropped != 3 {
		t.Errorf("without a comparison: %+v", got)
	}
	c.bias = &judge.Bias{Pairs: 32, Position: 4}
	s.fake.workspaces[home] = account.Workspace{ID: home, Comparison: &account.Comparison{Share: 0.05, Baseline: "gpt", Budget: 4 * money.Dollar, Judge: "odd"}}
	s.call("GET", "/workspace/comparison", "", as("acc_viewer")).want(200).into(&got)
	if got.Settings.Share != 0.05 || got.Use.Spent != money.Dollar || *got.Use.Percent != 25 || got.Judge.Position != 4 || got.Judge.Model != "odd" {
		t.Errorf("%+v", got)
	}
	s.call("POST", "/workspace/comparison/judge", "", as("acc_admin")).want(200)
	if diff := cmp.Diff([]string{home + " odd"}, c.measured); diff != "" {
		t.Error(diff)
	}
}

func TestShadowEntriesHideMessagesAndOperatorCosts(t *testing.T) {
	t.Parallel()
	s, c := comparing(t)
	c.records = []proof.Record{{Sample: proof.Sample{Request: "req_1"}, State: proof.Failed, Entry: `{"kind":"shadow","request_id":"req_1","id":"req_2",` +
		`"error":{"code":"UPSTREAM_ERROR","message":"quotes the prompt"},"attempts":[{"provider":"p","message":"quotes the prompt","credential":"cred_1","cost_usd":"0.25"}]}`}}
	for caller, want := range map[string]struct{ bodies, operator bool }{"acc_viewer": {}, "acc_developer": {bodies: true}, "acc_owner": {true, true}} {
		var got comparison.ComparisonList
		s.call("GET", "/workspace/comparison/records", "", as(caller)).want(200).into(&got)
		entry := string(got.Records[0].Entry)
		for text, visible := range map[string]bool{`"id":"req_2"`: true, "UPSTREAM_ERROR": true, "quotes the prompt": want.bodies, "cred_1": want.operator, "0.25": want.operator} {
			if strings.Contains(entry, text) != visible {
				t.Errorf("%s: entry contains %q: %t, want %t: %s", caller, text, !visible, visible, entry)
			}
		}
	}
}

func TestShadowResponsesRequirePermissionToReadBodies(t *testing.T) {
	t.Parallel()
	s, c := comparing(t)
	c.records = []proof.Record{
		{Sample: proof.Sample{Request: "req_1", Shadow: "req_2", Difference: -1, Reason: "quotes text"}, State: proof.Compared, Entry: `{"kind":"shadow"}`, Response: `{"choices":[]}`},
		{Sample: proof.Sample{Request: "req_3"}, State: proof.Failed, Entry: `{}`},
	}
	for caller, bodies := range map[string]bool{"acc_viewer": false, "acc_developer": true} {
		var got comparison.ComparisonList
		s.call("GET", "/workspace/comparison/records", "", as(caller)).want(200).into(&got)
		if len(got.Records) != 2 || got.Records[0].Kind != "shadow" || *got.Records[0].Difference != -1 || got.Records[1].Difference != nil {
			t.Fatalf("%s: %+v", caller, got)
		}
		if first := got.Records[0]; (len(first.Response) > 0) != bodies || (first.Reason != "") != bodies {
			t.Errorf("%s: response %s, reason %q", caller, first.Response, first.Reason)
		}
		var one, none comparison.ComparisonList
		s.call("GET", "/workspace/comparison/records?request_id=req_3", "", as(caller)).want(200).into(&one)
		s.call("GET", "/workspace/comparison/records?request_id=req_4", "", as(caller)).want(200).into(&none)
		if len(one.Records) != 1 || one.Records[0].RequestID != "req_3" || len(none.Records) != 0 {
			t.Errorf("%s: %+v and %+v", caller, one, none)
		}
	}
}

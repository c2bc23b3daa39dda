package store_test

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"fairlead.dev/internal/baseline"
	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/statement"
	"fairlead.dev/internal/store"
)

var statementEntries = flag.Int("statement.entries", 2000, "number of entries in the month of a statement")

// TestStatementOfAMonth writes and verifies a statement from SQLite, and changes one stored entry.
func TestStatementOfAMonth(t *testing.T) {
	t.Parallel()
	db := openSQLite(t)
	// The clock of the database is at noon of 15 November.
	month, now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	span := now.Sub(month)
	var batch []requestlog.Entry
	flush := func() {
		if err := db.Log.WriteEntries(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		batch = batch[:0]
	}
	for i := range *statementEntries {
		at := month.Add(span / time.Duration(*statementEntries) * time.Duration(i))
		batch = append(batch, statementEntry(i, at))
		if len(batch) == 500 {
			flush()
		}
	}
	flush()

	sources := statement.Sources{Log: db.Log}
	began := time.Now()
	s, err := statement.New(t.Context(), sources, statement.Options{WorkspaceID: "ws_1", Workspace: "Main", Month: month, Now: now, Program: "test"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := statement.Verify(t.Context(), sources, s)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	t.Logf("written and verified %d entries in %s", s.Total.Requests, took.Round(time.Millisecond))
	if took > 10*time.Second {
		t.Errorf("took %s, want at most 10s", took)
	}
	if len(found) > 0 || s.Total.Requests != int64(*statementEntries) {
		t.Errorf("%d requests, differences %v; want all requests and no differences", s.Total.Requests, found)
	}
	checkRepricing(t, db, month, now)

	changed := statementEntry(7, month.Add(span/time.Duration(*statementEntries)*7))
	if _, err := db.Log.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: "ws_1", Lists: requestlog.Lists{ID: []string{changed.ID}}}, false); err != nil {
		t.Fatal(err)
	}
	changed.Cost = new(changed.Cost.Add(1))
	if err := db.Log.WriteEntries(t.Context(), []requestlog.Entry{changed}); err != nil {
		t.Fatal(err)
	}
	if found, err = statement.Verify(t.Context(), sources, s); err != nil {
		t.Fatal(err)
	}
	day := "days " + changed.Time.Format(time.DateOnly)
	named := map[string]bool{}
	for _, d := range found {
		named[d.Line+" "+d.Field] = true
	}
	if !named[day+" cost_usd"] || !named[day+" checksum"] || !named["keys "+changed.KeyID+" cost_usd"] {
		t.Errorf("the differences do not name the changed entry: %v", found)
	}
}

// checkRepricing computes the savings of the month against a model at 10 dollars per million tokens.
func checkRepricing(t *testing.T, db *store.DB, from, to time.Time) {
	t.Helper()
	large := &provider.Target{
		Provider: "east", Model: &catalog.Model{Name: "larger", Op: llm.Chat}, Upstream: "larger",
		Price: &catalog.Price{Input: money.PerMillion(10), Output: money.PerMillion(10), Source: "list"},
	}
	snap := route.NewSnapshot(new(catalog.Catalog), []*provider.Provider{{Name: "east", Targets: []*provider.Target{large}}}, noAbilities{})
	began := time.Now()
	report, err := baseline.New(t.Context(), db.Log, func(context.Context, route.Versions) (*route.Snapshot, bool) { return snap, true }, baseline.Options{
		Filter: requestlog.Filter{WorkspaceID: "ws_1", From: from, To: to, Source: requestlog.SourceKey}, Model: "larger", Limit: *statementEntries, Within: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("priced %d entries in %s", report.Logged, time.Since(began).Round(time.Millisecond))
	n := int64(*statementEntries)
	if report.Repriced != n || report.Total.BaselineCost != money.Amount(n*7_000_000) { // each request has 700 tokens
		t.Errorf("coverage %+v, baseline cost %s; want every request repriced", report.Coverage, report.Total.BaselineCost)
	}
}

type noAbilities struct{}

func (noAbilities) Ability(*catalog.Model) predict.Ability { return predict.Ability{} }

func statementEntry(i int, at time.Time) requestlog.Entry {
	floor := id.Floor("req", at)
	return requestlog.Entry{
		ID:     fmt.Sprintf("%s%06d", floor[:len(floor)-6], i),
		Owner:  requestlog.Owner{WorkspaceID: "ws_1", KeyID: fmt.Sprintf("key_%d", i%10), KeyName: "ci"},
		Timing: requestlog.Timing{Time: at.Truncate(time.Millisecond)},
		Call:   requestlog.Call{Endpoint: "chat/completions", Format: "chat", Requested: "auto", Preview: "Please summarise this document"},
		Routing: requestlog.Routing{
			Model: fmt.Sprintf("model-%d", i%5), Provider: "east",
			DecisionKind: route.Expected, Decision: &route.Decision{Kind: route.Expected}, Attempts: []requestlog.Attempt{{Target: requestlog.Target{Provider: "east", Model: "model-1"}, AttemptResult: requestlog.AttemptResult{Status: 200}}},
			Versions: route.Versions{Router: "utility-2", Catalog: "c1"},
		},
		Result:     requestlog.Result{Outcome: requestlog.OK, Status: 200, Finish: "stop"},
		Charge:     requestlog.Charge{Usage: llm.Usage{Input: 500, Output: 200}, Cost: new(money.Amount(310_000 + i%977*1000))},
		Baseline:   requestlog.Baseline{BaselineModel: "large", BaselineCost: new(money.Amount(941_000))},
		Connection: requestlog.Connection{Client: "openai-python/2"},
	}
}

package app

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"fairlead/internal/admin/policies"
	"fairlead/internal/id"
	"fairlead/internal/llm"
	"fairlead/internal/policy"
	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
)

// routedBridge decides among the simulator's models.
func routedBridge(t *testing.T) (bridge, string) {
	t.Helper()
	c := instanceConfig(t)
	c.Simulator = "on"
	i := openInstance(t, c)
	w, err := i.Workspace(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := i.Routing(t.Context(), func(string) string { return "" }, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return bridge{r.app}, w.ID
}

// logRequest decides on a request and stores it as if it had been served.
func logRequest(t *testing.T, b bridge, workspaceID string) requestlog.Entry {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	d, err := b.Explain(t.Context(), policies.ExplainQuery{
		WorkspaceID: workspaceID, Body: []byte(`{"model":"auto","messages":[{"role":"user","content":"Write a sorting function in Go."}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	first := d.Plan[0]
	e := requestlog.Entry{
		ID: id.New("req", at), WorkspaceID: workspaceID, KeyID: "key_1", Time: at, Endpoint: "chat/completions", Format: "chat", Requested: "auto",
		Model: first.Model.Name, Provider: first.Provider, Outcome: requestlog.OK, Status: 200, DecisionKind: d.Kind, Decision: d, Versions: d.Versions,
		Usage: llm.Usage{Input: 100, Output: 200},
	}
	if err := b.app.db.Log.WriteEntries(t.Context(), []requestlog.Entry{e}); err != nil {
		t.Fatal(err)
	}
	return e
}

// pinOther is a draft that sends requests elsewhere than the decision did.
func pinOther(t *testing.T, b bridge, e *requestlog.Entry) (*policy.Set, string) {
	t.Helper()
	for _, target := range b.app.gateway.Targets().Targets() {
		if target.Model.Name != e.Model && target.Model.Op == llm.Chat {
			set, problems := policy.Parse("workspace", []byte("policies: [{name: other, pin: "+target.ID()+"}]"), b.app.rules.Inventory())
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			return set, target.ID()
		}
	}
	t.Fatal("there is one model only")
	return nil, ""
}

func TestALoggedRequestIsDecidedAgainUnderADraft(t *testing.T) {
	t.Parallel()
	b, workspaceID := routedBridge(t)
	e := logRequest(t, b, workspaceID)
	again, err := b.Explain(t.Context(), policies.ExplainQuery{WorkspaceID: workspaceID, RequestID: e.ID})
	if err != nil || again.Plan[0].ID() != e.Provider+"/"+e.Model {
		t.Fatalf("%+v, %v", again, err)
	}
	draft, other := pinOther(t, b, &e)
	tried, err := b.Explain(t.Context(), policies.ExplainQuery{WorkspaceID: workspaceID, RequestID: e.ID, Draft: draft})
	if err != nil || tried.Plan[0].ID() != other || tried.Policy != "other" {
		t.Errorf("%+v, %v", tried, err)
	}
	if _, err := b.Explain(t.Context(), policies.ExplainQuery{WorkspaceID: "ws_other", RequestID: e.ID}); err == nil {
		t.Error("another workspace's request is decided")
	}
}

func TestTheStoreIsBacktested(t *testing.T) {
	t.Parallel()
	b, workspaceID := routedBridge(t)
	e := logRequest(t, b, workspaceID)
	draft, other := pinOther(t, b, &e)
	var told replay.Progress
	report, err := b.Backtest(t.Context(), policies.BacktestQuery{
		Filter: requestlog.Filter{WorkspaceID: workspaceID}, Draft: draft, Total: 1,
	}, func(p replay.Progress) { told = p })
	if err != nil {
		t.Fatal(err)
	}
	if report.Decided != 1 || report.Logged.Changed != 1 || report.InLive == nil || !strings.HasSuffix(other, "/"+report.Logged.Routes[0].To) || told.Done != 1 {
		t.Errorf("%+v, told %+v", report, told)
	}
	same, err := b.Backtest(t.Context(), policies.BacktestQuery{Filter: requestlog.Filter{WorkspaceID: workspaceID}}, nil)
	if err != nil || !same.Same || same.Logged.Unchanged != 1 {
		t.Errorf("%+v, %v", same, err)
	}
}

func TestALoggedRequestIsVerified(t *testing.T) {
	t.Parallel()
	b, workspaceID := routedBridge(t)
	e := logRequest(t, b, workspaceID)
	lost, err := b.Verify(t.Context(), &e)
	if err != nil || lost.Same || len(lost.Missing) == 0 {
		t.Errorf("before its world is kept: %+v, %v", lost, err)
	}
	if err := replay.Keep(t.Context(), b.app.db.Config, b.app.gateway.Targets(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if v, err := b.Verify(t.Context(), &e); err != nil || !v.Same {
		t.Errorf("%+v, %v", v, err)
	}
}

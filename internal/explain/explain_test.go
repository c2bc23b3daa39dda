package explain_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/explain"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
)

// newService returns a service with the simulator's models, and a workspace ID.
func newService(t *testing.T) (*explain.Service, string) {
	t.Helper()
	c := config.Default()
	c.DataDir, c.Detect, c.Simulator = filepath.Join(t.TempDir(), "data"), false, "on"
	i, err := instance.Open(t.Context(), &config.Loaded{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	w, err := i.Workspace(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	r, err := i.Routing(t.Context(), func(string) string { return "" }, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return r.Service, w.ID
}

// logRequest routes a request and stores its entry.
func logRequest(t *testing.T, s *explain.Service, workspaceID string) requestlog.Entry {
	t.Helper()
	at := time.Now().Add(-time.Hour)
	d, err := s.Explain(t.Context(), policies.ExplainQuery{
		WorkspaceID: workspaceID, Body: []byte(`{"model":"auto","messages":[{"role":"user","content":"Write a sorting function in Go."}]}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	first := d.Plan[0]
	e := requestlog.Entry{
		ID: id.New("req", at), Owner: requestlog.Owner{WorkspaceID: workspaceID, KeyID: "key_1"},
		Timing:  requestlog.Timing{Time: at},
		Call:    requestlog.Call{Endpoint: "chat/completions", Format: "chat", Requested: "auto"},
		Routing: requestlog.Routing{Model: first.Model.Name, Provider: first.Provider, DecisionKind: d.Kind, Decision: d, Versions: d.Versions},
		Result:  requestlog.Result{Outcome: requestlog.OK, Status: 200},
		Charge:  requestlog.Charge{Usage: llm.Usage{Input: 100, Output: 200}},
	}
	if err := s.Store.Log.WriteEntries(t.Context(), []requestlog.Entry{e}); err != nil {
		t.Fatal(err)
	}
	return e
}

// pinOther returns a draft that pins a target other than the chosen target, and the pinned target.
func pinOther(t *testing.T, s *explain.Service, e *requestlog.Entry) (*policy.Set, string) {
	t.Helper()
	for _, target := range s.Gateway.Targets().Targets() {
		if target.Model.Name != e.Model && target.Model.Op == llm.Chat {
			set, problems := policy.Parse("workspace", []byte("policies: [{name: other, pin: "+target.ID()+"}]"), s.Policies.Inventory())
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			return set, target.ID()
		}
	}
	t.Fatal("there is no other target to pin")
	return nil, ""
}

func TestExplainDecidesLoggedRequestUnderDraft(t *testing.T) {
	t.Parallel()
	s, workspaceID := newService(t)
	e := logRequest(t, s, workspaceID)
	again, err := s.Explain(t.Context(), policies.ExplainQuery{WorkspaceID: workspaceID, RequestID: e.ID})
	if err != nil || again.Plan[0].ID() != e.Provider+"/"+e.Model {
		t.Fatalf("%+v, %v", again, err)
	}
	draft, other := pinOther(t, s, &e)
	tried, err := s.Explain(t.Context(), policies.ExplainQuery{WorkspaceID: workspaceID, RequestID: e.ID, Draft: draft})
	if err != nil || tried.Plan[0].ID() != other || tried.Policy != "other" {
		t.Errorf("%+v, %v", tried, err)
	}
	if _, err := s.Explain(t.Context(), policies.ExplainQuery{WorkspaceID: "ws_other", RequestID: e.ID}); err == nil {
		t.Error("Explain of another workspace's request: got no error")
	}
}

func TestBacktestReportsChangesOfADraft(t *testing.T) {
	t.Parallel()
	s, workspaceID := newService(t)
	e := logRequest(t, s, workspaceID)
	draft, other := pinOther(t, s, &e)
	var last replay.Progress
	report, err := s.Backtest(t.Context(), policies.BacktestQuery{
		Filter: requestlog.Filter{WorkspaceID: workspaceID}, Draft: draft, Total: 1,
	}, func(p replay.Progress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	if report.Decided != 1 || report.Logged.Changed != 1 || report.InLive == nil || !strings.HasSuffix(other, "/"+report.Logged.Routes[0].To) || last.Done != 1 {
		t.Errorf("%+v, progress %+v", report, last)
	}
	same, err := s.Backtest(t.Context(), policies.BacktestQuery{Filter: requestlog.Filter{WorkspaceID: workspaceID}}, nil)
	if err != nil || !same.Same || same.Logged.Unchanged != 1 {
		t.Errorf("%+v, %v", same, err)
	}
}

func TestVerifyNeedsTheStoredVersions(t *testing.T) {
	t.Parallel()
	s, workspaceID := newService(t)
	e := logRequest(t, s, workspaceID)
	lost, err := s.Verify(t.Context(), &e)
	if err != nil || lost.Same || len(lost.Missing) == 0 {
		t.Errorf("Verify before the versions are stored = %+v, %v; want missing versions", lost, err)
	}
	if err := replay.Keep(t.Context(), s.Store.Config, s.Gateway.Targets(), nil, nil); err != nil {
		t.Fatal(err)
	}
	if v, err := s.Verify(t.Context(), &e); err != nil || !v.Same {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestFeaturesAreRecomputedFromAStoredPrompt(t *testing.T) {
	t.Parallel()
	s, workspaceID := newService(t)
	chosen := logRequest(t, s, workspaceID)
	body := `{"model":"` + chosen.Model + `","messages":[{"role":"user","content":"Write a sorting function in Go."}]}`
	for name, c := range map[string]struct {
		stored    string
		predictor string
	}{
		"stored":     {body, predict.Version()},
		"redacted":   {`{"messages":[{"role":"user","content":"[redacted: email]"}]}`, ""},
		"not stored": {"", ""},
	} {
		e := chosen
		e.ID, e.Requested, e.Body.Request = id.New("req", e.Time), e.Model, []byte(c.stored)
		if e.BodyState = requestlog.BodyDisabled; c.stored != "" {
			e.BodyState = requestlog.BodyStored
		}
		e.Decision = &route.Decision{Kind: route.Expected, Input: route.Input{Op: llm.Chat, Format: "chat", Model: e.Model}}
		if err := s.Store.Log.WriteEntries(t.Context(), []requestlog.Entry{e}); err != nil {
			t.Fatal(err)
		}
		logged, err := s.Entry(t.Context(), workspaceID, e.ID)
		if err != nil {
			t.Fatal(err)
		}
		features, predictor := s.Features(t.Context(), &logged)
		if predictor != c.predictor {
			t.Errorf("%s: predictor %q, want %q", name, predictor, c.predictor)
		}
		if c.predictor != "" && (features.Task != chosen.Decision.Input.Features.Task || features.Difficulty != chosen.Decision.Input.Features.Difficulty) {
			t.Errorf("%s: %s of difficulty %v differs from the features of the same prompt for auto", name, features.Task, features.Difficulty)
		}
	}
}

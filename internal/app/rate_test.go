package app

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/explain"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/spool"
)

// openInstance opens an empty instance.
func openInstance(t *testing.T) *instance.Instance {
	t.Helper()
	c := config.Default()
	c.DataDir, c.Detect = filepath.Join(t.TempDir(), "data"), false
	i, err := instance.Open(t.Context(), &config.Loaded{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	})
	return i
}

// ratedApp returns an app with a log, a spool and an index of ratings.
func ratedApp(t *testing.T) (*App, string) {
	t.Helper()
	i := openInstance(t)
	w, err := i.Workspace(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	a := &App{storageParts: storageParts{db: i.Store}}
	if a.spool, err = spool.Open(filepath.Join(t.TempDir(), "spool"), spool.Options{}); err != nil {
		t.Fatal(err)
	}
	a.feedback = feedback.NewIndex(a.db.Feedback, a.db.Feedback, feedback.Options{
		Base:      func(string) (predict.Ability, bool) { return predict.AtQuality(0.5), true },
		Predictor: "p-1",
	})
	a.decisions = &explain.Service{Store: a.db, Spool: a.spool}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- a.spool.Run(ctx, a.db.Log, spool.RunOptions{}) }()
	t.Cleanup(func() {
		cancel()
		<-ended
		if err := a.spool.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, w.ID
}

func servedEntry(workspaceID string, at time.Time) requestlog.Entry {
	return requestlog.Entry{
		ID: id.New("req", at), Owner: requestlog.Owner{WorkspaceID: workspaceID, KeyID: "key_1"},
		Timing: requestlog.Timing{Time: at}, Call: requestlog.Call{Endpoint: "chat/completions", Requested: "auto"},
		Routing: requestlog.Routing{
			Model: "gpt", Provider: "acme", DecisionKind: route.Expected,
			Decision: &route.Decision{Kind: route.Expected, Input: route.Input{
				Op: llm.Chat, Model: "auto", Prediction: route.Prediction{Predictor: "p-1", Features: predict.Features{Task: predict.Code, Difficulty: 1.5}},
			}},
		},
		Result: requestlog.Result{Outcome: requestlog.OK, Status: 200},
	}
}

func TestRatingIsCompletedFromTheLogEntry(t *testing.T) {
	t.Parallel()
	a, workspaceID := ratedApp(t)
	old, fresh := servedEntry(workspaceID, time.Now().Add(-time.Hour)), servedEntry(workspaceID, time.Now())
	if err := a.db.Log.WriteEntries(t.Context(), []requestlog.Entry{old}); err != nil {
		t.Fatal(err)
	}
	if err := a.spool.End(&fresh); err != nil { // the entry is still in the spool
		t.Fatal(err)
	}
	for _, e := range []requestlog.Entry{old, fresh} {
		given := feedback.Rating{RequestID: e.ID, WorkspaceID: workspaceID, KeyID: "key_1", Score: 1, Label: "good", Source: feedback.FromAPI}
		got, err := ratings{a.feedback, a}.Rate(t.Context(), given)
		if err != nil {
			t.Fatal(err)
		}
		want := given
		want.ID, want.Time, want.Model, want.Task, want.Difficulty, want.Predictor = got.ID, got.Time, "gpt", predict.Code, 1.5, "p-1"
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		rated, err := ratings{a.feedback, a}.Of(t.Context(), workspaceID, e.ID)
		if err != nil || len(rated) != 1 || rated[0].Score != 1 {
			t.Errorf("%+v, %v", rated, err)
		}
	}
	if err := a.feedback.Recompute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := a.feedback.For(workspaceID); c == nil {
		t.Errorf("%+v", c)
	}
	if err := (ratings{a.feedback, a}).Reset(t.Context(), workspaceID, ""); err != nil {
		t.Fatal(err)
	}
	if c := (ratings{a.feedback, a}).For(workspaceID); c != nil && c.Version != "" {
		t.Errorf("corrections after Reset = %+v, want none", c)
	}
}

func TestRatingsOfUnknownRequestsAreRejected(t *testing.T) {
	t.Parallel()
	a, workspaceID := ratedApp(t)
	known := servedEntry(workspaceID, time.Now().Add(-time.Hour))
	if err := a.db.Log.WriteEntries(t.Context(), []requestlog.Entry{known}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		workspaceID, requestID string
		kind                   llm.Kind
	}{
		"unknown":      {workspaceID, id.New("req", time.Now().Add(-time.Hour)), llm.NotFound},
		"foreign":      {"ws_other", known.ID, llm.NotFound},
		"malformed ID": {workspaceID, "nonsense", llm.InvalidRequest},
		"ID of a key":  {workspaceID, id.New("key", time.Now().Add(-time.Hour)), llm.NotFound},
	} {
		_, err := ratings{a.feedback, a}.Rate(t.Context(), feedback.Rating{
			RequestID: c.requestID, WorkspaceID: c.workspaceID, KeyID: "key_1", Score: 1, Source: feedback.FromAPI,
		})
		if e := llm.AsError(err); e.Kind != c.kind || e.Param != "request_id" {
			t.Errorf("%s: got %v, want %s for request_id", name, err, c.kind)
		}
	}
}

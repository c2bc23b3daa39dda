package main

import (
	"context"
	"log/slog"
	"testing"

	"fairlead/internal/account"
	adminpolicies "fairlead/internal/admin/policies"
	"fairlead/internal/app"
	"fairlead/internal/config"
	"fairlead/internal/llm"
	"fairlead/internal/replay"
	"fairlead/internal/requestlog"
	"fairlead/internal/route"
)

// routing opens the lab's data with what decisions depend on.
func (l *lab) routing() (*app.Instance, account.Workspace, *app.Routing) {
	l.t.Helper()
	c := config.Default()
	c.DataDir, c.Detect = l.dir, false
	i, err := app.OpenInstance(l.t.Context(), &config.Loaded{Config: c})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = i.Close() })
	w, err := i.Workspace(l.t.Context(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	r, err := i.Routing(l.t.Context(), func(string) string { return "" }, "test", slog.New(slog.DiscardHandler))
	if err != nil {
		l.t.Fatal(err)
	}
	return i, w, r
}

// asked stores requests as a server would have decided on them, oldest first, and keeps what they were decided by.
func (l *lab) asked(change func(*requestlog.Entry), prompts ...string) []string {
	l.t.Helper()
	i, w, r := l.routing()
	var ids []string
	for n, prompt := range prompts {
		body := []byte(`{"model":"auto:cost","messages":[{"role":"user","content":"` + prompt + `"}]}`) // the cheapest, whatever is predicted
		d, err := r.Explain(l.t.Context(), adminpolicies.ExplainQuery{WorkspaceID: w.ID, Body: body})
		if err != nil {
			l.t.Fatal(err)
		}
		e := decidedEntry(d, n)
		e.WorkspaceID, e.Body.Request, e.BodyState = w.ID, body, requestlog.BodyStored
		if change != nil {
			change(&e)
		}
		if err := i.Store.Log.WriteEntries(l.t.Context(), []requestlog.Entry{e}); err != nil {
			l.t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	rules := r.Backtest(w.ID, nil, nil).Live
	if err := replay.Keep(context.Background(), i.Store.Config, rules.Snapshot, rules.Policies, nil); err != nil {
		l.t.Fatal(err)
	}
	return ids
}

func decidedEntry(d *route.Decision, n int) requestlog.Entry {
	e := served0()
	e.ID, e.Decision, e.Versions = requestID(e.Time, n), d, d.Versions
	first := d.Plan[0]
	e.Model, e.Provider, e.Policy = first.Model.Name, first.Provider, d.Policy
	e.Usage = llm.Usage{Input: 1000, Output: 500}
	e.Cost = new(first.Price.Cost(e.Usage))
	return e
}

func TestVerifyComparesADecisionWithItsRecord(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	same := l.asked(nil, "Write a haiku about the sea.")[0]

	out, _ := l.run(exitDone, "verify", same)
	mustContain(t, out, same+": the decision comes out the same – expected, 7 candidates, 0 policies", "read from the stored text")
	out, _ = l.run(exitDone, "verify", same, "--json")
	if got := lines(t, out)[0]; got["request_id"] != same || got["same"] != true || got["sketched"] != true {
		t.Errorf("%v", got)
	}
}

func TestVerifyFindsWhatIsOtherwise(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	changed := l.asked(func(e *requestlog.Entry) {
		e.Decision.Candidates[0], e.Decision.Candidates[1] = e.Decision.Candidates[1], e.Decision.Candidates[0]
	}, "Write a haiku about the sea.")[0]

	out, err := l.run(exitProblems, "verify", changed)
	mustContain(t, out, changed+": the decision comes out otherwise", "WHAT", "plan")
	if err != "" {
		t.Errorf("stderr: %s", err)
	}
}

func TestVerifyFindsAnotherPrompt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	other := l.asked(func(e *requestlog.Entry) {
		e.Body.Request = []byte(`{"model":"auto:cost","messages":[{"role":"user","content":"Solve x^2 = 4 and prove that there are two solutions."}]}`)
	}, "Write a haiku about the sea.")[0]
	out, _ := l.run(exitProblems, "verify", other)
	mustContain(t, out, "sketch of the prompt")

	l = newLab(t)
	redacted := l.asked(func(e *requestlog.Entry) {
		e.Body.Request = []byte(`{"model":"auto:cost","messages":[{"role":"user","content":"Write to [redacted: email]"}]}`)
	}, "Write to ann@example.com")[0]
	out, _ = l.run(exitDone, "verify", redacted)
	mustContain(t, out, "0 policies.")
}

func TestVerifySaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	old := l.asked(func(e *requestlog.Entry) { e.Decision.Versions.Snapshot = "gone" }, "hi")[0]
	out, _ := l.run(exitProblems, "verify", old)
	mustContain(t, out, "cannot be computed again", "targets, prices and abilities of version gone", "this version is not kept")

	l = newLab(t)
	refused := l.asked(func(e *requestlog.Entry) { e.Decision = nil }, "hi")[0]
	out, _ = l.run(exitProblems, "verify", refused)
	mustContain(t, out, "refused before a decision was made")
}

func TestVerifyOfAnUnknownRequest(t *testing.T) {
	t.Parallel()
	_, err := newLab(t).run(exitFailed, "verify", "req_nobody")
	mustContain(t, err, `there is no request "req_nobody"`, "fix: see  fairlead requests list")
}

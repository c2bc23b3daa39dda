package admin

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/admin/requests"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

// Sessions implements requestlog.SessionReader: the sessions of the entries, newest first.
func (l *entryLog) Sessions(_ context.Context, f requestlog.SessionFilter, _ requestlog.SessionPage) ([]requestlog.Session, error) {
	var found []requestlog.Session
	for i := range l.entries {
		e := &l.entries[i]
		if e.WorkspaceID == f.WorkspaceID && e.Session != "" && (len(f.ID) == 0 || slices.Contains(f.ID, e.Session)) {
			one := requestlog.NewSession(e)
			one.Preview = e.Preview
			found = append(found, one)
		}
	}
	return found, nil
}

// Session implements requestlog.SessionReader.
func (l *entryLog) Session(ctx context.Context, workspaceID, id string) (requestlog.Session, error) {
	found, err := l.Sessions(ctx, requestlog.SessionFilter{WorkspaceID: workspaceID, ID: []string{id}}, requestlog.SessionPage{})
	if err != nil || len(found) == 0 {
		return requestlog.Session{}, requestlog.ErrNotFound
	}
	return found[0], nil
}

// TurnNumber implements requestlog.SessionReader.
func (l *entryLog) TurnNumber(context.Context, string, string, string) (int64, error) { return 1, nil }

// ForSession implements requests.SessionBudgets.
func (l *entryLog) ForSession(context.Context, *requestlog.Session) ([]budget.Item, error) {
	return []budget.Item{{
		Kind: budget.OfSession, Budget: ledger.Budget{Amount: 4 * money.Dollar, WarnPercent: 80}, Status: ledger.Status{Spent: money.Dollar}, ByPolicy: true,
	}}, nil
}

func TestTurnsShowGapsModelChangesAndNewMessages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	turn := func(i int, model, body string, change func(*requestlog.Entry)) {
		e := entry(numbered(i), home)
		e.Session, e.SessionSource, e.Model, e.Time, e.Latency = "a", "given", model, noon.Add(time.Duration(i)*10*time.Second), 2*time.Second
		if change != nil {
			change(&e)
		}
		s.log.entries = append(s.log.entries, e)
		s.log.bodies[e.ID] = requestlog.Body{Request: []byte(body), Response: []byte(`{"choices":[]}`)}
	}
	const first, answer, second = `{"role":"user","content":"fix it"}`, `{"role":"assistant","content":"done"}`, `{"role":"user","content":"now test"}`
	marked := `{"role":"user","content":[{"type":"text","text":"fix it","cache_control":{"type":"ephemeral"}}]}`
	turn(1, "small", `{"messages":[`+marked+`]}`, nil)
	turn(2, "large", `{"messages":[`+first+`,`+answer+`,`+second+`]}`, func(e *requestlog.Entry) {
		e.Decision = &route.Decision{Adjustments: []route.Adjustment{{Code: route.Escalated, Reason: "3 identical tool errors"}}}
	})
	var page requests.TurnPage
	s.call("GET", "/sessions/a/turns", "", as("acc_viewer")).want(200).into(&page)
	if len(page.Turns) != 2 || page.Turns[0].GapMS != nil || page.Turns[0].Change != nil || page.After != nil {
		t.Fatalf("turns: %+v", page)
	}
	got := page.Turns[1]
	if got.Number != 2 || *got.GapMS != 8000 || got.Change == nil || got.Change.From != "small" || len(got.Notes) != 1 || got.Notes[0].Code != "escalated" {
		t.Errorf("second turn: %+v", got)
	}
	var fresh requests.TurnMessages
	s.call("GET", "/sessions/a/turns/"+numbered(2)+"/messages", "", as("acc_developer")).want(200).into(&fresh)
	if fresh.Known != 2 || fresh.Request == nil || *fresh.Request != `{"messages":[`+second+`]}` || fresh.Previous != "stored" {
		t.Errorf("%d known, new: %v, previous %s", fresh.Known, *fresh.Request, fresh.Previous)
	}
	s.call("GET", "/sessions/a/turns/"+numbered(1)+"/messages", "", as("acc_developer")).want(200).into(&fresh)
	if fresh.Previous != "first" {
		t.Errorf("previous of the first turn: got %s, want first", fresh.Previous)
	}
	s.call("GET", "/sessions/b/turns/"+numbered(2)+"/messages", "", as("acc_developer")).want(404)

	var list requests.SessionPage
	s.call("GET", "/sessions?from=now-1h&min_turns=1", "", as("acc_viewer")).want(200).into(&list)
	if len(list.Sessions) != 2 || list.Sessions[0].ID != "a" || list.Sessions[0].Preview != "" {
		t.Errorf("sessions for a viewer: %+v", list.Sessions)
	}
	var one requests.SessionDetail
	if s.call("GET", "/sessions/a", "", as("acc_developer")).want(200).into(&one); one.Preview == "" {
		t.Errorf("session: %+v", one)
	}
	quarter := 25.0
	if diff := cmp.Diff([]requests.SessionBudget{{
		Of: "session", Amount: 4 * money.Dollar, Spent: money.Dollar, Percent: &quarter, WarnPercent: 80, ByPolicy: true,
	}}, one.Budgets); diff != "" {
		t.Error(diff)
	}
	s.call("GET", "/sessions/none", "", as("acc_viewer")).want(404)
}

func TestInferenceKeyReadsOnlyItsOwnSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i, keyID := range []string{"key_inference", "key_other"} {
		e := entry(numbered(i), home)
		e.Session, e.SessionSource, e.KeyID, e.Preview = keyID, "given", keyID, "a prompt"
		s.log.entries = append(s.log.entries, e)
	}
	var own requests.SessionDetail
	s.call("GET", "/sessions/key_inference", "", key("fl_inference")).want(200).into(&own)
	if own.Turns != 1 || own.Preview != "" {
		t.Errorf("the own session is %+v, want one turn without its prompt", own)
	}
	s.call("GET", "/sessions/key_other", "", key("fl_inference")).want(404)
	s.call("GET", "/sessions/key_other", "", key("fl_read")).want(200)
	s.call("GET", "/sessions/key_inference/turns", "", key("fl_inference")).want(403)
}

package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
)

// sessionEntry returns the turn of a session.
func sessionEntry(workspace, session string, at time.Time, change func(*requestlog.Entry)) requestlog.Entry {
	e := requestlog.Entry{
		ID: id.New("req", at), Owner: requestlog.Owner{WorkspaceID: workspace, KeyID: "key_1"},
		Timing:     requestlog.Timing{Time: at, Latency: time.Second, Overhead: time.Millisecond},
		Labels:     requestlog.Labels{Session: session, SessionSource: "given"},
		Result:     requestlog.Result{Outcome: requestlog.OK, Status: 200},
		Routing:    requestlog.Routing{Model: "large", Attempts: []requestlog.Attempt{}},
		Connection: requestlog.Connection{Client: "agent/1"},
		Charge:     requestlog.Charge{Usage: llm.Usage{Input: 10, CacheRead: 90, Output: 5}, Cost: new(money.Amount(100))},
		Baseline:   requestlog.Baseline{BaselineCost: new(money.Amount(150))}, BodyState: requestlog.BodyDisabled,
	}
	if change != nil {
		change(&e)
	}
	return e
}

func sessionsSumTheirTurns(t *testing.T, db *store.DB) {
	workspace, now := id.New("ws", time.Now()), db.Now().UTC().Truncate(time.Millisecond)
	at := func(n int) time.Time { return now.Add(time.Duration(n)*time.Second - time.Hour) }
	turns := []requestlog.Entry{
		sessionEntry(workspace, "a", at(0), func(e *requestlog.Entry) {
			e.Preview, e.EndUser, e.BodyState = "first prompt", "anna", requestlog.BodyStored
		}),
		sessionEntry(workspace, "a", at(1), func(e *requestlog.Entry) { e.Model, e.BaselineCost = "small", nil }),
		sessionEntry(workspace, "a", at(2), func(e *requestlog.Entry) { e.Cost, e.BaselineCost, e.Outcome = nil, nil, requestlog.UpstreamError }),
		sessionEntry(workspace, "b", at(3), func(e *requestlog.Entry) { e.SessionSource, e.KeyID = "derived", "key_2" }),
		sessionEntry(workspace, "", at(4), nil),
	}
	// Batches arrive out of order, and one of them twice.
	for _, batch := range [][]requestlog.Entry{turns[1:3], turns[:1], turns[3:], turns[1:3]} {
		if err := db.Log.WriteEntries(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	want := requestlog.Session{
		WorkspaceID: workspace, ID: "a", Source: "given", FirstID: turns[0].ID, LastID: turns[2].ID, KeyID: "key_1",
		EndUser: "anna", Client: "agent/1",
		SessionFigures: requestlog.SessionFigures{
			Turns: 3, Errors: 1, Unpriced: 1, Spending: requestlog.Spending{Cost: 200, ComparedCost: 100, BaselineCost: 150}, Tokens: requestlog.Tokens{InputTokens: 300, CachedTokens: 270, OutputTokens: 15},
			Latency: 3 * time.Second, Overhead: 3 * time.Millisecond,
		},
		Models: []string{"large", "small"}, LastModel: turns[2].Model, Preview: "first prompt",
	}
	got, err := db.Log.Session(t.Context(), workspace, "a")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("sessions: %v (-want +got):\n%s", err, diff)
	}
	if _, err := db.Log.Session(t.Context(), workspace, "c"); !errors.Is(err, requestlog.ErrNotFound) {
		t.Errorf("unknown session: %v, want ErrNotFound", err)
	}
	if n, err := db.Log.TurnNumber(t.Context(), workspace, "a", turns[1].ID); n != 2 || err != nil {
		t.Errorf("TurnNumber = %d, %v; want 2", n, err)
	}
	for name, tc := range map[string]struct {
		filter requestlog.SessionFilter
		page   requestlog.SessionPage
		want   string
	}{
		"all":         {want: "[b a]"},
		"first page":  {page: requestlog.SessionPage{Limit: 1}, want: "[b]"},
		"second page": {page: requestlog.SessionPage{Limit: 1, Before: turns[3].ID}, want: "[a]"},
		"by id":       {filter: requestlog.SessionFilter{ID: []string{"a"}}, want: "[a]"},
		"by key":      {filter: requestlog.SessionFilter{Key: []string{"key_2"}}, want: "[b]"},
		"by user":     {filter: requestlog.SessionFilter{User: []string{"anna"}}, want: "[a]"},
		"by model":    {filter: requestlog.SessionFilter{Model: []string{"small", "other"}}, want: "[a]"},
		"by source":   {filter: requestlog.SessionFilter{Source: "derived"}, want: "[b]"},
		"by turns":    {filter: requestlog.SessionFilter{MinTurns: 2}, want: "[a]"},
		"by time":     {filter: requestlog.SessionFilter{From: at(0), To: at(3)}, want: "[a]"},
		"later":       {filter: requestlog.SessionFilter{From: at(4)}, want: "[]"},
		"simulated":   {filter: requestlog.SessionFilter{Simulated: new(true)}, want: "[]"},
	} {
		tc.filter.WorkspaceID = workspace
		found, err := db.Log.Sessions(t.Context(), tc.filter, tc.page)
		ids := []string{}
		for _, s := range found {
			ids = append(ids, s.ID)
		}
		if text := fmt.Sprint(ids); text != tc.want || err != nil {
			t.Errorf("%s: %s, %v, want %s", name, text, err, tc.want)
		}
	}
	if _, err := db.Log.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: workspace, Lists: requestlog.Lists{Session: []string{"b"}}}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Log.DeleteEntries(t.Context(), requestlog.Filter{WorkspaceID: workspace, Lists: requestlog.Lists{ID: []string{turns[0].ID}}}, false); err != nil {
		t.Fatal(err)
	}
	found, err := db.Log.Sessions(t.Context(), requestlog.SessionFilter{WorkspaceID: workspace}, requestlog.SessionPage{})
	if len(found) != 1 || found[0].ID != "a" || found[0].Turns != 3 || found[0].Preview != "" || err != nil {
		t.Errorf("sessions after the deletion: %v, %v; want a with 3 turns", found, err)
	}
	if n, err := db.Log.TurnNumber(t.Context(), workspace, "a", turns[1].ID); n != 2 || err != nil {
		t.Errorf("TurnNumber after the first turn was deleted = %d, %v; want 2", n, err)
	}
}

func subjectsAreCharged(t *testing.T, db *store.DB) {
	workspace, now := id.New("ws", time.Now()), db.Now()
	subject := "session:" + workspace
	charged := func(e *requestlog.Entry) { e.Subjects = []string{subject, "user:" + workspace} }
	first, second := sessionEntry(workspace, "a", now.Add(-2*time.Hour), charged), sessionEntry(workspace, "a", now.Add(-time.Hour), charged)
	free := sessionEntry(workspace, "a", now, nil)
	for range 2 {
		if err := db.Log.WriteEntries(t.Context(), []requestlog.Entry{first, second, free}); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		since  time.Time
		except []string
		want   money.Amount
	}{
		"all":           {want: 200},
		"since":         {since: now.Add(-90 * time.Minute), want: 100},
		"except":        {except: []string{second.ID, "req_other"}, want: 100},
		"except before": {since: now.Add(-90 * time.Minute), except: []string{first.ID}, want: 100},
	} {
		if got, err := db.Sessions.Spent(t.Context(), subject, tc.since, tc.except...); got != tc.want || err != nil {
			t.Errorf("%s: Spent = %s, %v, want %s", name, got, err, tc.want)
		}
	}
}

package sessions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/internal/store/storetest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// expiredDays is fault case F64: a session began 100 days ago, continued 40 days ago and continues today. The entries of the first day and
// the bodies of the second have expired. The turns of today are complete, and the session shows which of its earlier turns have expired.
func expiredDays(t *testing.T, _ scenario.Size) string {
	for name, dsn := range map[string]string{"SQLite": "sqlite", "PostgreSQL": pgtest.Start(t)} {
		expireDays(t, name, dsn)
	}
	return "on SQLite and PostgreSQL: 2 turns counted as gone, 2 marked as expired, 3 turns of today whole"
}

func expireDays(t *testing.T, name, dsn string) {
	t.Helper()
	const session, expired = "long-running", 4
	url := harness.Serve(t, &answering{})
	config := harness.Config(t, []harness.Provider{{Name: "alpha", BaseURL: url + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)}}},
		"store: "+dsn, "master_key: "+strings.Repeat("0123456789abcdef", 4))
	g := harness.Start(t, harness.Options{Config: config})
	reader, key := g.Key(t, "--scopes", "manage"), g.Key(t)
	a := &agent{g, scenario.Client(t), key, session, "chat"}
	turns := outlinetest.Session{Format: "chat", Turns: expired + 3, Growth: 2500, Seed: 64}.Make()
	if r, err := a.send(t.Context(), []byte(scenario.Chat("plain"))); err != nil || r.status != http.StatusOK {
		t.Fatalf("%s: first request: status %d (%v), want 200: %+v", name, r.status, err, r.failure)
	}
	scenario.Settled(t, g, reader)
	g.Stop(t)
	writePast(t, dsn, g.DataDir, session, turns[:expired])
	g.Restart(t)

	var today []turn
	for _, body := range bodies(outlinetest.Session{Format: "chat", Turns: expired + 3, Growth: 2500, Seed: 64})[expired:] {
		r, err := a.send(t.Context(), body)
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("%s: turn of today: status %d (%v), want 200: %+v", name, r.status, err, r.failure)
		}
		today = append(today, r.turn)
	}
	scenario.Settled(t, g, reader)
	var listed turnPage
	harness.Eventually(t, "the first day has expired", func() bool {
		listed = turnsOf(t, g, reader, session)
		return listed.Gone == 2
	})
	of := func(i int) storedBody {
		return readBody(t, g, reader, "/sessions/"+session+"/turns/"+listed.Turns[i].ID+"/messages")
	}
	var states []string
	for i, one := range listed.Turns {
		states = append(states, of(i).State)
		if one.Number != i+3 {
			t.Errorf("%s: turn %d has the number %d", name, i+3, one.Number)
		}
	}
	// Turns 3 and 4 are from the second day. Turn 5 was sent before the restart.
	if want := []string{"expired", "expired", "stored", "stored", "stored", "stored"}; !slices.Equal(states, want) {
		t.Fatalf("%s: bodies are %v, want %v", name, states, want)
	}
	for _, d := range today {
		d.check(t, g, reader)
	}
	if b := of(1); b.State != "expired" || b.Request != "" {
		t.Errorf("%s: the messages of an expired turn are %+v, want expired and empty", name, b)
	}
	if b := of(2); b.State != "stored" || b.Previous != "expired" || b.Known != 0 || b.Missing != 0 {
		t.Errorf("%s: the turn after the expired ones is %+v, want stored completely after expired", name, b)
	}
	var fresh struct{ Messages []json.RawMessage }
	last := of(5)
	if harness.Decode(t, []byte(last.Request), &fresh); last.Previous != "stored" || last.Known == 0 || len(fresh.Messages) == 0 || len(fresh.Messages) > 2 {
		t.Errorf("%s: the last turn has %d known and %d new messages after a turn that is %s, want known and 1 or 2 new messages after stored",
			name, last.Known, len(fresh.Messages), last.Previous)
	}
}

// writePast writes the first turns of a session, two of them 100 days ago and two 40 days ago, in the workspace of the gateway's key.
func writePast(t *testing.T, dsn, dir, session string, turns []outlinetest.Turn) {
	t.Helper()
	db, err := store.Open(t.Context(), dsn, dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var workspace string
	if err := db.QueryRow(t.Context(), `select workspace_id from log_sessions where session = $1`, session).Scan(&workspace); err != nil {
		t.Fatal(fmt.Errorf("find the session: %w", err))
	}
	w := storetest.NewWriter(t, workspace)
	for i, days := range []int{100, 100, 40, 40} {
		e := w.Entry(t, workspace, time.Now().UTC().AddDate(0, 0, -days).Add(time.Duration(i)*time.Second), turns[i])
		e.Session, e.SessionSource, e.KeyID, e.Outcome = session, "given", "key_past", requestlog.OK
		w.Write(t, db, e)
	}
}

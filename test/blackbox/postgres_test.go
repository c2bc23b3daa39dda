package blackbox

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/pgtest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

func TestPostgresKeepsKeysAndEntries(t *testing.T) {
	t.Parallel()
	_, upstream := harness.Upstream(t)
	g := harness.Start(t, harness.Options{Config: config(t, upstream, "store: "+pgtest.Start(t))})
	k := g.NewKey(t, "--budget", "1", "--period", "total")
	answer := wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat(small)}))

	if entry := g.Entry(t, answer.Header.Get("X-Request-Id")); entry.Outcome != "ok" || entry.Cost == nil || *entry.Cost != "0.0000108" {
		t.Errorf("the entry must have the outcome ok and the cost 0.0000108: %s", entry.Raw)
	}
	g.Restart(t)
	wantOK(t, g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat(small)}))
	g.Entries(t, "outcome=ok", 2)
	reader := g.Key(t, "--scopes", "read")
	var spend struct {
		Spend string `json:"spend_30d_usd"`
		Use   struct {
			Spent string `json:"spent_usd"`
		} `json:"budget_use"`
	}
	harness.Decode(t, wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/api/v1/keys/" + k.ID, Key: reader})).Body, &spend)
	if spend.Spend != "0.0000216" || spend.Use.Spent != "0.0000216" {
		t.Errorf("the roll-ups have the spending %s and the ledger %s, want 0.0000216", spend.Spend, spend.Use.Spent)
	}
	if _, stderr, code := g.CLI(t, "keys", "revoke", k.Name, "--yes"); code != 0 {
		t.Fatalf("keys revoke: exit code %d\n%s", code, stderr)
	}
	revoked := time.Now()
	harness.Eventually(t, "the key is rejected", func() bool {
		return g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat(small)}).Status == http.StatusUnauthorized
	})
	if took := time.Since(revoked); took > time.Second {
		t.Errorf("the key was rejected %s after the revocation, want at most 1 s", took)
	}
}

func TestPostgresHidesExpiredEntriesUntilTheirPartitionIsDropped(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t)
	g := harness.Start(t, harness.Options{Config: config(t, "http://127.0.0.1:1/v1", "store: "+dsn, "log: {entry_retention: 2d, body_retention: 2d}")})
	stdout, _, _ := g.CLI(t, "keys", "create", "--name", "reader", "--scopes", "read", "--json")
	var key struct {
		Key       string `json:"key"`
		Workspace string `json:"workspace_id"`
	}
	harness.Decode(t, []byte(stdout), &key)
	db, err := store.Open(t.Context(), dsn, t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var entries []requestlog.Entry
	for _, age := range []time.Duration{47 * time.Hour, 48*time.Hour + time.Minute} {
		at := time.Now().Add(-age)
		entries = append(entries, requestlog.Entry{ID: id.New("req", at), Timing: requestlog.Timing{Time: at}, Owner: requestlog.Owner{WorkspaceID: key.Workspace}, Result: requestlog.Result{Outcome: requestlog.OK, Status: http.StatusOK}})
	}
	if err := db.Log.WriteEntries(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	listed, _, _ := g.CLI(t, "requests", "list", "--json")
	answer := wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/api/v1/requests", Key: key.Key}))
	for where, text := range map[string]string{"command line": listed, "API": string(answer.Body)} {
		if !strings.Contains(text, entries[0].ID) || strings.Contains(text, entries[1].ID) {
			t.Errorf("%s: want the entry that is 47 hours old and not the one that is 48 hours old:\n%s", where, text)
		}
	}
}

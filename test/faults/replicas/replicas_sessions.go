package replicas

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// sharedSession is fault case F63: the turns of one session alternate between two replicas. Both replicas list the turns as one session,
// in order and with complete bodies, and the budget of the session is spent exactly. Parallel requests of another session do not exceed
// its budget.
func sharedSession(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{bodies: true})
	reader := w.newKey(t, "--scopes", "manage")
	allowed := size.Of(12, 60)
	k := w.limitedKey(t, fmt.Sprintf(`{"budget":{"amount_usd":"0.%03d","period":"total"}}`, allowed))
	turns := outlinetest.Session{Format: "chat", Turns: allowed + 4, Growth: 2500, Seed: 63}.Make()
	var sent []string // request IDs in the order of sending
	var bodies [][]byte
	for i, turn := range turns {
		body := bytes.Replace(turn.Body, []byte(`"model":"auto"`), []byte(`"model":"fee"`), 1)
		body = bytes.Replace(body, []byte(`"stream":true`), []byte(`"max_tokens":10`), 1)
		a := w.gateways[i%2].Call(t, harness.Request{Key: k.Text, Body: string(body), Header: http.Header{"X-Fairlead-Session": {"shared"}}})
		if i < allowed && a.Status != http.StatusOK {
			t.Fatalf("turn %d: status %d, want 200: %s", i+1, a.Status, scenario.Clip(a.Body))
		}
		if i >= allowed {
			f := scenario.WantError(t, fmt.Sprintf("turn %d", i+1), a, http.StatusPaymentRequired, "BUDGET_EXCEEDED")
			if f.Details["session"] != "shared" {
				t.Errorf("details.session is %v, want shared", f.Details["session"])
			}
		}
		sent, bodies = append(sent, a.Header.Get("X-Request-Id")), append(bodies, body)
	}
	if n := len(w.mock.Calls()); n != allowed {
		t.Errorf("got %d calls, want %d, which the budget allows", n, allowed)
	}
	for i := range 2 {
		w.readSession(t, i, reader, sent, bodies[:allowed])
	}

	calls := len(w.mock.Calls())
	scenario.Together(16, 4*allowed, func(i int) {
		w.gateways[i%2].Call(t, harness.Request{Key: k.Text, Body: short("fee"), Header: http.Header{"X-Fairlead-Session": {"parallel"}}})
	})
	// Requests that were rejected while other requests held the budget are repeated, so the budget is spent completely but not exceeded.
	harness.Eventually(t, "the budget is used up", func() bool {
		a := w.gateways[0].Call(t, harness.Request{Key: k.Text, Body: short("fee"), Header: http.Header{"X-Fairlead-Session": {"parallel"}}})
		return a.Header.Get("X-Fairlead-Error-Code") == "BUDGET_EXCEEDED"
	})
	if n := len(w.mock.Calls()) - calls; n != allowed {
		t.Errorf("%d parallel requests were served, want %d, which the budget allows", n, allowed)
	}
	for i := range 2 {
		for _, session := range []string{"shared", "parallel"} {
			w.awaitExactSpending(t, i, reader, session, allowed)
		}
	}
	return fmt.Sprintf("%d turns over 2 replicas: one session, in order, all whole; $0.%03d spent exactly, also by %d parallel requests", len(turns), allowed, 4*allowed)
}

// limitedKey creates a key with session limits and waits until every replica accepts it.
func (w *deployment) limitedKey(t *testing.T, limits string) harness.Key {
	t.Helper()
	manager := w.newKey(t, "--scopes", "manage,inference")
	a := w.gateways[0].Call(t, harness.Request{Path: "/api/v1/keys", Key: manager.Text, Body: `{"name":"agents","sessions":` + limits + `}`})
	if a.Status != http.StatusCreated {
		t.Fatalf("create a key: status %d, want 201: %s", a.Status, scenario.Clip(a.Body))
	}
	var made struct{ ID, Secret string }
	harness.Decode(t, a.Body, &made)
	k := harness.Key{ID: made.ID, Text: made.Secret}
	for i := range w.gateways {
		harness.Eventually(t, "the replica accepts the key", func() bool { return w.accepts(t, i, k) })
	}
	return k
}

// readSession reads the session at a replica: its turns in the order in which they were sent, and the bodies of the served ones.
func (w *deployment) readSession(t *testing.T, i int, reader harness.Key, sent []string, bodies [][]byte) {
	t.Helper()
	var page struct {
		Turns []struct {
			ID     string `json:"id"`
			Number int    `json:"number"`
		} `json:"turns"`
	}
	harness.Eventually(t, fmt.Sprintf("replica %d lists all turns", i), func() bool {
		a := w.gateways[i].Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/sessions/shared/turns?limit=100", Key: reader.Text})
		if a.Status != http.StatusOK {
			return false
		}
		harness.Decode(t, a.Body, &page)
		return len(page.Turns) == len(sent)
	})
	for n, id := range sent {
		if got := page.Turns[n]; got.ID != id || got.Number != n+1 {
			t.Fatalf("replica %d: turn %d is %+v, want %s", i, n+1, got, id)
		}
	}
	for n, body := range bodies {
		var stored struct {
			State, Request string
			Missing        int `json:"missing_parts"`
		}
		a := w.gateways[i].Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/requests/" + sent[n] + "/body", Key: reader.Text})
		if harness.Decode(t, a.Body, &stored); stored.State != "stored" || stored.Request != string(body) || stored.Missing != 0 {
			t.Errorf("replica %d: the body of turn %d is %s with %d of %d bytes and %d missing parts, want it complete",
				i, n+1, stored.State, len(stored.Request), len(body), stored.Missing)
		}
	}
}

// awaitExactSpending waits until a replica reports that a session has spent its whole budget and holds nothing.
func (w *deployment) awaitExactSpending(t *testing.T, i int, reader harness.Key, session string, fees int) {
	t.Helper()
	last := ""
	defer func() {
		if t.Failed() {
			t.Log(last)
		}
	}()
	harness.Eventually(t, fmt.Sprintf("replica %d reports that %s has spent %d fees", i, session, fees), func() bool {
		a := w.gateways[i].Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/sessions/" + session, Key: reader.Text})
		last = scenario.Clip(a.Body)
		var one struct {
			Budgets []struct {
				Spent string `json:"spent_usd"`
				Held  string `json:"held_usd"`
			} `json:"budgets"`
		}
		if a.Status != http.StatusOK {
			return false
		}
		harness.Decode(t, a.Body, &one)
		return len(one.Budgets) == 1 && scenario.Nano(t, one.Budgets[0].Spent) == int64(fees)*thousandth && scenario.Nano(t, one.Budgets[0].Held) == 0
	})
}

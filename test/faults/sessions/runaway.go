package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Prices of the model in dollars per million tokens, and the output limit of every request.
const (
	inputPrice, outputPrice = 2.0, 8.0
	maxOutput               = 200
)

// runawayLoop is fault case F65: an agent repeats a failing tool call five times a second. Its session is stopped before it exceeds its
// budget. The unspent remainder is at most the maximum cost of one request. Other sessions of the same key stay within their budgets and
// are never stopped.
func runawayLoop(t *testing.T, size scenario.Size) string {
	upstream := &answering{}
	model := harness.Chat("plain", inputPrice, outputPrice, 0.5)
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: harness.Serve(t, upstream) + "/v1", Models: []harness.Model{model},
	}})})
	budget := 0.3 * float64(size.Of(1, 5))
	reader, key := g.Key(t, "--scopes", "manage"), limitedKey(t, g, fmt.Sprintf(`{"budget":{"amount_usd":"%.2f","period":"total"}}`, budget))
	loop := &agent{g, scenario.Client(t), key, "runaway", "chat"}

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var healthy sync.WaitGroup
	var served atomic.Int64
	sessions := size.Of(30, 1000)
	healthy.Go(func() {
		scenario.Together(8, sessions, func(i int) { served.Add(healthySession(t, g, key, i)) })
	})
	largest, turns, refused := int64(0), 0, 0
	conversation := bodies(outlinetest.Session{Format: "chat", Turns: 1, Growth: 100, Seed: 65})[0]
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(90 * time.Second); refused < 10 && time.Now().Before(deadline); <-tick.C {
		body := withoutStream(conversation)
		r, err := loop.send(ctx, body)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case r.status == http.StatusOK && refused > 0:
			t.Errorf("turn %d was served after the session was stopped", turns)
		case r.status == http.StatusOK:
			turns++
			// The tokenizer of the model is unknown, so a hold covers one token for each byte and some tokens for each message.
			largest = max(largest, int64(len(body)*5/4)*inputPrice*1000+maxOutput*outputPrice*1000)
			conversation = failedAgain(t, conversation, turns)
		case r.failure.Code == "BUDGET_EXCEEDED" && r.status == http.StatusPaymentRequired:
			refused++
			if r.failure.Details["session"] != "runaway" || r.failure.Details["resumable"] != true {
				t.Errorf("details are %v, want the session runaway and resumable", r.failure.Details)
			}
		default:
			t.Fatalf("turn %d: got status %d %+v, want 200, or 402 BUDGET_EXCEEDED", turns, r.status, r.failure)
		}
	}
	healthy.Wait()
	if want := int64(sessions * healthyTurns); served.Load() != want {
		t.Errorf("%d of %d turns of the healthy sessions were served", served.Load(), want)
	}
	used := budgetOf(t, g, reader, "runaway")
	limit := int64(budget * 1e9)
	if used > limit || used < limit-largest || refused == 0 {
		t.Errorf("the loop spent %d n$, want %d to %d; %d requests were rejected, want at least 1", used, limit-largest, limit, refused)
	}
	if calls := upstream.calls.Load(); calls != int64(turns)+served.Load() {
		t.Errorf("the provider got %d calls for %d turns, want one for each", calls, int64(turns)+served.Load())
	}
	return fmt.Sprintf("stopped after %d turns at $%.4f of $%.2f; %d turns of %d healthy sessions, none rejected", turns, float64(used)/1e9, budget, served.Load(), sessions)
}

// healthyTurns is the number of turns of each healthy session that runs during the loop.
const healthyTurns = 3

// healthySession runs a short session and returns the number of served turns.
func healthySession(t *testing.T, g *harness.Gateway, key string, number int) (served int64) {
	t.Helper()
	a := &agent{g, scenario.Client(t), key, fmt.Sprintf("healthy-%d", number), "chat"}
	for i := range healthyTurns {
		text := strings.Repeat(fmt.Sprintf("Step %d of session %d. ", i, number), 50)
		r, err := a.send(t.Context(), []byte(`{"model":"plain","max_tokens":200,"messages":[{"role":"user","content":`+scenario.Quote(text)+`}]}`))
		if err != nil || r.status != http.StatusOK {
			t.Errorf("healthy session %d, turn %d: status %d (%v), want 200: %+v", number, i, r.status, err, r.failure)
			continue
		}
		served++
	}
	return served
}

// limitedKey creates a key with session limits.
func limitedKey(t *testing.T, g *harness.Gateway, limits string) string {
	t.Helper()
	manager := g.Key(t, "--scopes", "manage,inference")
	a := g.Call(t, harness.Request{Path: "/api/v1/keys", Key: manager, Body: `{"name":"agents","sessions":` + limits + `}`})
	if a.Status != http.StatusCreated {
		t.Fatalf("create a key: status %d, want 201: %s", a.Status, scenario.Clip(a.Body))
	}
	var made struct{ Secret string }
	harness.Decode(t, a.Body, &made)
	return made.Secret
}

// budgetOf returns the spent part of a session's budget, in nano-dollars. It waits until nothing is held.
func budgetOf(t *testing.T, g *harness.Gateway, reader, session string) (spent int64) {
	t.Helper()
	harness.Eventually(t, "the session holds nothing", func() bool {
		a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/sessions/" + session, Key: reader})
		var one struct {
			Budgets []struct {
				Spent string `json:"spent_usd"`
				Held  string `json:"held_usd"`
			} `json:"budgets"`
		}
		if a.Status != http.StatusOK {
			return false
		}
		if harness.Decode(t, a.Body, &one); len(one.Budgets) != 1 {
			t.Fatalf("the session %s has %d budgets, want 1: %s", session, len(one.Budgets), scenario.Clip(a.Body))
		}
		spent = scenario.Nano(t, one.Budgets[0].Spent)
		return scenario.Nano(t, one.Budgets[0].Held) == 0
	})
	return spent
}

// failedAgain adds a call of the same tool that fails with the same error.
func failedAgain(t *testing.T, body []byte, number int) []byte {
	t.Helper()
	var request map[string]json.RawMessage
	var messages []json.RawMessage
	harness.Decode(t, body, &request)
	harness.Decode(t, request["messages"], &messages)
	call := fmt.Sprintf("call_%d", number)
	messages = append(messages,
		json.RawMessage(`{"role":"assistant","content":null,"tool_calls":[{"id":"`+call+`","type":"function","function":{"name":"tool_3","arguments":"{\"command\":\"make\"}"}}]}`),
		json.RawMessage(`{"role":"tool","tool_call_id":"`+call+`","content":"make: *** No rule to make target. Stop."}`))
	var err error
	if request["messages"], err = json.Marshal(messages); err == nil {
		body, err = json.Marshal(request)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// withoutStream returns the body with streaming turned off and with an output limit.
func withoutStream(body []byte) []byte {
	return bytes.Replace(body, []byte(`"stream":true`), fmt.Appendf(nil, `"stream":false,"max_tokens":%d`, maxOutput), 1)
}

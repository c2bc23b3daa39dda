package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/simulator"
)

const queued = `{"id":"resp_1","object":"response","status":"queued","background":true,"model":"large-2026","output":[],"usage":null}`

// finished returns a background response that has ended.
func finished(status, usage string) string {
	return `{"id":"resp_1","object":"response","status":"` + status + `","model":"large-2026","output":[],"usage":` + usage + `}`
}

// backgroundKit returns a kit without a network. Its provider starts background responses, and answers polls with the given bodies in
// order. The last body is repeated.
func backgroundKit(t *testing.T, create http.HandlerFunc, polls ...string) (*kit, *responsesServer) {
	t.Helper()
	k := newKit(t, func(k *kit) { k.inside = true })
	var n atomic.Int64
	server := &responsesServer{answer: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			create(w, r)
			return
		}
		poll := polls[min(int(n.Add(1)), len(polls))-1]
		if poll == "" {
			respond(http.StatusNotFound, `{"error":{"message":"not found"}}`)(w, r)
			return
		}
		respond(http.StatusOK, poll)(w, r)
	}}
	k.useResponses("http://openai.invalid", "openai#1", "openai#2")
	p, _ := k.snapshot.Provider("openai")
	p.Transport = simulator.Transport(server)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		k.gateway.Drain(ctx)
	})
	return k, server
}

// budget gives the key a budget of one dollar.
func (k *kit) budget() {
	k.keys.grant.Key.Budget = &account.Budget{Amount: money.Dollar, Period: account.Total}
}

func TestBackgroundResponseIsChargedWhenItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, server := backgroundKit(t, respond(200, queued), queued, finished("in_progress", "null"), finished("completed", `{"input_tokens":1000,"output_tokens":2000}`))
		k.budget()
		got := k.post("/responses", `{"model":"large","input":"hello","background":true}`)
		id, _ := got.json(t)["id"].(string)
		if got.status != 200 || got.json(t)["status"] != "queued" || !strings.HasPrefix(id, "resp_fl_") || got.header.Get("X-Fairlead-Cost") != "" {
			t.Fatalf("status %d, cost %q: %s", got.status, got.header.Get("X-Fairlead-Cost"), got.body)
		}
		if held := k.held(); held == 0 {
			t.Error("no amount is held while the response is generated")
		}
		time.Sleep(time.Minute)
		e := k.entry()
		cost := money.PerMillion(2).Cost(1000) + money.PerMillion(8).Cost(2000)
		if e.Cost == nil || *e.Cost != cost || e.Usage.Estimated || e.Usage.Output != 2000 || e.Outcome != requestlog.OK || e.Finish != "stop" {
			t.Errorf("cost %v, usage %+v, outcome %s, finish %q", e.Cost, e.Usage, e.Outcome, e.Finish)
		}
		if e.Latency > time.Second || len(e.Attempts) != 1 || e.Attempts[0].Cost == nil || *e.Attempts[0].Cost != cost {
			t.Errorf("latency %s, attempts %+v", e.Latency, e.Attempts)
		}
		if k.held() != 0 || k.spent() != cost {
			t.Errorf("%s is held, %s is spent, want %s", k.held(), k.spent(), cost)
		}
		create := server.seen()[0]
		for _, call := range server.seen()[1:] {
			if want := "GET /v1/responses/resp_1 " + create[strings.LastIndex(create, " ")+1:]; call != want {
				t.Errorf("polled by %s, want %s", call, want)
			}
		}
		if n := len(server.seen()); n != 4 {
			t.Errorf("got %d calls, want 4", n)
		}
	})
}

// A client may read and delete the response before the next poll.
func TestBackgroundResponseIsChargedBeforeItIsDeleted(t *testing.T) {
	t.Parallel()
	for name, operations := range map[string][]string{
		"read and deleted":           {http.MethodGet, http.MethodDelete},
		"deleted":                    {http.MethodDelete},
		"deleted by another replica": {http.MethodDelete},
		"deleted by another replica whose message is late": {http.MethodDelete},
		"failed and deleted": {http.MethodDelete},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var deleted atomic.Bool
				k, server := backgroundKit(t, respond(200, queued), "")
				create, end := server.answer, finished("completed", `{"input_tokens":1000,"output_tokens":2000}`)
				if name == "failed and deleted" {
					end = finished("failed", "null")
				}
				server.answer = func(w http.ResponseWriter, r *http.Request) {
					switch {
					case r.Method == http.MethodPost || deleted.Load():
						create(w, r)
					case r.Method == http.MethodDelete:
						deleted.Store(true)
						respond(200, `{"id":"resp_1","object":"response","deleted":true}`)(w, r)
					default:
						respond(200, end)(w, r)
					}
				}
				k.budget()
				id, _ := k.post("/responses", `{"model":"large","input":"hello","background":true}`).json(t)["id"].(string)
				replica, held := k, k.held()
				if strings.Contains(name, "another replica") {
					replica, _ = backgroundKit(t, nil)
					p, _ := replica.snapshot.Provider("openai")
					p.Transport = simulator.Transport(server)
					replica.gateway.PublishEnd = func(_ context.Context, message string) {
						if strings.Contains(name, "late") { // the task polls a second after the response began
							go func() {
								time.Sleep(2 * time.Second)
								k.gateway.ReceiveEnd(message)
							}()
							return
						}
						if !k.gateway.ReceiveEnd(message) || k.gateway.ReceiveEnd(`{"key":"key_1"}`) {
							t.Errorf("message %s was not received, or another one was", message)
						}
					}
				}
				for _, method := range operations {
					if got := replica.do(k.request(method, "/responses/"+id, "")); got.status != 200 {
						t.Fatalf("%s: status %d: %s", method, got.status, got.body)
					}
				}
				synctest.Wait()
				if strings.Contains(name, "late") {
					time.Sleep(5 * time.Second)
				}
				if name == "failed and deleted" {
					if k.spent() == 0 || k.spent() >= held {
						t.Errorf("%s is spent for a response that failed, %s was held", k.spent(), held)
					}
					return
				}
				if want := money.PerMillion(2).Cost(1000) + money.PerMillion(8).Cost(2000); k.spent() != want || k.held() != 0 {
					t.Errorf("%s is spent, %s is held, want %s and 0", k.spent(), k.held(), want)
				}
				if e := k.entry(); e.Usage.Estimated || e.Usage.Output != 2000 {
					t.Errorf("usage %+v", e.Usage)
				}
			})
		})
	}
}

func TestBackgroundResponseOfUnknownUsageIsEstimated(t *testing.T) {
	t.Parallel()
	for name, poll := range map[string]string{
		"deleted":     "",
		"cancelled":   finished("cancelled", "null"),
		"failed":      finished("failed", "null"),
		"implausible": finished("completed", `{"input_tokens":1,"output_tokens":999999}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k, _ := backgroundKit(t, respond(200, queued), poll)
				k.budget()
				if got := k.post("/responses", `{"model":"large","input":"`+strings.Repeat("hello ", 1000)+`","background":true}`); got.status != 200 {
					t.Fatalf("status %d, want 200: %s", got.status, got.body)
				}
				held := k.held()
				time.Sleep(time.Minute)
				e := k.entry()
				if (k.spent() == held) != (name != "failed") {
					t.Errorf("%s is spent, %s was held; want the held amount unless the response failed", k.spent(), held)
				}
				if !e.Usage.Estimated || e.Usage.Prompt() < 500 || e.Cost == nil || *e.Cost == 0 || len(e.Warnings) != 1 || k.held() != 0 || k.spent() != *e.Cost {
					t.Errorf("usage %+v, cost %v, warnings %q, held %s, spent %s", e.Usage, e.Cost, e.Warnings, k.held(), k.spent())
				}
			})
		})
	}
}

func TestShutdownCompletesBackgroundResponses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, _ := backgroundKit(t, respond(200, queued), queued)
		k.budget()
		k.post("/responses", `{"model":"large","input":"hello","background":true}`)
		time.Sleep(90 * time.Second)
		began := time.Now()
		k.gateway.Drain(t.Context())
		if e := k.entry(); !e.Usage.Estimated || len(e.Warnings) != 1 || k.held() != 0 || time.Since(began) > time.Second {
			t.Errorf("usage %+v, warnings %q, held %s after %s", e.Usage, e.Warnings, k.held(), time.Since(began))
		}
	})
}

func TestBackgroundResponseIsFollowedForALimitedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k, server := backgroundKit(t, respond(200, queued), queued)
		k.post("/responses", `{"model":"large","input":"hello","background":true}`)
		time.Sleep(3 * time.Hour)
		if e := k.entry(); !e.Usage.Estimated {
			t.Errorf("usage %+v, want an estimate", e.Usage)
		}
		if n := len(server.seen()); n > 260 {
			t.Errorf("%d calls, want at most 260", n)
		}
	})
}

// The provider continues a background response whose stream ends, so the request must not be sent to another target.
func TestInterruptedBackgroundStreamIsChargedWhenItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cut := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":%s}\n\n", queued)
		}
		k, server := backgroundKit(t, cut, queued, finished("completed", `{"input_tokens":10,"output_tokens":20}`))
		got := k.post("/responses", `{"model":"large","input":"hello","background":true,"stream":true}`)
		if got.status != 200 || !strings.Contains(got.body, "response.created") || !strings.Contains(got.body, "event: error") {
			t.Fatalf("status %d: %s", got.status, got.body)
		}
		time.Sleep(time.Minute)
		e := k.entry()
		if e.Outcome != requestlog.Partial || e.Usage.Output != 20 || e.Usage.Estimated || e.Error == nil {
			t.Errorf("outcome %s, usage %+v, error %v", e.Outcome, e.Usage, e.Error)
		}
		posts := 0
		for _, call := range server.seen() {
			if strings.HasPrefix(call, "POST") {
				posts++
			}
		}
		if posts != 1 {
			t.Errorf("the response was created %d times, want once", posts)
		}
	})
}

func TestCompleteBackgroundStreamIsChargedImmediately(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stream := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":%s}\n\ndata: {\"type\":\"response.completed\",\"sequence_number\":1,\"response\":%s}\n\n",
				queued, finished("completed", `{"input_tokens":10,"output_tokens":20}`))
		}
		k, server := backgroundKit(t, stream, queued)
		k.post("/responses", `{"model":"large","input":"hello","background":true,"stream":true}`)
		if e := k.entry(); e.Outcome != requestlog.OK || e.Usage.Output != 20 {
			t.Errorf("outcome %s, usage %+v", e.Outcome, e.Usage)
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff(1, len(server.seen())); diff != "" {
			t.Errorf("calls %q", server.seen())
		}
	})
}

// held returns the amount reserved on the key's budget.
func (k *kit) held() money.Amount { return k.ledger.Status(budget.Applied(k.keys.grant)[0]).Held }

// spent returns the amount spent from the key's budget.
func (k *kit) spent() money.Amount { return k.ledger.Status(budget.Applied(k.keys.grant)[0]).Spent }

package replicas

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// thousandth is a fee of a thousandth of a dollar in nano-dollars.
const thousandth = 1_000_000

// spending returns the spent and the held amount of a key according to one replica, as numbers of fees.
func (w *deployment) spending(t *testing.T, i int, reader, k harness.Key) (spent, held int) {
	t.Helper()
	s := scenario.SpendingOf(t, w.gateways[i], reader.Text, k.ID)
	return int(scenario.Nano(t, s.Budget.Spent) / thousandth), int(scenario.Nano(t, s.Budget.Held) / thousandth)
}

// agree waits until every replica reports the given number of fees as spent and nothing as held.
func (w *deployment) agree(t *testing.T, reader, k harness.Key, fees int) {
	t.Helper()
	for i := range w.gateways {
		harness.Eventually(t, fmt.Sprintf("replica %d reports %d fees as spent", i, fees), func() bool {
			spent, held := w.spending(t, i, reader, k)
			return spent == fees && held == 0
		})
	}
}

// sharedBudget is fault case F11: parallel requests at three replicas exceed a budget by at most one request's reservation.
func sharedBudget(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	n := size.Of(300, 1000)
	allowed := n / 10
	k, reader := w.newKey(t, "--budget", fmt.Sprintf("0.%03d", allowed), "--period", "total"), w.newKey(t, "--scopes", "read")
	began := time.Now()
	c := w.burst(t, n, n, k, short("fee"))
	took := time.Since(began)

	served := c.of("served")
	if others := c.others("served", "BUDGET_EXCEEDED", "RATE_LIMITED", "LEDGER_UNAVAILABLE"); len(others) > 0 {
		t.Errorf("unexpected results: %v", others)
	}
	if calls := len(w.mock.Calls()); served > allowed+1 || calls != served {
		t.Errorf("%d requests were served with %d calls, want one call for each and at most %d", served, calls, allowed+1)
	}
	// Requests rejected because Redis was slow are retried: the budget can be spent completely, but not exceeded.
	harness.Eventually(t, "the budget is spent", func() bool {
		r := w.send(t, 0, k, short("fee"))
		if r.status == http.StatusOK {
			served++
		}
		return r.code == "BUDGET_EXCEEDED"
	})
	if served < allowed-1 || served > allowed+1 {
		t.Errorf("%d requests were served in total, the budget allows %d", served, allowed)
	}
	w.agree(t, reader, k, served)
	return fmt.Sprintf("%d concurrent requests over %d replicas on $0.%03d: spent $0.%03d in %s, %d rejected", n, replicas, allowed, served, took.Round(time.Millisecond), n-c.of("served"))
}

// budgetWithoutRedis checks promise P10: when Redis is killed, each replica spends its share of the remaining budget, and no more.
func budgetWithoutRedis(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	n := size.Of(240, 600)
	allowed := n / 4
	k, reader := w.newKey(t, "--budget", fmt.Sprintf("0.%03d", allowed), "--period", "total"), w.newKey(t, "--scopes", "read")
	before := w.burst(t, 10, allowed/2, k, short("fee"))
	w.redis.Kill()
	during := w.burst(t, 30, n, k, short("fee"))
	alone := during.of("served")
	served := before.of("served") + alone
	if others := during.others("served", "BUDGET_EXCEEDED", "RATE_LIMITED", "LEDGER_UNAVAILABLE"); len(others) > 0 {
		t.Errorf("unexpected results: %v", others)
	}
	if served > allowed+1 || alone == 0 {
		t.Errorf("%d requests were served before and %d after Redis was killed, want at least 1 after, and at most %d in total",
			before.of("served"), alone, allowed+1)
	}
	w.redis.Start(t)
	// Redis is empty. The sums are rebuilt from the ledger, and only the remaining budget can be spent.
	harness.Eventually(t, "the budget is spent", func() bool {
		c := w.burst(t, 3, 9, k, short("fee"))
		served += c.of("served")
		return c.of("BUDGET_EXCEEDED") == 9
	})
	spent, _ := w.spending(t, 0, reader, k)
	if served > allowed+1 || served < allowed/2 || spent > allowed+1 {
		t.Errorf("%d requests were served in total and %d fees spent, want %d to %d", served, spent, allowed/2, allowed+1)
	}
	return fmt.Sprintf("budget for %d: %d with Redis, %d by shares without Redis, %d in total after its empty return", allowed, before.of("served"), alone, served)
}

// bothStoresGone checks promise P10: without Redis and PostgreSQL, a replica spends its last share of a budget and then rejects
// requests. It rejects requests on a budget whose spending it has not loaded. A key without a budget is still served.
// When the stores are back, every fee is in the ledger exactly once.
func bothStoresGone(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	allowed := size.Of(120, 400)
	amount := fmt.Sprintf("0.%03d", allowed)
	k, unused := w.newKey(t, "--budget", amount, "--period", "total"), w.newKey(t, "--budget", amount, "--period", "total")
	free, reader := w.newKey(t), w.newKey(t, "--scopes", "read")
	before := w.burst(t, 6, allowed/4, k, short("fee")).of("served")
	w.agree(t, reader, k, before) // all replicas agree
	w.redis.Kill()
	for _, way := range w.database {
		way.Stop()
	}
	during := w.burst(t, 12, 2*allowed, k, short("fee"))
	alone := during.of("served")
	if others := during.others("served", "LEDGER_UNAVAILABLE"); len(others) > 0 {
		t.Errorf("unexpected results without the stores: %v", others)
	}
	if alone > allowed-before || during.of("LEDGER_UNAVAILABLE") == 0 {
		t.Errorf("%d requests were served before and %d without the stores, want at most %d in total and then LEDGER_UNAVAILABLE",
			before, alone, allowed)
	}
	if c := w.burst(t, 3, 6, unused, short("fee")); c.of("served") > 0 {
		t.Errorf("%d requests were served from a budget with unknown spending, want 0", c.of("served"))
	}
	if c := w.burst(t, 3, 30, free, short("m")); c.of("served") != 30 {
		t.Errorf("%d of 30 requests of a key without a budget were served, others: %v", c.of("served"), c.others("served"))
	}
	for _, way := range w.database {
		way.Up(t)
	}
	w.redis.Start(t)
	served := before + alone
	for i := range w.gateways {
		w.untilReady(t, i)
	}
	harness.Eventually(t, "the budget is spent", func() bool {
		c := w.burst(t, 3, 9, k, short("fee"))
		served += c.of("served")
		return c.of("BUDGET_EXCEEDED") == 9
	})
	if served > allowed+1 || served < allowed-1 {
		t.Errorf("%d requests were served in total, the budget allows %d", served, allowed)
	}
	harness.Eventually(t, "every fee is in the ledger", func() bool {
		return scenario.Nano(t, scenario.SpendingOf(t, w.gateways[1], reader.Text, k.ID).Rollup) == int64(served)*thousandth
	})
	return fmt.Sprintf("budget for %d: %d before, %d by last shares, then rejected; %d in total", allowed, before, alone, served)
}

// oneCutOff tests promises P3 and P10 of docs/reliability.md: a replica that loses Redis but still reaches the database never
// overspends the budget together with the others, regardless of the length of the outage.
func oneCutOff(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	allowed := size.Of(150, 500)
	k, reader := w.newKey(t, "--budget", fmt.Sprintf("0.%03d", allowed), "--period", "total"), w.newKey(t, "--scopes", "read")
	before := w.burst(t, 6, allowed/5, k, short("fee")).of("served")
	w.agree(t, reader, k, before)
	w.toRedis[2].Stop()
	cut, served, alone := time.Now(), before, 0
	for time.Since(cut) < time.Duration(size.Of(8, 45))*time.Second { // longer than the time until a replica uses its share; in the full form, also longer than the lease
		r := w.send(t, 2, k, short("fee"))
		if r.status == http.StatusOK {
			alone++
		}
		time.Sleep(50 * time.Millisecond) // real processes have no fake clock
	}
	rest := w.useUp(t, k, false, 0, 1)
	served += alone + rest
	if served > allowed+1 {
		t.Errorf("%d requests were served before, %d by the replica without Redis and %d by the others, want at most %d in total",
			before, alone, rest, allowed+1)
	}
	w.toRedis[2].Up(t)
	w.untilReady(t, 2)
	served += w.useUp(t, k, true, 0, 1, 2)
	if served > allowed+1 || served < allowed-1 {
		t.Errorf("%d requests were served in total, the budget allows %d", served, allowed)
	}
	return fmt.Sprintf("budget for %d: %d before, %d by the one that is disconnected, %d by the others, %d in total", allowed, before, alone, rest, served)
}

// useUp sends requests to the replicas in turn until all of them reject requests, and returns the number of served requests. If
// forGood is set, only BUDGET_EXCEEDED counts as a rejection, because the other rejections are temporary.
func (w *deployment) useUp(t *testing.T, k harness.Key, forGood bool, replicas ...int) (served int) {
	t.Helper()
	quiet := 0
	deadline := time.Now().Add(20 * time.Second)
	for i := 0; quiet < 3*len(replicas) && time.Now().Before(deadline); i++ {
		switch r := w.send(t, replicas[i%len(replicas)], k, short("fee")); r.code {
		case "served":
			served++
			quiet = 0
		case "BUDGET_EXCEEDED":
			quiet++
		default:
			if !forGood {
				quiet++
			}
			time.Sleep(50 * time.Millisecond) // releasing allowances and rebuilding sums takes real time
		}
	}
	return served
}

// crashedHolds checks promises P3 and P10: holds of a killed replica are released within a minute and cannot be spent twice. A lease
// takes half of that minute, so only the full form waits for it.
func crashedHolds(t *testing.T, size scenario.Size) string {
	if size == scenario.Fast {
		return "not run: the fast form does not wait for a lease of 30 s"
	}
	w := startReplicas(t, setting{})
	const n = 30
	w.mock.Always(simulator.Behaviour{Text: []string{"one", " two", " three"}, SilentAfter: 3})
	k, reader := w.newKey(t, "--budget", fmt.Sprintf("0.%03d", n), "--period", "total"), w.newKey(t, "--scopes", "read")
	var reading sync.WaitGroup
	var opened atomic.Int64
	for range n {
		reading.Go(func() {
			resp := w.gateways[2].Open(t, harness.Request{Key: k.Text, Body: short("fee", scenario.Streaming)})
			if resp.StatusCode == http.StatusOK {
				opened.Add(1)
			}
			_ = scenario.ReadEvents(resp.Body) // the stream is interrupted
			_ = resp.Body.Close()
		})
	}
	harness.Eventually(t, "the whole budget is held", func() bool {
		_, held := w.spending(t, 0, reader, k)
		return held == n
	})
	if r := w.send(t, 0, k, short("fee")); r.code != "RATE_LIMITED" { // not BUDGET_EXCEEDED, because the holds may still be released
		t.Errorf("request while the whole budget is held: got %+v, want RATE_LIMITED", r)
	}
	w.gateways[2].Kill(t)
	killed := time.Now()
	reading.Wait()
	w.mock.Always(simulator.Behaviour{})
	free := scenario.Awaited(t, 70*time.Second, "the hold is released", func() bool { return w.send(t, 0, k, short("fee")).status == http.StatusOK })
	if free > time.Minute {
		t.Errorf("the hold was released after %s, want at most 1 m", free)
	}
	_, held := w.spending(t, 0, reader, k)
	if held != 0 {
		t.Errorf("%d fees are still held, want 0", held)
	}
	return fmt.Sprintf("%d holds of a killed replica freed after %s", opened.Load(), time.Since(killed).Round(100*time.Millisecond))
}

// editsOverReplicas is fault case F15 with replicas: editing a key and its budget at every replica loses no charge.
func editsOverReplicas(t *testing.T, size scenario.Size) string {
	w := startReplicas(t, setting{})
	k, reader, manager := w.newKey(t, "--budget", "50", "--period", "total"), w.newKey(t, "--scopes", "read"), w.newKey(t, "--scopes", "manage,inference")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var c *tally
	var loading sync.WaitGroup
	loading.Go(func() { c = w.pace(ctx, t, time.Duration(size.Of(10, 4))*time.Millisecond, k, short("fee")) })
	n := size.Of(100, 1000)
	edit(t, n, func(i int) *harness.Gateway { return w.gateways[i%replicas] }, manager.Text, k.ID)
	cancel()
	loading.Wait()
	if others := c.others("served"); len(others) > 0 {
		t.Errorf("unexpected results: %v", others)
	}
	w.agree(t, reader, k, c.of("served"))
	return fmt.Sprintf("%d edits over %d replicas during %d requests: every fee counted", n, replicas, c.of("served"))
}

// edit changes a key and its budget n times without affecting the recorded spending.
func edit(t *testing.T, n int, at func(i int) *harness.Gateway, manager, keyID string) {
	t.Helper()
	bodies := []string{
		`{"name":"edited %d"}`, `{"budget":{"amount_usd":"5%d","period":"total"}}`,
		`{"limits":{"requests_per_minute":9%d0000}}`, `{"budget":{"amount_usd":"6%d","period":"total","warn_percent":90}}`,
	}
	for i := range n {
		body := fmt.Sprintf(bodies[i%len(bodies)], i%10)
		if a := at(i).Call(t, harness.Request{Method: http.MethodPatch, Path: "/api/v1/keys/" + keyID, Key: manager, Body: body}); a.Status != http.StatusOK {
			t.Fatalf("patch the key with %s: status %d, want 200: %s", body, a.Status, scenario.Clip(a.Body))
		}
	}
}

package replicas

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"fairlead/test/harness"
)

// milliDollars reads what a key has spent by the word of one replica, in thousandths of a dollar.
func (w *world) milliDollars(t *testing.T, i int, reader, k key) (spent, held float64) {
	t.Helper()
	a := w.gateways[i].Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/keys/" + k.ID, Key: reader.Text})
	var s struct {
		Budget struct {
			Spent string `json:"spent_usd"`
			Held  string `json:"held_usd"`
		} `json:"budget_use"`
	}
	harness.Decode(t, a.Body, &s)
	return dollars(t, s.Budget.Spent) * 1000, dollars(t, s.Budget.Held) * 1000
}

func dollars(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("%q is no amount", text)
	}
	return n
}

// Budget is F11: however many ask at once at three replicas, a budget is exceeded by one request's reservation at most.
func Budget(t *testing.T, full bool) string {
	w := start(t, true)
	n := pick(full, 300, 1000)
	allowed := n / 10
	k, reader := w.newKey(t, "--budget", fmt.Sprintf("0.%03d", allowed), "--period", "total"), w.newKey(t, "--scopes", "read")
	began := time.Now()
	c := w.atOnce(t, n, n, k, chat("fee"))
	took := time.Since(began)

	served := c.of("served")
	if others := c.others("served", "BUDGET_EXCEEDED", "LEDGER_UNAVAILABLE"); len(others) > 0 {
		t.Errorf("also %v", others)
	}
	if calls := len(w.mock.Calls()); served > allowed+1 || calls != served {
		t.Errorf("%d served with %d calls, the budget is for %d", served, calls, allowed)
	}
	// Whoever was turned away because Redis was slow may come again: the budget can be used up, and no more.
	for range 2 * allowed {
		if status, _, _ := w.post(t, 0, k, chat("fee")); status != http.StatusOK {
			break
		}
		served++
	}
	if served < allowed-1 || served > allowed+1 {
		t.Errorf("%d served in the end, the budget is for %d", served, allowed)
	}
	for i := range w.gateways {
		harness.Eventually(t, "all replicas agree", func() bool {
			spent, held := w.milliDollars(t, i, reader, k)
			return int(spent+0.5) == served && held == 0
		})
	}
	return fmt.Sprintf("%d at once over %d replicas on $0.%03d: spent $0.%03d in %s, %d turned away", n, replicas, allowed, served, took.Round(time.Millisecond), n-c.of("served"))
}

// BudgetWithoutRedis is P10: when Redis dies in the middle, each replica spends its share of what is left, and no more.
func BudgetWithoutRedis(t *testing.T, full bool) string {
	w := start(t, true)
	n := pick(full, 240, 600)
	allowed := n / 4
	k, reader := w.newKey(t, "--budget", fmt.Sprintf("0.%03d", allowed), "--period", "total"), w.newKey(t, "--scopes", "read")
	before := w.atOnce(t, 10, allowed/2, k, chat("fee"))
	w.redis.Kill()
	during := w.atOnce(t, 30, n, k, chat("fee"))
	served := before.of("served") + during.of("served")
	if others := during.others("served", "BUDGET_EXCEEDED", "LEDGER_UNAVAILABLE"); len(others) > 0 {
		t.Errorf("also %v", others)
	}
	if served > allowed+1 || during.of("served") == 0 {
		t.Errorf("%d served before and %d after Redis died, the budget is for %d", before.of("served"), during.of("served"), allowed)
	}
	alone := during.of("served")
	w.redis.Start(t)
	// Redis is empty. The sums are made anew from the ledger, and the rest can be spent, but not more.
	harness.Eventually(t, "the budget is used up", func() bool {
		c := w.atOnce(t, 3, 9, k, chat("fee"))
		served += c.of("served")
		return c.of("BUDGET_EXCEEDED") == 9
	})
	spent, _ := w.milliDollars(t, 0, reader, k)
	if served > allowed+1 || served < allowed/2 || int(spent+0.5) > allowed+1 {
		t.Errorf("%d served in all, spent %.0f thousandths; the budget is for %d", served, spent, allowed)
	}
	return fmt.Sprintf("budget for %d: %d with Redis, %d by shares without, %d in all after its empty return", allowed, before.of("served"), alone, served)
}

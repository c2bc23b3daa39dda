package stores

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// databaseAway is fault case F03: while PostgreSQL is stopped, hung or slow under load, no request fails, and every entry is
// delivered afterwards, in order and exactly once.
func databaseAway(t *testing.T, size scenario.Size) string {
	d := newDatabase(t)
	d.Start(t)
	g := harness.Start(t, harness.Options{Config: d.config(t, size.Of(10, 40))})
	reader, k := g.Key(t, "--scopes", "read"), g.NewKey(t, "--budget", "100000", "--period", "total")
	l := &scenario.Load{Gateway: g, Client: scenario.Client(t), Key: k.Text}
	l.Send(t.Context(), scenario.Chat("plain")) // loads the budget
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	l.Start(ctx, size.Of(50, 500), size.Of(10, 200))
	ready := watchReadiness(t, g, ctx.Done())
	time.Sleep(time.Second) // wait until all requests are running

	db := d.open(t)
	var figures []string
	for _, fault := range []struct {
		name  string
		lasts time.Duration
		begin func() (restore func())
	}{
		{"stopped", time.Duration(size.Of(4, 60)) * time.Second, func() func() {
			d.Stop(t)
			return func() { d.Start(t) }
		}},
		{"hung", time.Duration(size.Of(3, 30)) * time.Second, func() func() { return d.proxy.Hang(t) }},
		{"slow", time.Duration(size.Of(2, 20)) * time.Second, func() func() { return d.proxy.Slow(t, 50*time.Millisecond) }},
	} {
		restore := fault.begin()
		time.Sleep(fault.lasts) // outages last for real time
		restore()
		back := time.Now()
		before := d.stored(t, db)
		within(t, 5*time.Second, "entries are delivered again ("+fault.name+")", func() bool { return d.stored(t, db) > before })
		first := time.Since(back)
		within(t, time.Minute, "the queued entries are delivered ("+fault.name+")", func() bool {
			return scenario.Metric(t, g, reader, "fairlead_spool_entries") < float64(2*size.Of(50, 500)) // the load continues, so the latest entries always wait
		})
		figures = append(figures, fmt.Sprintf("%s %s: first after %.1f s, backlog delivered after %.1f s", fault.name, fault.lasts, first.Seconds(), time.Since(back).Seconds()))
	}
	stop()
	l.Running.Wait()
	late := within(t, time.Minute, "all entries are delivered", func() bool { return scenario.Metric(t, g, reader, "fairlead_spool_entries") == 0 })
	if late >= time.Minute { // wait longer, to distinguish late entries from lost ones
		late += within(t, 5*time.Minute, "all entries are delivered late", func() bool { return scenario.Metric(t, g, reader, "fairlead_spool_entries") == 0 })
	}
	failed, codes := 0, map[string]int{}
	for _, s := range l.Seen {
		if !s.Complete || s.Status != http.StatusOK {
			failed++
			codes[fmt.Sprintf("%d %s", s.Status, s.Code)]++
		}
	}
	if failed > 0 {
		t.Errorf("%d requests failed while the database was unavailable: %v", failed, codes)
	}
	if n := <-ready; n > 0 {
		t.Errorf("readyz was not 200 in %d requests, want 0", n)
	}
	verdict := scenario.CompareLog(t, l.Seen, scenario.Export(t, g, reader))
	verdict.CheckSums(t, scenario.SpendingOf(t, g, reader, k.ID))
	checkOrder(t, db, l.Seen)
	return fmt.Sprintf("%s; %d failed; %s; all delivered %.1f s after the load", verdict, failed, strings.Join(figures, ", "), late.Seconds())
}

// watchReadiness counts how often readyz is not 200, until end is closed.
func watchReadiness(t testing.TB, g *harness.Gateway, end <-chan struct{}) <-chan int {
	t.Helper()
	counted := make(chan int, 1)
	go func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; {
			select {
			case <-end:
				counted <- n
				return
			case <-tick.C:
			}
			if readiness(t, g) != http.StatusOK {
				n++
			}
		}
	}()
	return counted
}

// checkOrder checks the transactions in which entries were stored: an entry that ended before another one began must
// not be stored later.
func checkOrder(t *testing.T, db *sql.DB, seen []scenario.Transcript) {
	t.Helper()
	known := map[string]scenario.Transcript{}
	for _, s := range seen {
		known[s.ID] = s
	}
	rows, err := db.QueryContext(t.Context(), `select id, xmin::text::bigint from requests order by 2`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var latest, before time.Time // latest start in this transaction and in all earlier ones
	last, wrong := int64(0), 0
	for rows.Next() {
		var id string
		var transaction int64
		if err := rows.Scan(&id, &transaction); err != nil {
			t.Fatal(err)
		}
		if transaction != last {
			last, before = transaction, latest
		}
		s, ok := known[id]
		if ok && s.Ended.Before(before) {
			wrong++
		}
		if ok && s.Began.After(latest) {
			latest = s.Began
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if wrong > 0 {
		t.Errorf("%d entries were stored after entries of later requests, want 0", wrong)
	}
}

// databaseAbsent is fault case F04: a gateway that starts without its database keeps running, reports that it is not ready, and
// becomes ready by itself.
func databaseAbsent(t *testing.T, size scenario.Size) string {
	d := newDatabase(t)
	g := harness.Start(t, harness.Options{Config: d.config(t, 1), Early: true})
	absent := time.Duration(size.Of(1, 10)) * time.Second
	checkStarting(t, g, "absent", absent)

	restore := d.proxy.Hang(t)
	d.Start(t)
	checkStarting(t, g, "hung", absent)
	restore()
	took := within(t, 5*time.Second, "the gateway is ready after the database started", func() bool { return readiness(t, g) == http.StatusOK })
	k := g.Key(t, "--budget", "100000", "--period", "total")
	if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("plain")}); a.Status != http.StatusOK {
		t.Errorf("the first request: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
	}
	starts := size.Of(3, 10)
	for range starts {
		firstRequest(t, d, g, k)
	}
	d.proxy.Stop()
	without := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("plain")})
	if without.Status != http.StatusOK {
		t.Errorf("request with a known key without the database: status %d, want 200: %s", without.Status, scenario.Clip(without.Body))
	}
	harness.Eventually(t, "the log reports that entries stay in the queue", func() bool { return strings.Contains(g.Log(), "entries cannot be delivered; they stay in the queue") })
	if status := readiness(t, g); status != http.StatusOK {
		t.Errorf("readyz returned %d without the database, want 200", status)
	}
	d.proxy.Up(t)
	reader := g.Key(t, "--scopes", "read")
	harness.Eventually(t, "the entry of the request during the outage is stored", func() bool {
		// The first statements after an outage may still use broken connections.
		return g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/requests/" + without.Header.Get("X-Request-Id"), Key: reader}).Status == http.StatusOK
	})
	return fmt.Sprintf("absent and hung for %s each; ready %.1f s after it responded; first request served after each of %d starts", absent, took.Seconds(), starts)
}

// firstRequest restarts the gateway while the database is absent. The first request after /readyz has returned 200 must be served.
func firstRequest(t *testing.T, d *database, g *harness.Gateway, k string) {
	t.Helper()
	g.Stop(t)
	d.proxy.Stop()
	g.Restart(t)
	d.proxy.Up(t)
	for deadline := time.Now().Add(30 * time.Second); readiness(t, g) != http.StatusOK; {
		if time.Now().After(deadline) {
			t.Fatal("the gateway is not ready within 30 s of the return of the database")
		}
	}
	if a := g.Call(t, harness.Request{Key: k, Body: scenario.Chat("plain")}); a.Status != http.StatusOK {
		t.Errorf("request immediately after readyz returned 200: status %d, want 200: %s", a.Status, scenario.Clip(a.Body))
	}
}

// checkStarting checks a gateway that waits for its database.
func checkStarting(t *testing.T, g *harness.Gateway, what string, lasts time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(lasts); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/livez"}); a.Status != http.StatusOK {
			t.Fatalf("%s: livez returned %d, want 200", what, a.Status)
		}
		if status := readiness(t, g); status != http.StatusServiceUnavailable {
			t.Fatalf("%s: readyz returned %d, want 503", what, status)
		}
		scenario.WantError(t, what, g.Call(t, harness.Request{Key: "fl_x", Body: scenario.Chat("plain")}), http.StatusServiceUnavailable, "LEDGER_UNAVAILABLE")
	}
}

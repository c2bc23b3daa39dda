package stores

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/cluster/redistest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// replicaKilled is fault case F02: one of two replicas on PostgreSQL and Redis is killed. The other is not affected, the entries
// are complete once the killed replica is back, its holds are released, and its periodic tasks continue on the other
// replica.
func replicaKilled(t *testing.T, size scenario.Size) string {
	d := newDatabase(t)
	d.Start(t)
	config := d.config(t, size.Of(10, 40), "redis: "+redistest.Own(t).URL())
	var pair []*harness.Gateway
	for range 2 {
		pair = append(pair, harness.Start(t, harness.Options{Config: config}))
	}
	reader, k := pair[0].Key(t, "--scopes", "read"), pair[0].NewKey(t, "--budget", "100000", "--period", "total")
	var loads []*scenario.Load
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, g := range pair {
		harness.Eventually(t, "the replica accepts the key", func() bool {
			return g.Call(t, harness.Request{Key: k.Text, Body: scenario.Chat("plain")}).Status == http.StatusOK
		})
		l := &scenario.Load{Gateway: g, Client: scenario.Client(t), Key: k.Text}
		l.Start(ctx, size.Of(40, 250), size.Of(8, 100))
		loads = append(loads, l)
	}
	time.Sleep(time.Duration(size.Of(2, 5)) * time.Second) // wait until many requests are running

	victim := 0
	if leads(pair[1]) {
		victim = 1 // kill the leader, whose periodic tasks the other replica must take over
	}
	survivor := 1 - victim
	pair[victim].Kill(t)
	killed := time.Now()
	time.Sleep(time.Duration(size.Of(2, 10)) * time.Second) // the other replica runs alone
	within(t, 20*time.Second, "the other replica is the leader", func() bool { return leads(pair[survivor]) })
	taken := time.Since(killed)
	stop()
	for _, l := range loads {
		l.Running.Wait()
	}
	within(t, time.Minute-time.Since(killed), "the holds of the killed replica are released", func() bool {
		return scenario.Nano(t, scenario.SpendingOf(t, pair[survivor], reader, k.ID).Budget.Held) == 0
	})
	freed := time.Since(killed)

	pair[victim].Restart(t)
	for _, g := range pair {
		scenario.Settled(t, g, reader)
	}
	failed := 0
	for _, s := range loads[survivor].Seen {
		if !s.Complete || s.Status != http.StatusOK {
			failed++
			t.Errorf("a request to the other replica failed: %+v", s)
		}
	}
	for i := range loads { // each load numbers its sessions separately
		for j := range loads[i].Seen {
			loads[i].Seen[j].Session = ""
		}
	}
	rows := slices.DeleteFunc(scenario.Export(t, pair[survivor], reader), func(r scenario.Row) bool { return r.Session == "" }) // omits the requests that tested whether the key is known
	verdict := judgeByID(t, slices.Concat(loads[0].Seen, loads[1].Seen), rows)
	return fmt.Sprintf("%s; other replica: %d failed of %d; holds free %.1f s and leadership taken over %.1f s after the kill",
		verdict, failed, len(loads[survivor].Seen), freed.Seconds(), taken.Seconds())
}

// leads reports whether a gateway was elected as leader.
func leads(g *harness.Gateway) bool { return strings.Contains(g.Log(), "became the leader") }

// judgeByID compares the responses of several replicas with the log, by request ID.
func judgeByID(t *testing.T, seen []scenario.Transcript, rows []scenario.Row) scenario.Verdict {
	t.Helper()
	var v scenario.Verdict
	log := map[string]int{}
	for _, r := range rows {
		log[r.ID]++
		if r.Outcome == "interrupted" {
			v.Interrupted++
		}
	}
	for _, s := range seen {
		if s.Complete {
			v.Complete++
		} else if !s.Unsent {
			v.Cut++
		}
		if s.ID == "" {
			continue
		}
		if log[s.ID] == 0 {
			v.Lost++
			t.Errorf("the log has no entry for %+v", s)
		}
		v.Twice += max(0, log[s.ID]-1)
	}
	if v.Twice > 0 || len(rows) > v.Complete+v.Cut {
		t.Errorf("%d entries are in the log twice, and the log has %d entries for %d requests", v.Twice, len(rows), v.Complete+v.Cut)
	}
	return v
}

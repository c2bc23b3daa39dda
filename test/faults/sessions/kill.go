package sessions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// killedSessions is fault case F62: the gateway is killed again and again while agents send the turns of their sessions. Every turn that a
// client received completely is stored completely, and every session lists its turns in order.
func killedSessions(t *testing.T, size scenario.Size) string {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 62))
	url := harness.Serve(t, &answering{pause: 20 * time.Millisecond})
	g := harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", BaseURL: url + "/v1", Models: []harness.Model{harness.Chat("plain", 0.4, 1.6, 0.5)},
	}})})
	reader, key := g.Key(t, "--scopes", "manage"), g.Key(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	runs := make([]*run, 0, 6)
	var running sync.WaitGroup
	for i := range cap(runs) {
		format := outlinetest.Formats()[i%3]
		r := &run{agent: agent{g, scenario.Client(t), key, "", format}, name: fmt.Sprintf("killed-%d", i), seed: seed + uint64(i), delivered: map[string][]turn{}}
		runs = append(runs, r)
		running.Go(func() { r.loop(ctx) })
	}
	kills := size.Of(3, 50)
	for range kills {
		time.Sleep(time.Duration(300+draw.IntN(900)) * time.Millisecond) // the process is killed at a random moment
		g.Kill(t)
		g.Restart(t)
	}
	stop()
	running.Wait()
	scenario.Settled(t, g, reader)
	g.Restart(t) // the gateway now reads all data from disk

	turns, sessions, cut := 0, 0, 0
	for _, r := range runs {
		cut += r.cut
		for session, delivered := range r.delivered {
			sessions++
			turns += len(delivered)
			checkSession(t, g, reader, session, delivered)
		}
	}
	if turns < kills {
		t.Errorf("%d turns were delivered, want at least %d", turns, kills)
	}
	return fmt.Sprintf("%d kills, %d turns cut; %d delivered turns of %d sessions all whole; seed %d", kills, cut, turns, sessions, seed)
}

// checkSession checks that every delivered turn is stored completely and that the session lists the turns in the order of sending.
func checkSession(t *testing.T, g *harness.Gateway, reader, session string, delivered []turn) {
	t.Helper()
	listed := turnsOf(t, g, reader, session)
	if listed.Gone != 0 {
		t.Errorf("%s: %d turns are gone, want 0", session, listed.Gone)
	}
	next := 0
	for i, one := range listed.Turns {
		if one.Number != i+1 {
			t.Errorf("%s: turn %d has the number %d", session, i+1, one.Number)
		}
		if next < len(delivered) && one.ID == delivered[next].id {
			next++
		}
	}
	if next != len(delivered) {
		t.Errorf("%s: %d of %d delivered turns are listed in order", session, next, len(delivered))
	}
	for _, d := range delivered {
		d.check(t, g, reader)
	}
}

// run is an agent that runs one session after the other until it is stopped. It sends an interrupted turn again.
type run struct {
	agent
	name      string
	seed      uint64
	delivered map[string][]turn // delivered turns by session
	cut       int
}

func (r *run) loop(ctx context.Context) {
	for n := uint64(0); ctx.Err() == nil; n++ {
		r.session = fmt.Sprintf("%s-%d", r.name, n)
		todo := bodies(outlinetest.Session{Format: r.format, Turns: 30, Growth: 2500, Seed: r.seed + 100*n})
		for len(todo) > 0 && ctx.Err() == nil {
			got, err := r.attempt(context.WithoutCancel(ctx), todo[0])
			switch {
			case err == nil && got.status == http.StatusOK:
				r.delivered[r.session] = append(r.delivered[r.session], got.turn)
				todo = todo[1:]
			case err == nil && !slices.Contains([]string{"LEDGER_UNAVAILABLE", "SERVER_SHUTDOWN"}, got.failure.Code):
				r.delivered[r.session] = append(r.delivered[r.session], got.turn) // an unexpected answer has no marker and fails the check
				todo = todo[1:]
			default:
				r.cut++
				time.Sleep(20 * time.Millisecond) // wait in real time until the gateway is up
			}
		}
	}
}

func (r *run) attempt(ctx context.Context, body []byte) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return r.send(ctx, body)
}

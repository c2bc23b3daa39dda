package ledger

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/cluster/redistest"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

func TestMain(m *testing.M) {
	code := redistest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// deployment is a set of replicas with one Redis and one database.
type deployment struct {
	server  *redistest.Server
	cuts    []*cut
	links   []*cluster.Client
	ledgers []*Shared

	mu      sync.Mutex
	charged map[string]money.Amount
	away    bool
}

var errDatabase = errors.New("database unavailable")

func newDeployment(t *testing.T, n int) *deployment {
	t.Helper()
	d := &deployment{server: redistest.Own(t), charged: map[string]money.Amount{}}
	for range n {
		d.join(t)
	}
	d.beat(t)
	return d
}

// join adds a replica that has not sent a heartbeat yet.
func (d *deployment) join(t *testing.T) {
	t.Helper()
	client, way := d.server.Client(t), &cut{}
	client.AddHook(way)
	d.cuts = append(d.cuts, way)
	link := cluster.New(client, cluster.Options{Budget: 5 * time.Second, Settling: time.Nanosecond})
	d.links = append(d.links, link)
	s := NewShared(link, Options{Spent: d.spent, LoadRetry: time.Nanosecond})
	s.outageWait = 50 * time.Millisecond
	s.wait = 0
	d.ledgers = append(d.ledgers, s)
}

// duringSettlement runs f once, before a replica's next settlement reaches Redis.
func (d *deployment) duringSettlement(i int, f func()) {
	d.cuts[i].before = func(cmd redis.Cmder) {
		if args := cmd.Args(); f != nil && len(args) > 1 && args[1] == settleScript.Hash() {
			run := f
			f = nil
			run()
		}
	}
}

func (d *deployment) spent(_ context.Context, id string, _ time.Time) (money.Amount, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.away {
		return 0, errDatabase
	}
	return d.charged[id], nil
}

// settle charges a hold and writes its entry to the database.
func (d *deployment) settle(i int, h *Hold, b Budget, cost money.Amount) {
	h.Settle(cost)
	d.mu.Lock()
	d.charged[b.ID] += cost
	d.mu.Unlock()
	d.ledgers[i].Delivered(b.ID, time.Now(), cost)
	d.ledgers[i].flush(context.Background())
}

func (d *deployment) beat(t *testing.T) {
	t.Helper()
	for range 2 {
		for _, l := range d.links {
			if !l.AwaitReady(t.Context(), 10*time.Second) {
				t.Fatal("Redis did not become ready")
			}
		}
	}
}

func (d *deployment) hold(t *testing.T, i int, b Budget, amount money.Amount) *Hold {
	t.Helper()
	h, err := d.ledgers[i].Hold(t.Context(), []Budget{b}, amount)
	if err != nil {
		t.Fatalf("Hold on replica %d: %v", i, err)
	}
	return h
}

func (d *deployment) rejects(t *testing.T, i int, kind llm.Kind, b Budget, amount money.Amount) {
	t.Helper()
	_, err := d.ledgers[i].Hold(t.Context(), []Budget{b}, amount)
	if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != kind {
		t.Fatalf("Hold on replica %d: %v, want %s", i, err, kind)
	}
}

func total(amount money.Amount) Budget {
	return Budget{ID: "key:key_1", Name: "ci", Amount: amount, Period: Total}
}

func TestThousandConcurrentHoldsOnThreeReplicas(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 3)
	b, ws := total(10*cent), Budget{ID: "ws:ws_1", Name: "Acme", Amount: money.Dollar, Period: Monthly}
	ctx, cancel := context.WithCancel(t.Context())
	var running, all sync.WaitGroup
	for i := range d.ledgers {
		d.ledgers[i].outageWait = 5 * time.Second // the wait is generous for slow machines
		running.Go(func() { d.ledgers[i].Run(ctx) })
		running.Go(func() { d.links[i].Run(ctx) })
	}
	var admitted atomic.Int64
	for n := range 1000 {
		all.Go(func() {
			h, err := d.ledgers[n%3].Hold(t.Context(), []Budget{b, ws}, cent/10)
			if err == nil {
				admitted.Add(1)
				h.Settle(cent / 10)
				h.Settle(cent) // only the first call of Settle counts
			}
		})
	}
	all.Wait()
	d.beat(t) // in the first round every replica writes its sums, in the second it reads the sums of the others
	for i := range d.ledgers {
		s, w := d.ledgers[i].Status(b), d.ledgers[i].Status(ws)
		if admitted.Load() != 100 || s.Spent != 10*cent || s.Held != 0 || w.Spent != 10*cent || w.Held != 0 {
			t.Errorf("admitted %d; replica %d: %+v and %+v; want 100 admitted and 0.10 spent", admitted.Load(), i, s, w)
		}
	}
	for n := range 30 {
		d.hold(t, n%3, ws, cent/10).Settle(cent / 10)
	}
	cancel()
	running.Wait()
	// Replicas that have ended do not read from Redis, so check the sums with a new replica.
	d.join(t)
	d.beat(t)
	if s, w := d.ledgers[3].Status(b), d.ledgers[3].Status(ws); s.Spent != 10*cent || s.Held != 0 || w.Spent != 13*cent || w.Held != 0 {
		t.Errorf("a new replica reports %+v and %+v; want 0.10 and 0.13 spent", s, w)
	}
}

// Run and the heartbeat send settlements at the same time.
func TestConcurrentSendersSettleEachHoldOnce(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	b := total(money.Dollar)
	d.hold(t, 0, b, 50*cent) // the hold is not settled
	h := d.hold(t, 0, b, 50*cent)
	s := d.ledgers[0]
	h.Settle(10 * cent)
	second := false
	d.duringSettlement(0, func() {
		s.flush(t.Context())
		second = true
	})
	s.flush(t.Context())
	if !second {
		t.Fatal("no settlement was sent")
	}
	d.ledgers[1].outageWait = time.Nanosecond
	d.rejects(t, 1, llm.RateLimited, b, 41*cent)
	for i := range d.ledgers {
		if s := d.ledgers[i].Status(b); s.Spent != 10*cent || s.Held != 50*cent {
			t.Errorf("replica %d: %s spent and %s held, want 0.10 and 0.50", i, s.Spent, s.Held)
		}
	}
}

// A settlement made while another one is in flight is sent by the next call, with its own amount only.
func TestSettlementDuringACallIsSentOnce(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	b := total(money.Dollar)
	first, second := d.hold(t, 0, b, 40*cent), d.hold(t, 0, b, 50*cent)
	s := d.ledgers[0]
	first.Settle(10 * cent)
	d.duringSettlement(0, func() {
		second.Settle(20 * cent)
		s.flush(t.Context())
	})
	s.flush(t.Context())
	d.hold(t, 1, b, 0).Release()
	for i := range d.ledgers {
		if s := d.ledgers[i].Status(b); s.Spent != 30*cent || s.Held != 0 {
			t.Errorf("replica %d: %s spent and %s held, want 0.30 and 0", i, s.Spent, s.Held)
		}
	}
	if one := s.budgets[b.ID]; !one.idle() || one.sendingFreed != 0 || one.sendingCost != 0 {
		t.Errorf("unsent: %s and %s, in flight: %s and %s; want 0", one.unsentFreed, one.unsentCost, one.sendingFreed, one.sendingCost)
	}
}

// An edit of the period drops the amounts of a settlement in flight. The reply must not subtract them again.
func TestEditDuringASettlementKeepsTheSums(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 1)
	b := total(money.Dollar)
	h := d.hold(t, 0, b, 50*cent)
	s := d.ledgers[0]
	h.Settle(10 * cent)
	edited := b
	edited.Period = Monthly
	d.duringSettlement(0, func() {
		if _, err := s.states([]Budget{edited}); err != nil {
			t.Error(err)
		}
	})
	s.flush(t.Context())
	if one := s.budgets[b.ID]; one.unsentFreed != 0 || one.unsentCost != 0 {
		t.Errorf("unsent after the edit: %s and %s, want 0", one.unsentFreed, one.unsentCost)
	}
	d.beat(t)
	if s := s.Status(edited); s.Spent != 10*cent || s.Held != 0 {
		t.Errorf("%s spent and %s held after the edit, want 0.10 and 0", s.Spent, s.Held)
	}
}

// An update whose outcome is unknown is sent again and counts once.
func TestUpdateWithLostReplyCountsOnce(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	b := total(money.Dollar)
	h := d.hold(t, 0, b, 10*cent)
	state := d.ledgers[0].budgets[b.ID]
	state.outcomeUnknown = true // simulates a lost reply
	second := d.hold(t, 0, b, 10*cent)
	h.Settle(7 * cent)
	d.ledgers[0].flush(t.Context())
	state.outcomeUnknown = true
	d.ledgers[0].flush(t.Context())
	second.Settle(cent)
	d.beat(t)
	d.hold(t, 1, b, 0).Release()
	if s := d.ledgers[1].Status(b); s.Spent != 8*cent || s.Held != 0 {
		t.Errorf("the other replica reports %s spent and %s held, want 0.08 and 0", s.Spent, s.Held)
	}
}

func TestLosingRedisNeverLowersSpending(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 3)
	b := total(money.Dollar)
	for i := range 3 {
		d.settle(i, d.hold(t, i, b, 20*cent), b, 20*cent)
	}
	d.beat(t)
	open := d.hold(t, 1, b, 30*cent)
	d.server.Kill()
	d.server.Start(t)
	d.beat(t)
	_, err := d.ledgers[0].Hold(t.Context(), []Budget{b}, 11*cent)
	// The error is LedgerUnavailable while the most recent charges may be counted twice, and RateLimited once the sum
	// is exact.
	if e, ok := errors.AsType[*llm.Error](err); !ok || (e.Kind != llm.LedgerUnavailable && e.Kind != llm.RateLimited) {
		t.Errorf("Hold: %v, want LedgerUnavailable or RateLimited", err)
	}
	open.Release()
	d.ledgers[1].flush(t.Context())
	for i := range d.ledgers { // the most recent charges may count twice for a while, but always at least once
		if s := d.ledgers[i].Status(b); s.Spent < 60*cent {
			t.Errorf("replica %d reports %s spent, want at least 0.60", i, s.Spent)
		}
	}
}

// Without Redis, each replica spends its local allowance, then shares of the remaining budget according to the
// database. Without Redis and the database, it spends only its allowance.
func TestLocalAllowancesWhileRedisIsUnavailable(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	b := total(money.Dollar)
	for i := range 2 {
		d.settle(i, d.hold(t, i, b, cent), b, cent)
	}
	d.beat(t)
	d.server.Kill()
	spent := 2 * cent
	use := func() (n int) {
		for range 1000 {
			for i := range 2 {
				d.ledgers[i].refillAllowances(t.Context())
				h, err := d.ledgers[i].Hold(t.Context(), []Budget{b}, cent)
				if err != nil {
					continue
				}
				d.settle(i, h, b, cent)
				spent += cent
				n++
			}
			if spent > money.Dollar {
				t.Fatalf("spent %s of a budget of one dollar", spent)
			}
		}
		return n
	}
	for i := range d.ledgers {
		d.ledgers[i].outageWait = time.Nanosecond
	}
	first := use()
	if first < 10 || first > 30 {
		t.Errorf("%d requests from the local allowance, want about an eighth of the remaining budget each", first)
	}
	d.rejects(t, 0, llm.LedgerUnavailable, b, cent)

	for i := range d.ledgers {
		d.ledgers[i].askEvery = time.Nanosecond // simulates a long outage of Redis
	}
	if n := use(); n == 0 || spent > money.Dollar {
		t.Errorf("%d more requests from shares, %s spent in total; want at least one, and at most a dollar", n, spent)
	}
	d.mu.Lock()
	d.away = true
	d.mu.Unlock()
	unknown := Budget{ID: "key:other", Name: "other", Amount: money.Dollar, Period: Total}
	d.rejects(t, 0, llm.LedgerUnavailable, unknown, cent)

	d.mu.Lock()
	d.away = false
	d.mu.Unlock()
	d.server.Start(t)
	d.beat(t)
	for i := range d.ledgers {
		if s := d.ledgers[i].Status(b); s.Spent < spent {
			t.Errorf("replica %d reports %s spent after Redis returned, want at least %s", i, s.Spent, spent)
		}
	}
}

func TestAllowanceOfAnotherReplicaIsReturned(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	b := total(money.Dollar)
	for i := range 2 {
		d.hold(t, i, b, 0).Release()
	}
	d.beat(t) // both replicas have a local allowance now
	if d.ledgers[0].budgets[b.ID].localAllowance == 0 || d.ledgers[1].budgets[b.ID].localAllowance == 0 {
		t.Fatal("a replica has no local allowance")
	}
	d.hold(t, 0, b, 70*cent)
	d.ledgers[0].outageWait = time.Nanosecond
	d.rejects(t, 0, llm.LedgerUnavailable, b, 30*cent) // a part of the budget is allocated to the other replica, which is asked to return it
	d.beat(t)
	d.hold(t, 0, b, 30*cent)
	d.rejects(t, 1, llm.RateLimited, b, 1)
}

// A hold may exceed both of its budgets because of allowances of another replica. One heartbeat must return the money
// of both budgets. Found by TestSharedLedgerAgainstModel with seed 17651678617853182069.
func TestOneHeartbeatReturnsAllowancesOfAllBudgets(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 3)
	k := Budget{ID: "key:key_1", Name: "ci", Amount: 50, Period: Weekly}
	ws := Budget{ID: "ws:ws_1", Name: "Acme", Amount: 1000, Period: Total}
	if _, err := d.ledgers[0].Hold(t.Context(), []Budget{k, ws}, 36); err != nil {
		t.Fatal(err)
	}
	ws.Amount = 47 // an edit that only replica 1 has seen
	d.ledgers[1].outageWait = time.Nanosecond
	if _, err := d.ledgers[1].Hold(t.Context(), []Budget{k, ws}, 11); llm.AsError(err).Kind != llm.LedgerUnavailable {
		t.Fatalf("Hold: %v, want LedgerUnavailable while replica 0 holds the rest as its allowance", err)
	}
	d.beat(t)
	if _, err := d.ledgers[1].Hold(t.Context(), []Budget{k, ws}, 11); err != nil {
		t.Errorf("Hold after a heartbeat: %v, want no error with 14 and 11 left", err)
	}
}

// One replica is disconnected, possibly during a call. It spends its allowance and the other replica spends the
// remainder: together no more than the budget.
func TestReplicaDisconnectedFromRedis(t *testing.T) {
	t.Parallel()
	for name, deaf := range map[string]bool{"between calls": false, "before an answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t, 2)
			b := total(money.Dollar)
			for i := range 2 {
				d.ledgers[i].outageWait = time.Nanosecond
				d.hold(t, i, b, 0).Release()
			}
			d.beat(t)
			if d.ledgers[0].budgets[b.ID].localAllowance < 5*cent {
				t.Fatal("the replica has too small an allowance before it is disconnected")
			}
			spent := money.Amount(0)
			use := func(i int) {
				for range 200 {
					if h, err := d.ledgers[i].Hold(t.Context(), []Budget{b}, cent); err == nil {
						h.Settle(cent)
						d.ledgers[i].flush(t.Context())
						spent += cent
					}
				}
			}
			use(1) // spends everything except the allowance of the other replica
			if deaf {
				d.cuts[0].deaf.Store(true) // the reply with a smaller allowance is lost
				one := d.ledgers[0].budgets[b.ID]
				if err := d.ledgers[0].writeState(t.Context(), one, one.baseID); !errors.Is(err, cluster.ErrUnavailable) {
					t.Fatal(err)
				}
			}
			d.cuts[0].deaf.Store(false)
			d.cuts[0].down.Store(true)
			if d.links[0].Beat(t.Context()) == nil {
				t.Fatal("a heartbeat succeeded without a connection")
			}
			use(1)
			use(0)
			if spent > money.Dollar || spent < 80*cent {
				t.Errorf("spent %s of a budget of one dollar", spent)
			}
		})
	}
}

// One replica cannot reach Redis for longer than its lease, but reaches the database. The other replica spends the remaining budget
// in Redis. The disconnected replica must therefore take no share of the remaining budget, and must stop spending its allowance
// after its lease.
func TestReplicaDisconnectedBeyondItsLease(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	b := total(money.Dollar)
	spent := money.Amount(0)
	use := func(i int) {
		for range 200 {
			d.ledgers[i].refillAllowances(t.Context())
			if h, err := d.ledgers[i].Hold(t.Context(), []Budget{b}, cent); err == nil {
				d.settle(i, h, b, cent)
				spent += cent
			}
		}
	}
	for i := range 2 {
		d.ledgers[i].outageWait, d.ledgers[i].askEvery = time.Nanosecond, time.Nanosecond
		d.ledgers[i].o.OthersReachRedis = func(context.Context) (bool, error) { return true, nil }
		d.hold(t, i, b, 0).Release()
	}
	d.beat(t)
	cutOff := d.ledgers[0].budgets[b.ID]
	if cutOff.localAllowance < 5*cent {
		t.Fatal("the replica has too small an allowance before it is disconnected")
	}
	d.cuts[0].down.Store(true)
	if d.links[0].Beat(t.Context()) == nil {
		t.Fatal("a heartbeat succeeded without a connection")
	}
	use(0)
	alone := spent
	use(1)
	if spent > money.Dollar || alone == 0 || alone > 20*cent {
		t.Errorf("spent %s of a dollar, %s of it while disconnected", spent, alone)
	}
	// The replica's lease ends. Its allowance was spent and must not be released before the charges are counted.
	client := d.server.Client(t)
	if err := client.ZRem(t.Context(), d.links[1].Members(), d.links[0].ID()).Err(); err != nil {
		t.Fatal(err)
	}
	use(1)
	if spent > money.Dollar {
		t.Errorf("spent %s of a dollar after the lease", spent)
	}
	if err := d.links[1].Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	use(1)
	if spent > money.Dollar || spent < 97*cent {
		t.Errorf("spent %s of a dollar after a heartbeat, want all of it", spent)
	}
	cutOff.localAllowance = 5 * cent
	cutOff.dropBeforeLeaseEnds(time.Now().Add(-d.links[0].Lease()), d.links[0].Lease())
	if cutOff.localAllowance != 0 {
		t.Error("the allowance can be spent after the lease ended")
	}
}

// After Redis lost its data, a replica may count charges twice: in its own sum and in the base. It must neither lose a charge that is not in
// the database yet, nor report the budget as exhausted, even while it cannot reach Redis. The database then determines the correct sum.
func TestChargesSurviveLossOfRedisAndNeverExhaustABudget(t *testing.T) {
	t.Parallel()
	for _, delivered := range []money.Amount{0, 60 * cent} { // replica 2 has not recorded yet that its charge is in the database
		d := newDeployment(t, 3)
		b := total(money.Dollar)
		d.hold(t, 0, b, 0).Release() // this replica will be the first to call Redis
		d.hold(t, 2, b, 60*cent).Settle(60 * cent)
		d.ledgers[2].flush(t.Context())
		d.charged[b.ID] = delivered
		d.beat(t)
		d.server.Kill()
		d.server.Start(t)
		for range 2 { // before replica 2 sends its charge again
			if !d.links[0].AwaitReady(t.Context(), 10*time.Second) {
				t.Fatal("Redis did not become ready")
			}
			if s := d.ledgers[0].Status(b); s.Spent < 60*cent {
				t.Errorf("after one heartbeat, status reports %s spent, want at least 0.60", s.Spent)
			}
		}
		d.beat(t)
		d.rejects(t, 0, llm.LedgerUnavailable, b, 50*cent) // the charge may be in the database by now, so spending is recounted
		if s := d.ledgers[0].Status(b); s.Spent < 60*cent {
			t.Errorf("status reports %s spent, want at least 0.60", s.Spent)
		}
		if delivered == 0 {
			continue
		}
		d.rejects(t, 2, llm.LedgerUnavailable, b, 30*cent)
		d.server.Kill()
		for i := range d.links {
			if d.links[i].Beat(t.Context()) == nil {
				t.Fatal("a heartbeat succeeded without Redis")
			}
			d.rejects(t, i, llm.LedgerUnavailable, b, 30*cent)
		}
	}
}

// An update of an earlier generation is ignored.
func TestUpdateOfEarlierGenerationIsIgnored(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 1)
	b := total(money.Dollar)
	d.hold(t, 0, b, cent)
	s, one := d.ledgers[0], d.ledgers[0].budgets[b.ID]
	if err := s.writeState(t.Context(), one, one.baseID); err != nil {
		t.Fatal(err)
	}
	states := []*budgetState{one}
	one.generation--
	got, err := s.callHold(t.Context(), states, cent)
	one.generation++
	if err != nil || got.status != "unknown" {
		t.Errorf("a hold of an older generation returned status %q, %v; want unknown", got.status, err)
	}
	one.unsentFreed, one.generation = cent, one.generation-1
	err = s.sendUpdates(t.Context(), one)
	one.generation++
	if err != nil || !one.outcomeUnknown {
		t.Errorf("a settlement of an older generation: %v, outcome unknown = %t; want true", err, one.outcomeUnknown)
	}
}

func TestReplicasWithDifferentClocksShareWindow(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	b := Budget{ID: "key:key_1", Name: "ci", Amount: money.Dollar, Period: Daily}
	early, late := at(t, "2026-11-30T23:59:00Z"), at(t, "2026-12-01T00:01:00Z")
	d.ledgers[0].o.Now, d.ledgers[1].o.Now = func() time.Time { return late }, func() time.Time { return early }
	d.hold(t, 1, b, 30*cent).Release()
	d.hold(t, 0, b, 60*cent) // the new day has begun at this replica
	d.rejects(t, 1, llm.RateLimited, b, 50*cent)
	if s := d.ledgers[1].Status(b); !s.Start.Equal(at(t, "2026-12-01T00:00:00Z")) {
		t.Errorf("the window of the replica whose clock is behind starts at %s, want 2026-12-01", s.Start)
	}
}

// A replica that has not used a budget also reports its status, because the dashboard may query any replica.
func TestStatusOfABudgetThatOnlyOthersUse(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	b := total(money.Dollar)
	d.settle(0, d.hold(t, 0, b, 30*cent), b, 20*cent)
	d.hold(t, 0, b, 10*cent)
	d.beat(t)
	if s := d.ledgers[1].Status(b); !s.Loaded || s.Spent != 20*cent || s.Held != 10*cent {
		t.Errorf("status of the other replica is %+v, want 0.20 spent and 0.10 held", s)
	}
}

// Two clocks are five minutes ahead and behind, and one is set back by an hour during the test. The replicas share one
// window, and spending counts once.
func TestSharedBudgetSurvivesClockSteps(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 3)
	b := Budget{ID: "key:key_1", Name: "ci", Amount: money.Dollar, Period: Daily}
	skews := []time.Duration{5 * time.Minute, -5 * time.Minute, 0}
	now := at(t, "2026-11-30T23:52:00Z")
	for i := range d.ledgers {
		d.ledgers[i].o.Now = func() time.Time { return now.Add(skews[i]) }
	}
	spend := func() (cents int) {
		for i := range 300 {
			if h, err := d.ledgers[i%3].Hold(t.Context(), []Budget{b}, cent); err == nil {
				d.settle(i%3, h, b, cent)
				cents++
			}
		}
		return cents
	}
	if n := spend(); n > 100 || n < 60 { // a part may briefly be reserved for other replicas
		t.Errorf("%d cents of a dollar were spent, want 60 to 100", n)
	}
	now = now.Add(20 * time.Minute) // the new day has begun for all
	d.mu.Lock()
	d.charged[b.ID] = 0 // the sum in the database since the start of the window
	d.mu.Unlock()
	first := spend()
	skews[0] -= time.Hour
	d.beat(t)
	if n := first + spend(); n > 100 || first < 60 {
		t.Errorf("%d cents of a dollar were spent in the new day, %d of them before a clock was set back", n, first)
	}
	for i := range d.ledgers {
		if s := d.ledgers[i].Status(b); s.Held != 0 || !s.Start.Equal(at(t, "2026-12-01T00:00:00Z")) {
			t.Errorf("replica %d has a window from %s and %s held, want 2026-12-01 and 0", i, s.Start, s.Held)
		}
	}
}

func TestSharedWarningIsReportedOnce(t *testing.T) {
	t.Parallel()
	d := newDeployment(t, 2)
	var warned atomic.Int64
	for i := range d.ledgers {
		d.ledgers[i].o.OnWarn = func(Budget, Status) { warned.Add(1) }
	}
	b := Budget{ID: "key:key_1", Name: "ci", Amount: money.Dollar, Period: Total, WarnPercent: 50, WarnOnly: true}
	for n := range 12 {
		d.settle(n%2, d.hold(t, n%2, b, 10*cent), b, 10*cent) // 1.20 dollars in total, never rejected because of WarnOnly
		d.beat(t)
	}
	if warned.Load() != 1 {
		t.Errorf("warned %d times, want 1", warned.Load())
	}
}

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/cluster/redistest"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// The model keeps every charge and every hold of all replicas. Redis may lose all data or become unavailable, and replicas may
// crash. The replicas never admit more than the budget allows. While Redis keeps its data, they also never admit less.
func TestSharedLedgerAgainstModel(t *testing.T) {
	t.Parallel()
	address := redistest.Start(t)
	rapid.Check(t, func(t *rapid.T) {
		m := newSharedModel(t, address)
		defer m.close()
		t.Repeat(map[string]func(*rapid.T){
			"hold":      m.hold,
			"hold more": m.hold,
			"settle":    m.settle,
			"release":   m.release,
			"deliver":   m.deliver,
			"wait":      m.wait,
			"edit":      m.edit,
			"crash":     m.crash,
			"lose all":  m.loseAll,
			"go away":   m.goAway,
			"come back": m.comeBack,
			"":          m.check,
		})
	})
}

// cut is a connection hook that can drop a command before it is sent, or drop its reply.
type cut struct {
	down, deaf atomic.Bool
	before     func(redis.Cmder) // called before each command is sent; set only while no call is running
}

var errCut = errors.New("cut off")

func (c *cut) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if c.down.Load() {
			return nil, errCut
		}
		return next(ctx, network, address)
	}
}

func (c *cut) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if c.down.Load() {
			return errCut
		}
		if c.before != nil {
			c.before(cmd)
		}
		err := next(ctx, cmd)
		if c.deaf.Load() {
			err = errCut
			cmd.SetErr(err)
		}
		return err
	}
}

func (c *cut) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if c.down.Load() {
			return errCut
		}
		return next(ctx, cmds)
	}
}

type sharedModel struct {
	client    *redis.Client
	cut       *cut
	namespace string
	now       time.Time
	nodes     []*node
	budgets   []Budget
	charges   []*nodeCharge
	exact     bool // whether Redis has every update
}

// node is one replica. Its number and its disk survive a crash.
type node struct {
	number int
	link   *cluster.Client
	ledger *Shared
	holds  []*modelHold
}

type nodeCharge struct {
	charge
	node      int
	settled   time.Time
	delivered bool
}

func newSharedModel(t *rapid.T, address string) *sharedModel {
	client, err := cluster.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	m := &sharedModel{
		client: client, cut: &cut{}, namespace: redistest.Namespace(), exact: true,
		now: time.Date(2026, 3, 28, 20, 0, 0, 0, time.UTC),
		budgets: []Budget{
			{ID: "key:a", Amount: 100, Period: Daily, Zone: "Europe/Berlin"},
			{ID: "key:b", Amount: 50, Period: Weekly},
			{ID: "ws:w", Amount: 1000, Period: Total},
		},
	}
	client.AddHook(m.cut)
	for i := range 3 {
		m.nodes = append(m.nodes, m.start(i))
	}
	m.beat(t)
	return m
}

func (m *sharedModel) close() { _ = m.client.Close() }

func (m *sharedModel) start(number int) *node {
	n := &node{number: number}
	n.link = cluster.New(m.client, cluster.Options{
		Namespace: m.namespace, Budget: 10 * time.Second, Settling: time.Nanosecond, Lease: time.Hour, Seen: 3,
		Now: func() time.Time { return m.now },
	})
	n.ledger = NewShared(n.link, Options{
		Now: func() time.Time { return m.now },
		Spent: func(_ context.Context, id string, since time.Time) (money.Amount, error) {
			return m.sum(id, since, func(c *nodeCharge) bool { return c.delivered || c.node == number }), nil
		},
	})
	n.ledger.wait = 0                     // no other goroutine releases a hold
	n.ledger.outageWait = time.Nanosecond // Redis does not return during the wait
	return n
}

// beat sends two heartbeats of every replica, after which each replica has the updates of the others.
func (m *sharedModel) beat(t *rapid.T) {
	for range 2 {
		for _, n := range m.nodes {
			if !n.link.AwaitReady(t.Context(), 10*time.Second) {
				t.Fatal("Redis did not become ready")
			}
		}
	}
}

func (m *sharedModel) sum(id string, from time.Time, which func(*nodeCharge) bool) money.Amount {
	var sum money.Amount
	for _, c := range m.charges {
		if c.budget == id && !c.at.Before(from) && which(c) {
			sum += c.cost
		}
	}
	return sum
}

func (m *sharedModel) start0(b Budget) time.Time {
	zone, err := time.LoadLocation(b.Zone)
	if err != nil {
		panic(err)
	}
	start, _ := Window(b.Period, zone, m.now)
	return start
}

// taken returns the actual sum of a budget's spending and holds.
func (m *sharedModel) taken(b Budget) money.Amount {
	from := m.start0(b)
	sum := m.sum(b.ID, from, func(*nodeCharge) bool { return true })
	for _, n := range m.nodes {
		for _, h := range n.holds {
			if !h.at.Before(from) && slices.ContainsFunc(h.budgets, func(on Budget) bool { return on.ID == b.ID }) {
				sum += h.amount
			}
		}
	}
	return sum
}

func (m *sharedModel) hold(t *rapid.T) {
	n := m.nodes[rapid.IntRange(0, 2).Draw(t, "replica")]
	amount := money.Amount(rapid.Int64Range(0, 40).Draw(t, "amount"))
	budgets := []Budget{m.budgets[rapid.IntRange(0, 1).Draw(t, "key")], m.budgets[2]}
	fits, exceeded := true, false
	for _, b := range budgets {
		taken, spent := m.taken(b), m.sum(b.ID, m.start0(b), func(*nodeCharge) bool { return true })
		fits = fits && taken < b.Amount && taken+amount <= b.Amount
		exceeded = exceeded || spent >= b.Amount || spent+amount > b.Amount
	}
	h, err := n.ledger.Hold(t.Context(), budgets, amount)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.LedgerUnavailable && !m.cut.down.Load() {
		m.beat(t) // allowances of other replicas are returned with a heartbeat
		h, err = n.ledger.Hold(t.Context(), budgets, amount)
	}
	if e, refused := errors.AsType[*llm.Error](err); err != nil && (!refused || (e.Kind != llm.BudgetExceeded && e.Kind != llm.RateLimited && e.Kind != llm.LedgerUnavailable)) {
		t.Fatal(err)
	}
	if err != nil && m.exact && llm.AsError(err).Kind == llm.BudgetExceeded && !exceeded {
		t.Fatalf("%d exceeds a budget only because of other holds, want a temporary error, got %v; %s", amount, err, m.describe(budgets))
	}
	if err == nil && !fits {
		t.Fatalf("admitted %d beyond the budget: %s", amount, m.describe(budgets))
	}
	if err != nil && fits && m.exact && !m.cut.down.Load() {
		t.Fatalf("rejected %d although it fits the budget: %v; %s", amount, err, m.describe(budgets))
	}
	if err == nil {
		n.holds = append(n.holds, &modelHold{h, m.now, budgets, amount})
	}
}

func (m *sharedModel) describe(budgets []Budget) string {
	var text strings.Builder
	for _, b := range budgets {
		fmt.Fprintf(&text, "%s: taken %d of %d; ", b.ID, m.taken(b), b.Amount)
	}
	return text.String()
}

func (m *sharedModel) take(t *rapid.T) (*node, *modelHold) {
	n := m.nodes[rapid.IntRange(0, 2).Draw(t, "replica")]
	if len(n.holds) == 0 {
		t.Skip("no holds: this step does not apply")
	}
	i := rapid.IntRange(0, len(n.holds)-1).Draw(t, "hold")
	h := n.holds[i]
	n.holds = append(n.holds[:i], n.holds[i+1:]...)
	return n, h
}

func (m *sharedModel) settle(t *rapid.T) {
	n, h := m.take(t)
	cost := money.Amount(rapid.Int64Range(0, int64(h.amount)).Draw(t, "cost"))
	h.hold.Settle(cost)
	for _, b := range h.budgets {
		m.charges = append(m.charges, &nodeCharge{charge: charge{b.ID, h.at, cost}, node: n.number, settled: m.now})
	}
	if m.exact { // a late update can only cause an early rejection
		n.ledger.flush(t.Context())
	}
}

func (m *sharedModel) release(t *rapid.T) {
	n, h := m.take(t)
	h.hold.Release()
	n.ledger.flush(t.Context())
}

// deliver writes a replica's entries to the database.
func (m *sharedModel) deliver(t *rapid.T) {
	m.deliverOf(m.nodes[rapid.IntRange(0, 2).Draw(t, "replica")])
}

func (m *sharedModel) deliverOf(n *node) {
	for _, c := range m.charges {
		if c.node == n.number && !c.delivered {
			c.delivered = true
			n.ledger.Delivered(c.budget, c.at, c.cost)
		}
	}
}

func (m *sharedModel) wait(t *rapid.T) {
	if m.cut.down.Load() {
		t.Skip("Redis is down: new windows start with the local share")
	}
	m.now = m.now.Add(time.Duration(rapid.Int64Range(0, 30*3600).Draw(t, "seconds")) * time.Second)
}

func (m *sharedModel) edit(t *rapid.T) {
	if m.cut.down.Load() {
		t.Skip("Redis is down: shares depend on the earlier balance")
	}
	i := rapid.IntRange(0, 2).Draw(t, "budget")
	m.budgets[i].Amount = money.Amount(rapid.Int64Range(0, 300).Draw(t, "new amount"))
}

// crash loses the holds of a replica. Its charges are on disk and are delivered after the restart.
func (m *sharedModel) crash(t *rapid.T) {
	if m.cut.down.Load() {
		t.Skip("Redis is down: this step does not apply")
	}
	i := rapid.IntRange(0, 2).Draw(t, "replica")
	n := m.nodes[i]
	n.ledger.flush(t.Context())
	if err := m.client.ZRem(t.Context(), n.link.Members(), n.link.ID()).Err(); err != nil { // the lease of the replica has expired
		t.Fatal(err)
	}
	m.nodes[i] = m.start(i)
	m.deliverOf(m.nodes[i])
	m.beat(t)
}

// loseAll empties Redis. Every replica detects the loss with its next heartbeat, before it relies on Redis again.
func (m *sharedModel) loseAll(t *rapid.T) {
	if m.cut.down.Load() {
		t.Skip("Redis is down: this step does not apply")
	}
	m.wipe(t)
	m.exact = false
	m.beat(t)
}

func (m *sharedModel) wipe(t *rapid.T) {
	keys, err := m.client.Keys(t.Context(), "{"+m.namespace+"}*").Result()
	if err == nil && len(keys) > 0 {
		err = m.client.Del(t.Context(), keys...).Err()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *sharedModel) goAway(t *rapid.T) {
	if m.cut.down.Load() {
		t.Skip("Redis is down: this step does not apply")
	}
	m.beat(t) // Redis fails right after a heartbeat
	m.cut.down.Store(true)
	for _, n := range m.nodes {
		if n.link.Beat(t.Context()) == nil {
			t.Fatal("a heartbeat succeeded while Redis is down")
		}
	}
}

func (m *sharedModel) comeBack(t *rapid.T) {
	if !m.cut.down.Load() {
		t.Skip("Redis is up: this step does not apply")
	}
	m.cut.down.Store(false)
	if rapid.Bool().Draw(t, "empty") {
		m.wipe(t)
		m.exact = false
	}
	m.beat(t)
}

func (m *sharedModel) check(t *rapid.T) {
	for _, b := range m.budgets {
		for _, n := range m.nodes {
			s := n.ledger.Status(b)
			if s.Held < 0 || s.Spent < 0 {
				t.Fatalf("%s: spent %d, held %d; want no negative sum", b.ID, s.Spent, s.Held)
			}
		}
	}
}

package limit_test

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/cluster/redistest"
	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/limit/limittest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

// newLink returns a replica connected to Redis. Its timeouts are long, so that the tests pass on a busy machine.
func newLink(t testing.TB, client *redis.Client, namespace string) *cluster.Client {
	t.Helper()
	return cluster.New(client, cluster.Options{Namespace: namespace, Budget: 5 * time.Second, Settling: time.Nanosecond})
}

func join(t testing.TB, links ...*cluster.Client) {
	t.Helper()
	for _, link := range links {
		if !link.AwaitReady(t.Context(), 10*time.Second) {
			t.Fatal("Redis did not become ready")
		}
	}
}

func TestRedis(t *testing.T) {
	t.Parallel()
	client := redistest.Client(t)
	limittest.Run(t, func(t *testing.T, c *limittest.Clock) limit.Limiter {
		link := newLink(t, client, redistest.Namespace())
		limiter := limit.NewRedis(link, c.Now)
		join(t, link)
		return limiter
	}, 0)
}

// fleet is a set of replicas that share a Redis server.
type fleet struct {
	links    []*cluster.Client
	limiters []*limit.Redis
}

func newFleet(t *testing.T, n int, client func() *redis.Client, now func() time.Time) fleet {
	t.Helper()
	var f fleet
	namespace := redistest.Namespace()
	for range n {
		link := newLink(t, client(), namespace)
		f.links, f.limiters = append(f.links, link), append(f.limiters, limit.NewRedis(link, now))
	}
	join(t, f.links...)
	join(t, f.links...) // now every replica has seen all others
	return f
}

func (f fleet) admitted(t *testing.T, l limit.Limits, tries int) int {
	t.Helper()
	n := 0
	for i := range tries {
		if slot, err := f.limiters[i%len(f.limiters)].Take(t.Context(), "key", l, 0); err == nil {
			slot.Release()
			n++
		}
	}
	return n
}

func TestConcurrencyOfADeadReplicaEnds(t *testing.T) {
	t.Parallel()
	client, namespace := redistest.Client(t), redistest.Namespace()
	links := []*cluster.Client{newLink(t, client, namespace), newLink(t, client, namespace)}
	dying, other := limit.NewRedis(links[0], nil), limit.NewRedis(links[1], nil)
	join(t, links...)
	l := limit.Limits{Concurrent: 1}
	if _, err := dying.Take(t.Context(), "key", l, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Take(t.Context(), "key", l, 0); err == nil {
		t.Error("admitted while a request of another replica uses the only slot")
	}
	if err := client.ZRem(t.Context(), links[0].Members(), links[0].ID()).Err(); err != nil { // expires the lease of the replica
		t.Fatal(err)
	}
	if _, err := other.Take(t.Context(), "key", l, 0); err != nil {
		t.Errorf("Take after the lease of the other replica ended: %v", err)
	}
}

// Redis fails in the middle of a minute and restarts without data. The limit is never exceeded.
func TestSharesWhileRedisIsUnavailable(t *testing.T) {
	t.Parallel()
	const perMinute = 600
	for _, before := range []int{0, 90, 300, 600} {
		t.Run(fmt.Sprint(before, " before"), func(t *testing.T) {
			t.Parallel()
			server := redistest.Own(t)
			f := newFleet(t, 3, func() *redis.Client { return server.Client(t) }, nil)
			l := limit.Limits{RequestsPerMinute: perMinute}
			total := f.admitted(t, l, before)
			join(t, f.links...) // a heartbeat delivers the counts of the other replicas

			server.Kill()
			total += f.admitted(t, l, 2*perMinute)
			const most = perMinute * 11 / 10
			if total > most || total < perMinute*9/10 && before > 0 {
				t.Errorf("%d admitted without Redis, want at most %d and about %d", total, most, perMinute)
			}
			server.Start(t)
			join(t, f.links...)
			join(t, f.links...)
			if total += f.admitted(t, l, 2*perMinute); total > most || total < perMinute*9/10 {
				t.Errorf("a total of %d admitted after Redis returned empty, want %d", total, perMinute)
			}
		})
	}
}

// If one replica has used the whole limit of a key, the others together admit at most a tenth more.
func TestUnknownUsageIsLimited(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	f := newFleet(t, 3, func() *redis.Client { return server.Client(t) }, nil)
	l := limit.Limits{RequestsPerMinute: 300}
	only := fleet{f.links[:1], f.limiters[:1]}
	total := only.admitted(t, l, 400)
	server.Kill()
	if total += f.admitted(t, l, 1000); total > 330 {
		t.Errorf("%d admitted, want at most 330", total)
	}
}

func TestConcurrencyAndTokensWithoutRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	f := newFleet(t, 2, func() *redis.Client { return server.Client(t) }, nil)
	server.Kill()
	l := limit.Limits{Concurrent: 5}
	var slots []*limit.Slot
	for range 5 {
		if slot, err := f.limiters[0].Take(t.Context(), "running", l, 0); err == nil {
			slots = append(slots, slot)
		}
	}
	if len(slots) != 2 {
		t.Errorf("%d admitted at the same time, want 2 (half of 5)", len(slots))
	}
	for _, slot := range slots {
		slot.Release()
	}
	if _, err := f.limiters[0].Take(t.Context(), "running", l, 0); err != nil {
		t.Errorf("Take after a release: %v", err)
	}

	l = limit.Limits{TokensPerMinute: 1000}
	slot, err := f.limiters[0].Take(t.Context(), "tokens", l, 20)
	if err != nil {
		t.Fatal(err)
	}
	slot.Settle(60) // the replica's half of the remaining tenth is 50 tokens
	if _, err := f.limiters[0].Take(t.Context(), "tokens", l, 1); err == nil {
		t.Error("admitted beyond the replica's share of tokens")
	}
}

func TestConcurrencyIsCorrectAfterOutage(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	f := newFleet(t, 2, func() *redis.Client { return server.Client(t) }, nil)
	l := limit.Limits{Concurrent: 2}
	ended, err := f.limiters[0].Take(t.Context(), "key", l, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.limiters[1].Take(t.Context(), "key", l, 0); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	ended.Release()
	server.Start(t)
	join(t, f.links...)
	join(t, f.links...)
	if _, err := f.limiters[0].Take(t.Context(), "key", l, 0); err != nil {
		t.Errorf("second of two concurrent requests: %v", err)
	}
	if _, err := f.limiters[0].Take(t.Context(), "key", l, 0); err == nil {
		t.Error("a third concurrent request was admitted, want at most two")
	}
}

func TestConcurrentUseByReplicas(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, func() *redis.Client { return redistest.Client(t) }, nil)
	l := limit.Limits{RequestsPerMinute: 50, TokensPerMinute: 1e6, Concurrent: 1000}
	var mu sync.Mutex
	admitted := 0
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			slot, err := f.limiters[i%3].Take(t.Context(), "key", l, 10)
			if err != nil {
				return
			}
			slot.Settle(12)
			slot.Release()
			mu.Lock()
			defer mu.Unlock()
			admitted++
		})
	}
	all.Wait()
	if admitted != 50 {
		t.Errorf("admitted %d, want 50", admitted)
	}
}

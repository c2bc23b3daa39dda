package cluster_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/cluster/redistest"
)

func TestMain(m *testing.M) {
	code := redistest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

func ping(ctx context.Context, c redis.Scripter) error {
	return c.(*redis.Client).Ping(ctx).Err()
}

// options returns options with a time budget for Redis calls that is long enough on a busy test machine.
func options(namespace string) cluster.Options {
	return cluster.Options{Namespace: namespace, Budget: 5 * time.Second, Settling: time.Nanosecond}
}

func mustJoin(t *testing.T, links ...*cluster.Client) {
	t.Helper()
	for _, l := range links {
		if !l.AwaitReady(t.Context(), 10*time.Second) {
			t.Fatal("the client is not ready after 10 s")
		}
	}
}

func TestReplicasCountEachOther(t *testing.T) {
	t.Parallel()
	client, namespace := redistest.Client(t), redistest.Namespace()
	a, b := cluster.New(client, options(namespace)), cluster.New(client, options(namespace))
	stranger := cluster.New(client, options(redistest.Namespace()))
	mustJoin(t, a, b, stranger, a)
	if a.State().Replicas != 2 || b.State().Replicas != 2 || stranger.State().Replicas != 1 {
		t.Errorf("%d, %d and %d replicas seen, want 2, 2 and 1", a.State().Replicas, b.State().Replicas, stranger.State().Replicas)
	}
	if a.State().Epoch != b.State().Epoch || a.State().Epoch == "" {
		t.Errorf("epochs %q and %q of one Redis", a.State().Epoch, b.State().Epoch)
	}
}

func TestALeavingReplicaIsNotCounted(t *testing.T) {
	t.Parallel()
	client, namespace := redistest.Client(t), redistest.Namespace()
	stays, leaves := cluster.New(client, options(namespace)), cluster.New(client, options(namespace))
	mustJoin(t, stays, leaves)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	leaves.Run(ctx)
	mustJoin(t, stays)
	if n := stays.State().Replicas; n != 1 {
		t.Errorf("%d replicas after one left, want 1", n)
	}
}

func TestDeadReplicaIsRemovedAfterItsLease(t *testing.T) {
	t.Parallel()
	client, namespace := redistest.Client(t), redistest.Namespace()
	living, dead := cluster.New(client, options(namespace)), cluster.New(client, options(namespace))
	mustJoin(t, living, dead)
	long := time.Now().Add(-living.Lease() - time.Minute).UnixMilli()
	if err := client.ZAdd(t.Context(), living.Members(), redis.Z{Score: float64(long), Member: dead.ID()}).Err(); err != nil {
		t.Fatal(err)
	}
	mustJoin(t, living)
	if n := living.State().Replicas; n != 1 {
		t.Errorf("%d replicas seen, want the living one", n)
	}
}

// Redis is killed and restarted without data. Meanwhile calls fail immediately, and after the restart hooks run before Redis is
// ready.
func TestClientReconnectsAfterRedisRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	var mu sync.Mutex
	var reported []error
	o := options("")
	o.OnStateChange = func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reported = append(reported, err)
	}
	link := cluster.New(server.Client(t), o)
	var hooks []bool
	link.OnBeat(func(_ context.Context, s cluster.State) { hooks = append(hooks, s.Up && link.State().Ready) })
	if err := link.Do(t.Context(), ping); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("call before the first heartbeat: got %v, want ErrUnavailable", err)
	}
	mustJoin(t, link)
	before := link.State()
	if err := link.Do(t.Context(), ping); err != nil {
		t.Error(err)
	}

	server.Kill()
	if err := link.Do(t.Context(), ping); !errors.Is(err, cluster.ErrUnavailable) {
		t.Errorf("call without Redis: got %v, want ErrUnavailable", err)
	}
	during := link.State()
	if during.Up || during.Ready || during.Outage == before.Outage || during.Replicas != before.Replicas {
		t.Errorf("state without Redis = %+v, before = %+v", during, before)
	}
	if link.Beat(t.Context()) == nil {
		t.Error("a heartbeat without Redis succeeded")
	}
	server.Start(t)
	mustJoin(t, link)
	if after := link.State(); after.Epoch == before.Epoch || after.Outage != during.Outage {
		t.Errorf("state after the restart = %+v, before = %+v", after, before)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(reported) < 3 || reported[0] != nil || reported[1] == nil || reported[len(reported)-1] != nil {
		t.Errorf("reported %v, want nil, an error and nil", reported)
	}
	if hooks[0] {
		t.Error("the client was ready before the hooks ran")
	}
}

// An empty Redis is not ready until every replica has had time to send its state.
func TestAnEmptyRedisMustSettle(t *testing.T) {
	t.Parallel()
	o := options(redistest.Namespace())
	o.Settling = time.Hour
	link := cluster.New(redistest.Client(t), o)
	if err := link.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := link.State(); !s.Up || s.Ready {
		t.Errorf("the state is %+v, want up and not ready", s)
	}
}

// All replicas were disconnected for longer than a lease. The holds of a replica count only after it has sent them, so the first
// replica to reconnect waits for the others.
func TestFirstReplicaAfterAnOutageWaitsForTheOthers(t *testing.T) {
	t.Parallel()
	client, namespace := redistest.Client(t), redistest.Namespace()
	o := options(namespace)
	o.Settling = 200 * time.Millisecond
	a, b := cluster.New(client, o), cluster.New(client, o)
	mustJoin(t, a, b)
	epoch := a.State().Epoch
	if err := client.Del(t.Context(), a.Members()).Err(); err != nil { // expires all leases
		t.Fatal(err)
	}
	if err := a.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := a.State(); s.Ready || !s.Up || s.Epoch != epoch {
		t.Errorf("state of the first replica to reconnect = %+v, want up and not ready", s)
	}
	if err := b.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustJoin(t, a, b)
	if s := b.State(); s.Epoch != epoch || s.Replicas != 2 {
		t.Errorf("state = %+v, want 2 replicas and the same epoch", s)
	}
}

// If Redis stops responding, a call ends within twice its time budget, including the wait for a slot.
func TestCallTimeIncludesWaitingForASlot(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	o := options("")
	o.Budget = 500 * time.Millisecond
	link := cluster.New(server.Client(t), o)
	mustJoin(t, link)
	server.Signal(t, syscall.SIGSTOP)
	defer server.Signal(t, syscall.SIGCONT)
	var all sync.WaitGroup
	var mu sync.Mutex
	var longest time.Duration
	began := time.Now()
	for range 200 {
		all.Go(func() {
			err := link.Do(t.Context(), ping)
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, time.Since(began))
			if !errors.Is(err, cluster.ErrUnavailable) {
				t.Errorf("call to an unresponsive Redis: got %v, want ErrUnavailable", err)
			}
		})
	}
	all.Wait()
	if longest >= 2*o.Budget {
		t.Errorf("a call took %s, want less than %s", longest, 2*o.Budget)
	}
}

func TestSlowRedisCountsAsUnavailable(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	o := options("")
	o.Budget = 100 * time.Millisecond
	link := cluster.New(server.Client(t), o)
	mustJoin(t, link)
	server.Signal(t, syscall.SIGSTOP)
	defer server.Signal(t, syscall.SIGCONT)
	began := time.Now()
	for range 20 {
		if err := link.Do(t.Context(), ping); !errors.Is(err, cluster.ErrUnavailable) {
			t.Errorf("call to an unresponsive Redis: got %v, want ErrUnavailable", err)
		}
	}
	if took := time.Since(began); took > time.Second || link.State().Up {
		t.Errorf("20 calls took %s; up: %v", took, link.State().Up)
	}
}

func TestClientUsesRedisClock(t *testing.T) {
	t.Parallel()
	link := cluster.New(redistest.Client(t), options(redistest.Namespace()))
	mustJoin(t, link)
	if off := time.Since(link.Now()).Abs(); off > 5*time.Second {
		t.Errorf("the clock of a Redis on this machine is off by %s", off)
	}
	fixed := time.Unix(1_700_000_000, 0)
	o := options(redistest.Namespace())
	o.Now = func() time.Time { return fixed }
	if got := cluster.New(redistest.Client(t), o).Now(); !got.Equal(fixed) {
		t.Errorf("Now = %s, want %s", got, fixed)
	}
}

func TestMessagesReachEveryReplica(t *testing.T) {
	t.Parallel()
	server := redistest.Own(t)
	links := []*cluster.Client{cluster.New(server.Client(t), options("")), cluster.New(server.Client(t), options(""))}
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	received := make([]chan string, len(links))
	for i, l := range links {
		received[i] = make(chan string, 10)
		listening.Go(func() { l.Listen(ctx, func(m string) { received[i] <- m }) })
	}
	defer listening.Wait()
	defer cancel()
	expect := func(want string) {
		t.Helper()
		for i := range received {
			select {
			case got := <-received[i]:
				if got != want {
					t.Errorf("replica %d received %q, want %q", i, got, want)
				}
			case <-time.After(10 * time.Second):
				t.Fatalf("replica %d received nothing, want %q", i, want)
			}
		}
	}
	expect("") // the listener is subscribed
	if err := links[0].Publish(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	expect("one")
	server.Kill()
	if links[0].Publish(t.Context(), "lost") == nil {
		t.Error("publishing without Redis returned no error")
	}
	server.Start(t)
	expect("") // messages may have been missed
}

func TestErrorsDoNotContainTheAddress(t *testing.T) {
	t.Parallel()
	_, err := cluster.Dial("http://user:secret@host/0")
	if err == nil || errors.Unwrap(err) != nil {
		t.Errorf("Dial of an invalid address: got %v, want an error that does not wrap another", err)
	}
}

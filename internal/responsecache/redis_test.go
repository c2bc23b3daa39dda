package responsecache

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"fairlead.dev/internal/cluster"
	"fairlead.dev/internal/cluster/redistest"
	"fairlead.dev/internal/llm"
)

func TestMain(m *testing.M) {
	code := redistest.Main(m)
	if err := goleak.Find(); code == 0 && err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		code = 1
	}
	os.Exit(code)
}

// replica returns the cache of one replica.
func replica(t *testing.T, namespace, masterKey string, maximum int64) (*Cache, *Redis) {
	t.Helper()
	link := cluster.New(redistest.Client(t), cluster.Options{Namespace: namespace, Budget: 5 * time.Second, Settling: time.Nanosecond})
	if !link.AwaitReady(t.Context(), 10*time.Second) {
		t.Fatal("Redis did not become ready")
	}
	remote, err := NewRedis(link, []byte(masterKey), maximum)
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Memory: 1 << 20, Entry: 1 << 20, Redis: remote}), remote
}

func TestReplicasShareResponsesThroughRedis(t *testing.T) {
	t.Parallel()
	namespace, secret := redistest.Namespace(), strings.Repeat("k", 32)
	a, _ := replica(t, namespace, secret, 1<<20)
	b, _ := replica(t, namespace, secret, 1<<20)
	foreign, _ := replica(t, namespace, strings.Repeat("x", 32), 1<<20)
	store(t, a, keyOf(1), time.Hour, "the answer")
	_, local, _ := a.Get(t.Context(), Query{Key: keyOf(2), MaxAge: time.Hour})
	local.Add(&llm.Event{Data: []byte("private"), Finish: "stop"})
	local.Store(t.Context(), Response{})
	if got := get(t, b, keyOf(1), time.Hour); got != "the answer" {
		t.Errorf("the other replica returned %q, want the stored response", got)
	}
	if got := get(t, foreign, keyOf(1), time.Hour); got != "" {
		t.Errorf("a replica with another master key returned %q, want none", got)
	}
	if get(t, b, keyOf(2), time.Hour) != "" {
		t.Error("a response that must stay in memory was stored in Redis")
	}
	client := redistest.Client(t)
	names := client.Keys(t.Context(), "{"+namespace+"}:response:*").Val()
	if len(names) != 1 || strings.Contains(names[0], fmt.Sprintf("%x", keyOf(1))) {
		t.Fatalf("keys in Redis: %v, want one without the cache key", names)
	}
	if value := client.Get(t.Context(), names[0]).Val(); value == "" || strings.Contains(value, "answer") {
		t.Error("the value in Redis is empty or not encrypted")
	}
	if ttl := client.PTTL(t.Context(), names[0]).Val(); ttl <= 59*time.Minute || ttl > time.Hour {
		t.Errorf("the value expires in %v, want 59 to 60 minutes", ttl)
	}
}

func TestRedisHoldsAtMostItsLimit(t *testing.T) {
	t.Parallel()
	namespace, secret := redistest.Namespace(), strings.Repeat("k", 32)
	a, _ := replica(t, namespace, secret, 64<<10)
	b, _ := replica(t, namespace, secret, 64<<10)
	for i := range 50 {
		store(t, a, keyOf(i), time.Hour+time.Duration(i)*time.Second, string(make([]byte, 4<<10)))
	}
	store(t, a, keyOf(100), time.Hour, string(make([]byte, 100<<10))) // larger than the limit
	client := redistest.Client(t)
	total := int64(0)
	for _, name := range client.Keys(t.Context(), "{"+namespace+"}:response:*").Val() {
		total += client.StrLen(t.Context(), name).Val()
	}
	counted, _ := client.HGet(t.Context(), "{"+namespace+"}:responses:sizes", "total").Int64()
	if total > 64<<10 || total < 48<<10 || counted != total {
		t.Errorf("%d bytes stored, counted as %d; want 48 to 64 KiB and the same count", total, counted)
	}
	if get(t, b, keyOf(49), time.Hour) == "" {
		t.Error("the response that expires last was removed")
	}
	if get(t, b, keyOf(0), time.Hour) != "" || get(t, b, keyOf(100), time.Hour) != "" {
		t.Error("the response that expires first was not removed, or a response above the limit was stored")
	}
	store(t, a, keyOf(49), time.Hour, "short") // replaces the long response
	if again, _ := client.HGet(t.Context(), "{"+namespace+"}:responses:sizes", "total").Int64(); again >= counted {
		t.Errorf("%d bytes counted after a response was replaced, want less than %d", again, counted)
	}
}

func TestRedisFailureIsAMiss(t *testing.T) {
	t.Parallel()
	link := cluster.New(redistest.Client(t), cluster.Options{Namespace: redistest.Namespace()}) // the client does not connect to Redis
	remote, err := NewRedis(link, []byte(strings.Repeat("k", 32)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Memory: 1 << 20, Entry: 1 << 20, Redis: remote})
	if get(t, c, keyOf(1), time.Hour) != "" {
		t.Error("Get without Redis returned a response")
	}
	store(t, c, keyOf(1), time.Hour, "a")
	if get(t, c, keyOf(1), time.Hour) != "a" {
		t.Error("the response was not stored in memory")
	}
	if _, err := remote.load(t.Context(), []Key{keyOf(1)}); err == nil {
		t.Error("Load without Redis returned no error")
	}
}

func TestAnErrorReplyDoesNotMarkRedisAsDown(t *testing.T) {
	t.Parallel()
	namespace := redistest.Namespace()
	c, remote := replica(t, namespace, strings.Repeat("k", 32), 1<<20)
	redistest.Client(t).Set(t.Context(), "{"+namespace+"}:responses:order", "not a sorted set", time.Minute)
	store(t, c, keyOf(1), time.Hour, "a")
	if err := remote.save(t.Context(), []Key{keyOf(1)}, []*Response{{Created: time.Now(), TTL: time.Hour, Events: []Event{{Data: []byte("a")}}}}); err == nil {
		t.Error("Save with an error reply returned no error")
	}
	if !remote.link.State().Up {
		t.Error("Redis is marked as down after an error reply")
	}
}

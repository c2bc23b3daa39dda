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
		t.Fatal("Redis does not answer")
	}
	remote, err := NewRedis(link, []byte(masterKey), maximum)
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Memory: 1 << 20, Entry: 1 << 20, Remote: remote}), remote
}

func TestReplicasShareResponsesThroughRedis(t *testing.T) {
	t.Parallel()
	namespace, secret := redistest.Namespace(), strings.Repeat("k", 32)
	a, _ := replica(t, namespace, secret, 1<<20)
	b, _ := replica(t, namespace, secret, 1<<20)
	stranger, _ := replica(t, namespace, strings.Repeat("x", 32), 1<<20)
	store(t, a, keyOf(1), time.Hour, "the answer")
	_, local, _ := a.Get(t.Context(), Query{Key: keyOf(2), MaxAge: time.Hour})
	local.Add(&llm.Event{Data: []byte("private"), Finish: "stop"})
	local.Store(t.Context(), Response{})
	if get(t, b, keyOf(1), time.Hour) != "the answer" || get(t, stranger, keyOf(1), time.Hour) != "" {
		t.Error("replicas with the same master key, and only they, share responses")
	}
	if get(t, b, keyOf(2), time.Hour) != "" {
		t.Error("a response that must stay in memory was shared")
	}
	client := redistest.Client(t)
	names := client.Keys(t.Context(), "{"+namespace+"}:response:*").Val()
	if len(names) != 1 || strings.Contains(names[0], fmt.Sprintf("%x", keyOf(1))) {
		t.Fatalf("stored names: %v", names)
	}
	if value := client.Get(t.Context(), names[0]).Val(); value == "" || strings.Contains(value, "answer") {
		t.Error("the value is not encrypted")
	}
	if ttl := client.PTTL(t.Context(), names[0]).Val(); ttl <= 59*time.Minute || ttl > time.Hour {
		t.Errorf("the value expires in %v", ttl)
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
		t.Errorf("%d bytes, counted as %d", total, counted)
	}
	if get(t, b, keyOf(49), time.Hour) == "" || get(t, b, keyOf(0), time.Hour) != "" || get(t, b, keyOf(100), time.Hour) != "" {
		t.Error("the responses that expire first must be removed first")
	}
	store(t, a, keyOf(49), time.Hour, "short") // replaces the long response
	if again, _ := client.HGet(t.Context(), "{"+namespace+"}:responses:sizes", "total").Int64(); again >= counted {
		t.Errorf("%d bytes are counted after a response was replaced, %d before", again, counted)
	}
}

func TestRedisFailureIsAMiss(t *testing.T) {
	t.Parallel()
	link := cluster.New(redistest.Client(t), cluster.Options{Namespace: redistest.Namespace()}) // not connected to Redis
	remote, err := NewRedis(link, []byte(strings.Repeat("k", 32)), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	c := New(Options{Memory: 1 << 20, Entry: 1 << 20, Remote: remote})
	if get(t, c, keyOf(1), time.Hour) != "" {
		t.Error("a hit without Redis")
	}
	store(t, c, keyOf(1), time.Hour, "a")
	if get(t, c, keyOf(1), time.Hour) != "a" {
		t.Error("the response is not in memory")
	}
	if _, err := remote.Load(t.Context(), []Key{keyOf(1)}); err == nil {
		t.Error("the failure is not reported")
	}
}

func TestAnErrorReplyDoesNotMarkRedisAsDown(t *testing.T) {
	t.Parallel()
	namespace := redistest.Namespace()
	c, remote := replica(t, namespace, strings.Repeat("k", 32), 1<<20)
	redistest.Client(t).Set(t.Context(), "{"+namespace+"}:responses:order", "not a sorted set", time.Minute)
	store(t, c, keyOf(1), time.Hour, "a")
	if err := remote.Save(t.Context(), []Key{keyOf(1)}, []*Response{{Created: time.Now(), TTL: time.Hour, Events: []Event{{Data: []byte("a")}}}}); err == nil {
		t.Error("the error reply is not reported")
	}
	if !remote.link.State().Up {
		t.Error("Redis is marked as down")
	}
}

package reasoning

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
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

// replica returns the store of one replica.
func replica(t *testing.T, namespace, masterKey string) *Store {
	t.Helper()
	link := cluster.New(redistest.Client(t), cluster.Options{Namespace: namespace, Budget: 5 * time.Second, Settling: time.Nanosecond})
	if !link.AwaitReady(t.Context(), 10*time.Second) {
		t.Fatal("Redis did not become ready")
	}
	remote, err := NewRedis(link, []byte(masterKey))
	if err != nil {
		t.Fatal(err)
	}
	return New(remote)
}

func TestReplicasShareReasoningThroughRedis(t *testing.T) {
	t.Parallel()
	namespace, key := redistest.Namespace(), strings.Repeat("k", 32)
	a, b, foreign := replica(t, namespace, key), replica(t, namespace, key), replica(t, namespace, strings.Repeat("x", 32))
	a.keep(t.Context(), "ws", []Call{signedCall("1"), signedCall("2")}, Shared)
	a.keep(t.Context(), "ws", []Call{signedCall("private")}, Local)
	client := redistest.Client(t)
	names := client.Keys(t.Context(), "{"+namespace+"}:reasoning:*").Val()
	if len(names) != 2 {
		t.Errorf("Redis has %d calls, want 2", len(names))
	}
	for _, name := range names {
		if value := client.Get(t.Context(), name).Val(); value == "" || strings.Contains(value, "look first") || strings.Contains(value, "sig-") {
			t.Errorf("Redis has %d bytes of reasoning that are not encrypted", len(value))
		}
		wantLifetime(t, client, name)
		client.PExpire(t.Context(), name, time.Minute)
	}
	if diff := cmp.Diff([]string{"sig-1", "sig-2"}, restored(t, b, "ws", "thinker", conversation("1", "2", "private", "unknown"))); diff != "" {
		t.Error(diff)
	}
	for _, name := range names {
		wantLifetime(t, client, name) // the read has extended the lifetime
	}
	if got := restored(t, b, "other", "thinker", conversation("1", "2")); got != nil {
		t.Errorf("restored %v in another workspace, want none", got)
	}
	if got := restored(t, foreign, "ws", "thinker", conversation("1", "2")); got != nil {
		t.Errorf("restored %v with another master key, want none", got)
	}
}

// wantLifetime checks that a Redis key expires after Lifetime.
func wantLifetime(t *testing.T, client *redis.Client, name string) {
	t.Helper()
	if left := client.PTTL(t.Context(), name).Val(); left > Lifetime || left < Lifetime-time.Minute {
		t.Errorf("the reasoning expires in %v, want %v", left, Lifetime)
	}
}

func TestEvictedReasoningIsRemovedFromRedis(t *testing.T) {
	t.Parallel()
	namespace := redistest.Namespace()
	s := replica(t, namespace, strings.Repeat("k", 32))
	s.maxEntries = 2 * workspaceShare
	for i := range 10 {
		s.keep(t.Context(), "ws", []Call{signedCall(fmt.Sprint(i))}, Shared)
	}
	if n := len(redistest.Client(t).Keys(t.Context(), "{"+namespace+"}:reasoning:*").Val()); n != 2 {
		t.Errorf("Redis has %d calls, want 2", n)
	}
}

// fakeRemote is an in-memory Remote that counts calls.
type fakeRemote struct {
	calls  map[Key]Call
	loads  int
	extend int
	err    error
}

func (f *fakeRemote) Load(_ context.Context, keys []Key) ([]*Call, error) {
	f.loads++
	found := make([]*Call, len(keys))
	for i, key := range keys {
		if call, ok := f.calls[key]; ok {
			found[i] = &call
		}
	}
	return found, f.err
}

func (f *fakeRemote) Save(_ context.Context, keys []Key, calls []Call, drop []Key) error {
	for i, key := range keys {
		f.calls[key] = calls[i]
	}
	for _, key := range drop {
		delete(f.calls, key)
	}
	return f.err
}

func (f *fakeRemote) Extend(context.Context, []Key) error { f.extend++; return f.err }

func TestRemoteIsReadOnceForEachCall(t *testing.T) {
	t.Parallel()
	remote := &fakeRemote{calls: map[Key]Call{KeyOf("ws", "a"): signedCall("a")}}
	s := New(remote)
	for range 3 {
		if got := restored(t, s, "ws", "thinker", conversation("a", "unknown")); len(got) != 1 {
			t.Errorf("restored %v, want one signature", got)
		}
	}
	if remote.loads != 1 {
		t.Errorf("%d reads, want 1 for known and unknown calls", remote.loads)
	}
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprint("old", i))
	}
	restored(t, s, "ws", "thinker", conversation(ids...))
	if n := len(s.entries); n != 2+maxLoads {
		t.Errorf("one request read %d calls, want %d", n-2, maxLoads)
	}
}

func TestReasoningOfZeroRetentionProvidersStaysInTheProcess(t *testing.T) {
	t.Parallel()
	remote := &fakeRemote{calls: map[Key]Call{}}
	s := New(remote)
	target := thinker()
	target.ZeroRetention = true
	respond(s.Begin("ws", Shared).Client(format{}, target), nil,
		llm.Delta{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s", Provider: "vendor"}}, callDelta("a", 0), llm.Delta{Kind: llm.FinishDelta})
	if got := restored(t, s, "ws", "thinker", conversation("a")); len(got) != 1 || len(remote.calls) != 0 {
		t.Errorf("restored %v, %d calls in the remote store; want one signature and 0 calls", got, len(remote.calls))
	}
}

func TestUnavailableRemoteIsNotRemembered(t *testing.T) {
	t.Parallel()
	remote := &fakeRemote{calls: map[Key]Call{KeyOf("ws", "a"): signedCall("a")}, err: errors.New("unavailable")}
	s := New(remote)
	if got := restored(t, s, "ws", "thinker", conversation("a")); got != nil {
		t.Errorf("restored %v from an unavailable store, want none", got)
	}
	remote.err = nil
	if got := restored(t, s, "ws", "thinker", conversation("a")); len(got) != 1 {
		t.Errorf("restored %v after the store returned, want one signature", got)
	}
}

func TestUseExtendsTheLifetimeInTheRemote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		remote := &fakeRemote{calls: map[Key]Call{}}
		s := New(remote)
		s.keep(t.Context(), "ws", []Call{signedCall("a")}, Shared)
		for range 6 {
			time.Sleep(Lifetime / 4)
			restored(t, s, "ws", "thinker", conversation("a"))
		}
		if remote.extend != 2 {
			t.Errorf("extended %d times in one and a half lifetimes, want 2", remote.extend)
		}
	})
}

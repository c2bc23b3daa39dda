package limit

import (
	"fmt"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
)

func TestMemoryRemovesIdleIDs(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	m := NewMemory(func() time.Time { return now })
	l := Limits{RequestsPerMinute: 10, Concurrent: 10}
	for i := range 10_000 {
		slot, err := m.Take(t.Context(), fmt.Sprint("key", i), l, 0)
		if err != nil {
			t.Fatal(err)
		}
		slot.Release()
	}
	held, err := m.Take(t.Context(), "held", l, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()

	now = now.Add(2 * time.Minute)
	_, _ = m.Take(t.Context(), "fresh", l, 0)
	if c := m.ids["held"]; len(m.ids) != 2 || c == nil || c.running != 1 {
		t.Errorf("%d ids left, running one: %+v; want 2 and the running one", len(m.ids), c)
	}
}

func TestHugeTokenCountsDoNotOverflow(t *testing.T) {
	t.Parallel()
	m := NewMemory(func() time.Time { return time.Unix(1_700_000_000, 0) })
	l := Limits{TokensPerMinute: 1 << 62}
	for range 3 {
		slot, err := m.Take(t.Context(), "key", l, 10)
		if err != nil {
			if llm.AsError(err).Kind != llm.RateLimited {
				t.Fatal(err)
			}
			return
		}
		slot.Settle(1<<63 - 1)
		slot.Release()
	}
	t.Error("no request was rejected: the token count overflowed")
}

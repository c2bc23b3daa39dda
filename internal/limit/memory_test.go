package limit_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/limit/limittest"
)

func TestMemory(t *testing.T) {
	t.Parallel()
	limittest.Run(t, func(_ *testing.T, c *limittest.Clock) limit.Limiter { return limit.NewMemory(c.Now) }, 0)
}

// The model records every admitted request and counts exactly. The limiter may be stricter by one second, but never laxer.
func TestMemoryAgainstExactModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		clock := limittest.NewClock()
		limiter := limit.NewMemory(clock.Now)
		l := limit.Limits{
			RequestsPerMinute: rapid.Int64Range(0, 8).Draw(t, "requests"),
			TokensPerMinute:   rapid.Int64Range(0, 300).Draw(t, "tokens"),
			Concurrent:        rapid.Int64Range(0, 4).Draw(t, "concurrent"),
		}
		m := &model{limits: l}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				tokens := rapid.Int64Range(0, 120).Draw(t, "estimate")
				slot, err := limiter.Take(t.Context(), "key", l, tokens)
				now := clock.Now()
				if err == nil && !m.fits(now, limit.Window, tokens) {
					t.Fatalf("admitted beyond the limit: %+v", m)
				}
				if err != nil && m.fits(now, limit.Window+time.Second, tokens) {
					t.Fatalf("rejected although the request fits the limit: %v; %+v", err, m)
				}
				if err == nil {
					m.calls = append(m.calls, &call{at: now, tokens: tokens, slot: slot})
				}
			},
			"settle": func(t *rapid.T) {
				c := m.draw(t)
				if c.settled {
					t.Skip("the call is settled: this step does not apply")
				}
				actual := rapid.Int64Range(0, 200).Draw(t, "actual")
				c.slot.Settle(actual)
				c.settled = true
				if actual > c.tokens {
					m.late = append(m.late, call{at: clock.Now(), tokens: actual - c.tokens})
					return
				}
				c.tokens = actual
			},
			"release": func(t *rapid.T) {
				c := m.draw(t)
				c.slot.Release()
				c.released = true
			},
			"wait": func(t *rapid.T) {
				clock.Advance(time.Duration(rapid.Int64Range(0, int64(40*time.Second)).Draw(t, "wait")))
			},
		})
	})
}

type model struct {
	limits limit.Limits
	calls  []*call
	late   []call // tokens beyond the estimate, counted when they became known
}

type call struct {
	at                time.Time
	tokens            int64
	settled, released bool
	slot              *limit.Slot
}

func (m *model) draw(t *rapid.T) *call {
	if len(m.calls) == 0 {
		t.Skip("no calls: this step does not apply")
	}
	return m.calls[rapid.IntRange(0, len(m.calls)-1).Draw(t, "call")]
}

func (m *model) fits(now time.Time, window time.Duration, tokens int64) bool {
	var requests, used, running int64
	for _, c := range m.calls {
		if now.Sub(c.at) < window {
			requests++
			used += c.tokens
		}
		if !c.released {
			running++
		}
	}
	for _, c := range m.late {
		if now.Sub(c.at) < window {
			used += c.tokens
		}
	}
	l := m.limits
	return (l.RequestsPerMinute == 0 || requests < l.RequestsPerMinute) &&
		(l.TokensPerMinute == 0 || used+tokens <= l.TokensPerMinute) &&
		(l.Concurrent == 0 || running < l.Concurrent)
}

package promptcache

import (
	"testing"
	"time"

	"fairlead.dev/internal/catalog"
)

func TestEndMarkIsSetWhereExpectedReadsPay(t *testing.T) {
	t.Parallel()
	rules := catalog.CacheRule{
		Granularity: catalog.CacheMarks, Minimum: 1024, Lifetime: 5 * time.Minute, Long: time.Hour, Writes: true, HitRate: 0.97,
		EndMark: true, BreakEven: 0.25 / 0.9, BreakEvenLong: 1 / 0.9,
	}
	for name, tc := range map[string]struct {
		turns  float64
		gap    time.Duration
		tokens int64
		own    Mark
		adjust func(*catalog.CacheRule)
		want   Mark
	}{
		"first turn":               {0, 0, 9000, Unmarked, nil, Unmarked},
		"second turn":              {1, 20 * time.Second, 9000, Unmarked, nil, ShortMark},
		"late turn":                {30, time.Minute, 9000, Unmarked, nil, ShortMark},
		"short prompt":             {5, time.Minute, 900, Unmarked, nil, Unmarked},
		"marks of the caller":      {5, time.Minute, 9000, ShortMark, nil, Unmarked},
		"long pauses":              {5, 10 * time.Minute, 9000, Unmarked, nil, LongMark},
		"one long pause":           {1, 10 * time.Minute, 9000, Unmarked, nil, LongMark},
		"pause beyond any cache":   {5, 2 * time.Hour, 9000, Unmarked, nil, Unmarked},
		"expensive writes":         {1, time.Minute, 9000, Unmarked, func(r *catalog.CacheRule) { r.BreakEven = 0.9 }, Unmarked},
		"expensive long writes":    {1, 10 * time.Minute, 9000, Unmarked, func(r *catalog.CacheRule) { r.BreakEvenLong = 3 }, Unmarked},
		"provider without the API": {5, time.Minute, 9000, Unmarked, func(r *catalog.CacheRule) { r.EndMark = false }, Unmarked},
	} {
		r := rules
		if tc.adjust != nil {
			tc.adjust(&r)
		}
		fp := Fingerprint{Links: []Link{{1, 500, tc.own}, {2, tc.tokens, Unmarked}}, Outlook: Outlook{(tc.turns + 1) / (tc.turns + 2), tc.gap}}
		if tc.turns == 0 {
			fp.Outlook = Outlook{}
		}
		if got := fp.EndMark(r); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got.Lifetime(), tc.want.Lifetime())
		}
	}
}

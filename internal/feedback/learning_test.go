package feedback

import (
	"context"
	"testing"
	"time"
)

// newGatewayIndex returns an index with the options of a gateway, and the versions of the corrections that the index has stored.
func newGatewayIndex(store *fakeStore, c *clock) (*Index, *[]string) {
	kept := &[]string{}
	return NewIndex(store, store, Options{
		Base: baseOf, Predictor: "p1", Now: c.now, MinVerdicts: MinVerdicts,
		Keep: func(_ context.Context, c *Corrections) error {
			*kept = append(*kept, c.Version)
			return nil
		},
	}), kept
}

// compare stores verdicts in which the model "small" usually loses, although the predictor rates the models nearly equal.
func compare(t *testing.T, b *Index, c *clock, from, n int) {
	t.Helper()
	for i := range n {
		c.move(time.Minute)
		r := draft(from+i, "large", 1)
		if i%5 == 0 {
			r.Score = 0.5
		}
		r.KeyID, r.Source, r.Other, r.Label = "", FromShadow, "small", "exact"
		if _, err := b.Rate(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFewVerdictsKeepTheStaticRouter(t *testing.T) {
	t.Parallel()
	c := &clock{t: start}
	b, kept := newGatewayIndex(newFakeStore(), c)
	compare(t, b, c, 0, MinVerdicts-1)
	refresh(t, b, c)
	if got := b.For("ws_1"); got.Version != "" || len(got.Shifts) > 0 || len(*kept) > 0 {
		t.Errorf("corrections %+v, stored %v", got, *kept)
	}
	if l := b.Learning("ws_1"); l.Version != "" || l.Verdicts != MinVerdicts-1 || l.Tasks[0].Outcomes != MinVerdicts-1 || l.Tasks[0].Learned != l.Tasks[0].Static {
		t.Errorf("%+v", l)
	}
}

func TestVerdictsAreLearnedStoredAndReset(t *testing.T) {
	t.Parallel()
	c := &clock{t: start}
	b, kept := newGatewayIndex(newFakeStore(), c)
	before := chance(b, "ws_1", "large") - chance(b, "ws_1", "small")
	compare(t, b, c, 0, 200)
	refresh(t, b, c)
	l := b.Learning("ws_1")
	if l.Version == "" || l.Verdicts != 200 || len(l.Tasks) != 2 || l.Tasks[0].Low > l.Tasks[0].Learned {
		t.Fatalf("%+v", l)
	}
	if after := chance(b, "ws_1", "large") - chance(b, "ws_1", "small"); after < before+0.1 {
		t.Errorf("difference before %.3f, after %.3f; want 0.1 more", before, after)
	}
	if n := len(*kept); n == 0 || (*kept)[n-1] != b.For("ws_1").Version {
		t.Errorf("stored %v, used %s", *kept, b.For("ws_1").Version)
	}
	if err := b.Configure(t.Context(), "ws_1", Settings{Disabled: true}); err != nil || b.For("ws_1").Version != "" {
		t.Errorf("disabled: %v, %+v", err, b.For("ws_1"))
	}
	if err := b.Configure(t.Context(), "ws_1", Settings{}); err != nil || b.For("ws_1").Version == "" {
		t.Errorf("enabled again: %v", err)
	}
	if err := b.Reset(t.Context(), "ws_1", ""); err != nil || b.For("ws_1").Version != "" || b.Learning("ws_1").Verdicts != 0 {
		t.Errorf("after a reset: %v, %+v", err, b.Learning("ws_1"))
	}
}

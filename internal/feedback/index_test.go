package feedback

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"fairlead.dev/internal/route/predict"
)

func TestRatingsDecayDaily(t *testing.T) {
	t.Parallel()
	c := &clock{t: start}
	b := newTestBook(newFakeStore(), c)
	base := chance(b, "ws_1", "small")
	for i := range 20 {
		rate(t, b, draft(i, "small", 0))
	}
	refresh(t, b, c)
	version, fresh := b.For("ws_1").Version, chance(b, "ws_1", "small")
	c.move(time.Hour)
	refresh(t, b, c)
	if got := b.For("ws_1").Version; got != version {
		t.Errorf("within a day the version went from %s to %s", version, got)
	}
	c.move(60 * 24 * time.Hour)
	refresh(t, b, c)
	faded := chance(b, "ws_1", "small")
	if b.For("ws_1").Version == version || !(fresh < faded && faded < base) {
		t.Errorf("fresh %.3f, after two months %.3f, without %.3f", fresh, faded, base)
	}
}

func TestRefreshReloadsAnOlderDatabase(t *testing.T) {
	t.Parallel()
	c, store := &clock{t: start}, newFakeStore()
	b := newTestBook(store, c)
	for i := range 3 {
		r := draft(i, "small", 0)
		r.WorkspaceID = fmt.Sprint("ws_", i)
		rate(t, b, r)
	}
	refresh(t, b, c)
	older := newFakeStore()
	b.reader, b.writer = older, older
	rate(t, newTestBook(older, c), draft(7, "large", 1))
	refresh(t, b, c)
	if b.For("ws_2") != nil || b.For("ws_1").Shift("large", predict.Code) == 0 {
		t.Errorf("corrections after the reload: ws_2 %v, ws_1 %v; want only those of the older store", b.For("ws_2"), b.For("ws_1"))
	}
}

func TestCorrectionsSurviveUnavailableStore(t *testing.T) {
	t.Parallel()
	c, store := &clock{t: start}, newFakeStore()
	b := newTestBook(store, c)
	rate(t, b, draft(1, "small", 0))
	refresh(t, b, c)
	before := b.For("ws_1")
	store.fail = errors.New("away")
	c.move(48 * time.Hour)
	for what, err := range map[string]error{
		"refresh": b.Refresh(t.Context()), "recompute": b.Recompute(t.Context()), "reset": b.Reset(t.Context(), "ws_1", ""),
	} {
		if !errors.Is(err, store.fail) {
			t.Errorf("%s: got %v, want %v", what, err, store.fail)
		}
	}
	if _, err := b.Rate(t.Context(), draft(2, "small", 0)); !errors.Is(err, store.fail) {
		t.Errorf("Rate: got %v, want %v", err, store.fail)
	}
	if b.For("ws_1") != before {
		t.Error("the corrections changed while the store was unavailable")
	}
	store.fail = nil
	refresh(t, b, c)
	if b.For("ws_1") == before {
		t.Error("the corrections were not recomputed after the store returned")
	}
}

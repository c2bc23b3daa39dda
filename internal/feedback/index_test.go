package feedback

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"fairlead.dev/internal/predict"
)

func TestSummaryShowsEffectOfRatings(t *testing.T) {
	t.Parallel()
	c := &clock{t: start}
	b := newTestBook(newFakeStore(), c)
	for i := range 30 {
		r := draft(i, "small", 1)
		if i%3 == 0 {
			r.Task, r.Skills, r.Score = predict.Maths, []float64{-0.5, 1}, 0
		}
		rate(t, b, r)
		c.move(time.Second)
	}
	unknown, older := draft(100, "retired", 0.5), draft(101, "large", 1)
	older.Predictor = "p0"
	rate(t, b, unknown)
	rate(t, b, older)
	refresh(t, b)

	sum := b.Summary("ws_1")
	ignore := cmpopts.IgnoreFields(Figures{}, "Before", "After")
	newest := func(i int) time.Time { return start.Add(time.Duration(i) * time.Second) }
	want := []ModelSummary{
		{Model: "large", Outdated: 1},
		{Model: "retired", Total: Figures{Ratings: 1, Score: 0.5, Newest: newest(30)}, Tasks: []TaskFigures{{predict.Code, Figures{Ratings: 1, Score: 0.5, Newest: newest(30)}}}},
		{Model: "small", Corrected: true, Total: Figures{Ratings: 30, Score: 20.0 / 30, Newest: newest(29)}, Tasks: []TaskFigures{
			{predict.Code, Figures{Ratings: 20, Score: 1, Newest: newest(29)}},
			{predict.Maths, Figures{Ratings: 10, Score: 0, Newest: newest(27)}},
		}},
	}
	if diff := cmp.Diff(want, sum.Models, ignore); diff != "" {
		t.Fatal(diff)
	}
	code, maths := sum.Models[2].Tasks[0], sum.Models[2].Tasks[1]
	if code.Shift() < 0.02 || maths.Shift() > -0.02 {
		t.Errorf("code with good ratings: %+v, want a positive shift; maths with bad ratings: %+v, want a negative one", code, maths)
	}
	if got, want := code.Before, chance(b, "ws_2", "small"); got-want > 1e-9 || want-got > 1e-9 {
		t.Errorf("Before = %v, want %v", got, want)
	}
	if got := sum.Models[1].Total; got.Before != 0 || got.After != 0 {
		t.Errorf("prediction for an unknown model: %+v, want none", got)
	}
	if sum.Version == "" || sum.Version != b.For("ws_1").Version {
		t.Errorf("version %q", sum.Version)
	}
	if _, corrected := b.For("ws_1").Abilities["large"]; corrected {
		t.Error("a rating of an earlier predictor changed an ability")
	}
}

func TestRatingsDecayDaily(t *testing.T) {
	t.Parallel()
	c := &clock{t: start}
	b := newTestBook(newFakeStore(), c)
	base := chance(b, "ws_1", "small")
	for i := range 20 {
		rate(t, b, draft(i, "small", 0))
	}
	refresh(t, b)
	version, fresh := b.For("ws_1").Version, chance(b, "ws_1", "small")
	c.move(time.Hour)
	refresh(t, b)
	if got := b.For("ws_1").Version; got != version {
		t.Errorf("within a day the version went from %s to %s", version, got)
	}
	c.move(60 * 24 * time.Hour)
	refresh(t, b)
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
	refresh(t, b)
	older := newFakeStore()
	b.reader, b.writer = older, older
	rate(t, newTestBook(older, c), draft(7, "large", 1))
	refresh(t, b)
	if b.For("ws_2") != nil || b.For("ws_1").Abilities["large"] == nil {
		t.Errorf("corrections after the reload: ws_2 %v, ws_1 %v; want only those of the older store", b.For("ws_2"), b.For("ws_1"))
	}
}

func TestCorrectionsSurviveUnavailableStore(t *testing.T) {
	t.Parallel()
	c, store := &clock{t: start}, newFakeStore()
	b := newTestBook(store, c)
	rate(t, b, draft(1, "small", 0))
	refresh(t, b)
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
	refresh(t, b)
	if b.For("ws_1") == before {
		t.Error("the corrections were not recomputed after the store returned")
	}
}

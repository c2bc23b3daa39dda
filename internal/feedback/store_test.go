package feedback

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/route/predict"
)

var start = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// fakeStore is an in-memory store.
type fakeStore struct {
	mu       sync.Mutex
	ratings  map[[3]string]Rating // ratings by workspace, request and rater
	resets   map[[2]string]time.Time
	changes  map[string]int64
	settings map[string]Settings
	revision int64
	fail     error // error that every call returns
}

func newFakeStore() *fakeStore {
	return &fakeStore{ratings: map[[3]string]Rating{}, resets: map[[2]string]time.Time{}, changes: map[string]int64{}, settings: map[string]Settings{}}
}

func (s *fakeStore) changed(workspaceID string) {
	s.revision++
	s.changes[workspaceID] = s.revision
}

func (s *fakeStore) Revisions(context.Context) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int64{Topic: s.revision, "keys": 99}, s.fail
}

func (s *fakeStore) SaveRating(_ context.Context, r Rating) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	s.ratings[[3]string{r.WorkspaceID, r.RequestID, r.Rater()}] = r
	s.changed(r.WorkspaceID)
	return nil
}

func (s *fakeStore) ResetFeedback(_ context.Context, workspaceID, model string, at time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resets[[2]string{workspaceID, model}] = at
	s.changed(workspaceID)
	return s.fail
}

func (s *fakeStore) ChangedFeedback(_ context.Context, after int64) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for workspaceID, revision := range s.changes {
		if revision > after {
			found = append(found, workspaceID)
		}
	}
	return found, s.fail
}

func (s *fakeStore) CountedRatings(_ context.Context, workspaceID string, limit int, visit func(string, []Rating) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	byModel := map[string][]Rating{}
	for _, r := range s.ratings {
		reset := s.resets[[2]string{workspaceID, ""}]
		if own := s.resets[[2]string{workspaceID, r.Model}]; own.After(reset) {
			reset = own
		}
		if r.WorkspaceID == workspaceID && r.Time.After(reset) {
			byModel[r.Model] = append(byModel[r.Model], r)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(byModel)) {
		ratings := byModel[model]
		slices.SortFunc(ratings, func(a, b Rating) int {
			return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.ID, a.ID))
		})
		if err := visit(model, ratings[:min(limit, len(ratings))]); err != nil {
			return err
		}
	}
	return nil
}

func (s *fakeStore) Learning(_ context.Context, workspaceID string) (Settings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings[workspaceID], s.fail
}

func (s *fakeStore) SaveLearning(_ context.Context, workspaceID string, v Settings) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings[workspaceID] = v
	s.changed(workspaceID)
	return s.fail
}

// erase deletes the ratings of a request, as when the request is deleted.
func (s *fakeStore) erase(workspaceID, requestID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.ratings, func(k [3]string, _ Rating) bool { return k[0] == workspaceID && k[1] == requestID })
	s.changed(workspaceID)
}

// clock is a manual clock.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// bases are the abilities before corrections.
var bases = map[string]predict.Ability{
	"small": ability(-0.5, 0.6),
	"large": ability(0.5, 0.3),
}

func ability(level, spread float64) predict.Ability {
	a := predict.Ability{Source: predict.FromTable}
	for i := range a.Levels {
		a.Levels[i], a.Spreads[i] = level, spread
	}
	return a
}

func baseOf(model string) (predict.Ability, bool) {
	a, ok := bases[model]
	return a, ok
}

func newTestBook(store *fakeStore, c *clock) *Index {
	return NewIndex(store, store, Options{Base: baseOf, Predictor: "p1", Now: c.now})
}

// requestID returns a distinct ID for each number.
func requestID(n int) string {
	floor := id.Floor("req", start)
	return fmt.Sprintf("%s%08d", floor[:len(floor)-8], n)
}

// draft returns a rating as passed to Rate.
func draft(n int, model string, score float64) Rating {
	return Rating{
		RequestID: requestID(n), WorkspaceID: "ws_1", KeyID: "key_1", Score: score, Source: FromAPI,
		Rated: Rated{Model: model, Task: predict.Code, Difficulty: 2, Predictor: "p1"},
	}
}

func rate(t testing.TB, b *Index, r Rating) Rating {
	t.Helper()
	saved, err := b.Rate(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// refresh refreshes the index after the longest pause between two computations.
func refresh(t testing.TB, b *Index, c *clock) {
	t.Helper()
	c.move(maxPause)
	if err := b.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// chance returns the predicted success probability of a code prompt.
func chance(b *Index, workspaceID, model string) float64 {
	corrected := bases[model]
	corrected.Levels[predict.Code.Index()] += b.For(workspaceID).Shift(model, predict.Code)
	return predict.Success(&predict.Features{Task: predict.Code, Difficulty: 2}, &corrected, "").Probability
}

package admin

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"fairlead.dev/internal/admin/policies"
	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/policystore"
	"fairlead.dev/internal/replay"
	"fairlead.dev/internal/requestlog"
)

// namesOfAcme returns the names that policies in these tests can refer to.
func namesOfAcme() policy.Inventory {
	return policy.Inventory{
		Models: []string{"odd", "gpt"}, Providers: []string{"acme"}, Targets: []string{"acme/odd", "acme/gpt"}, Tags: []string{"eu"},
	}
}

// instanceRules activates policies for the instance.
func (s *site) instanceRules(source string) {
	s.Helper()
	set, problems := policy.Parse("instance", []byte(source), namesOfAcme())
	if len(problems) > 0 {
		s.Fatal(problems)
	}
	s.books.SetInstance(set, namesOfAcme())
}

// fakePolicies stores policy versions in memory.
type fakePolicies struct {
	mu       sync.Mutex
	revision int64
	versions map[string][]policystore.Version // versions by workspace, oldest first
}

func (s *fakePolicies) Revisions(context.Context) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int64{policystore.Topic: s.revision}, nil
}

func (s *fakePolicies) ChangedPolicies(_ context.Context, _ int64, visit func(string, policystore.Version) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for workspaceID, versions := range s.versions {
		if err := visit(workspaceID, versions[len(versions)-1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *fakePolicies) AddPolicies(_ context.Context, workspaceID string, basedOn int64, draft policystore.Version) (policystore.Version, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if basedOn != int64(len(s.versions[workspaceID])) {
		return policystore.Version{}, policystore.ErrConflict
	}
	s.revision++
	draft.Number = basedOn + 1
	s.versions[workspaceID] = append(s.versions[workspaceID], draft)
	return draft, nil
}

func (s *fakePolicies) PolicyVersions(_ context.Context, workspaceID string) ([]policystore.Version, error) {
	list := slices.Clone(s.versions[workspaceID])
	slices.Reverse(list)
	for i := range list {
		list[i].Source = ""
	}
	return list, nil
}

func (s *fakePolicies) PolicyVersion(_ context.Context, workspaceID string, number int64) (policystore.Version, error) {
	versions := s.versions[workspaceID]
	if number == 0 {
		number = int64(len(versions))
	}
	if number < 1 || number > int64(len(versions)) {
		return policystore.Version{}, policystore.ErrNotFound
	}
	return versions[number-1], nil
}

// replayer returns fixed results.
type replayer struct {
	mu       sync.Mutex
	queries  []policies.BacktestQuery
	hold     chan struct{} // if not nil, a backtest waits until it is closed
	tells    []replay.Progress
	fails    error
	report   *replay.Report
	verified replay.Verification
}

func (r *replayer) Backtest(ctx context.Context, q policies.BacktestQuery, progress func(replay.Progress)) (*replay.Report, error) {
	r.mu.Lock()
	r.queries = append(r.queries, q)
	r.mu.Unlock()
	for _, p := range r.tells {
		progress(p)
	}
	report := r.report
	if report == nil {
		report = &replay.Report{Considered: 7, Logged: replay.Comparison{ByCost: []replay.Change{{RequestID: "req_1", Time: noon}}}}
	}
	if r.hold != nil {
		select {
		case <-r.hold:
		case <-ctx.Done():
			return report, ctx.Err()
		}
	}
	return report, r.fails
}

func (r *replayer) Verify(context.Context, *requestlog.Entry) (replay.Verification, error) {
	return r.verified, r.fails
}

// ratings stores ratings in memory.
type ratings struct {
	log   *entryLog
	given []feedback.Rating
}

func (r *ratings) Rate(ctx context.Context, given feedback.Rating) (feedback.Rating, error) {
	e, err := r.log.Entry(ctx, given.WorkspaceID, given.RequestID)
	if err != nil {
		return given, llm.Errorf(llm.NotFound, "Request not found.")
	}
	given.ID, given.Time, given.Model, given.Task = "rat_1", noon, e.Model, "code"
	r.given = slices.DeleteFunc(r.given, func(old feedback.Rating) bool {
		return old.RequestID == given.RequestID && old.Rater() == given.Rater()
	})
	r.given = append(r.given, given)
	return given, nil
}

func (r *ratings) Of(_ context.Context, workspaceID, requestID string) ([]feedback.Rating, error) {
	list := []feedback.Rating{}
	for _, one := range r.given {
		if one.WorkspaceID == workspaceID && one.RequestID == requestID {
			list = append(list, one)
		}
	}
	return list, nil
}

func actions(t *testing.T, s *site) []string {
	t.Helper()
	list := []string{}
	for _, n := range s.fake.noted {
		list = append(list, n.Action+" "+n.Object)
	}
	return list
}

// later advances the clock of the site.
func (s *site) later(d time.Duration) { s.fake.now = s.fake.now.Add(d) }

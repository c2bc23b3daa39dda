package budget

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/policy"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/session"
)

// fakeStore has two keys, of which one limits its sessions, and one session per request. Only the methods that Shared calls are implemented.
type fakeStore struct {
	Accounts
	requestlog.SessionReader
	requestlog.Reader
	limits map[string]*policy.SessionLimit // limits by the ID of the request that a policy limited
	reads  int
}

func (*fakeStore) Keys(context.Context, string) ([]account.Key, error) {
	limit := &account.SessionLimits{Budget: &account.Budget{Amount: 3 * money.Dollar, Period: account.Total}}
	return []account.Key{{ID: "key_a", KeySettings: account.KeySettings{Name: "a", Sessions: limit}}, {ID: "key_b", KeySettings: account.KeySettings{Name: "b"}}}, nil
}

func (s *fakeStore) Key(ctx context.Context, workspaceID, id string) (account.Key, error) {
	keys, _ := s.Keys(ctx, workspaceID)
	for i := range keys {
		if keys[i].ID == id {
			return keys[i], nil
		}
	}
	return account.Key{}, account.ErrNotFound
}

func (*fakeStore) Sessions(_ context.Context, f requestlog.SessionFilter, _ requestlog.SessionPage) ([]requestlog.Session, error) {
	var found []requestlog.Session
	for _, key := range f.Key {
		for _, name := range []string{"one", "two", "gone"} {
			found = append(found, requestlog.Session{WorkspaceID: "ws", ID: name + key, KeyID: key, LastID: name + key})
		}
	}
	return found, nil
}

func (s *fakeStore) Entry(_ context.Context, _, id string) (requestlog.Entry, error) {
	s.reads++
	if id[:3] == "gon" {
		return requestlog.Entry{}, requestlog.ErrNotFound
	}
	return requestlog.Entry{ID: id, Owner: requestlog.Owner{KeyID: id[3:]}, Routing: requestlog.Routing{Decision: &route.Decision{PolicyEffects: route.PolicyEffects{SessionBudget: s.limits[id]}}}}, nil
}

func (*fakeStore) SubjectCharges(_ context.Context, subjects []string, _ time.Time, _ time.Duration) (map[string][]Charge, error) {
	charges := map[string][]Charge{}
	for _, subject := range subjects {
		charges[subject] = []Charge{{At: noon.Add(-time.Hour), Amount: money.Dollar}}
	}
	return charges, nil
}

func TestSessionBudgetsOfPoliciesAreListed(t *testing.T) {
	t.Parallel()
	names, err := session.NewNamer(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeStore{limits: map[string]*policy.SessionLimit{
		"onekey_a": {Amount: 2 * money.Dollar},                  // lower than the key's budget
		"twokey_a": {Amount: 5 * money.Dollar},                  // higher than the key's budget
		"onekey_b": {Amount: 4 * money.Dollar, Downgrade: true}, // the key has no budget
	}}
	service := &Service{
		Accounts: s, Sessions: s, Requests: s, Subjects: s, Namer: names, Now: func() time.Time { return noon },
		Status: ledger.New(ledger.Options{Now: func() time.Time { return noon }}).Status,
	}
	type row struct {
		Name, Key           string
		Amount              money.Amount
		ByPolicy, Downgrade bool
	}
	list := func() (rows []row) {
		items, _, err := service.Shared(t.Context(), "ws")
		if err != nil {
			t.Fatal(err)
		}
		for i := range items {
			one := &items[i]
			rows = append(rows, row{one.Budget.Name, one.KeyName, one.Budget.Amount, one.ByPolicy, one.Downgrade})
			if one.Status.Spent != money.Dollar {
				t.Errorf("%s spent %s, want %s", one.Budget.Name, one.Status.Spent, money.Dollar)
			}
			ofSession, err := service.ForSession(t.Context(), &requestlog.Session{WorkspaceID: "ws", ID: one.Budget.Name, LastID: one.Budget.Name, KeyID: one.KeyID})
			if err != nil || len(ofSession) != 1 || ofSession[0].Budget != one.Budget || ofSession[0].ByPolicy != one.ByPolicy {
				t.Errorf("budgets of session %s: %+v, %v", one.Budget.Name, ofSession, err)
			}
		}
		return rows
	}
	want := []row{
		{"onekey_a", "a", 2 * money.Dollar, true, false},
		{"twokey_a", "a", 3 * money.Dollar, false, false},
		{"gonekey_a", "a", 3 * money.Dollar, false, false},
		{"onekey_b", "b", 4 * money.Dollar, true, true},
	}
	if diff := cmp.Diff(want, list()); diff != "" {
		t.Error(diff)
	}
	s.reads, s.limits, service.LimitsSessions = 0, nil, func(string) bool { return false }
	if _, _, err := service.Shared(t.Context(), "ws"); err != nil || s.reads != 0 {
		t.Errorf("%d requests are read without such a policy, %v", s.reads, err)
	}
}

package budget

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/session"
)

// Kind is the type of owner whose spending a budget limits.
type Kind string

// Kinds of budgets.
const (
	OfWorkspace Kind = "workspace"
	OfKey       Kind = "key"
	OfSession   Kind = "session" // budget of a key's session
	OfUser      Kind = "user"    // budget of a key's end user
)

// Item is a budget with its usage and its forecast.
type Item struct {
	ID        string // ID in the API: the ID of the workspace or the key; otherwise built from the kind, the key and the name
	Kind      Kind
	Budget    ledger.Budget
	Status    ledger.Status
	KeyID     string // key of the budget, or of its session or end user
	KeyName   string
	CreatedBy string // account that created the key
	Downgrade bool   // whether auto:cost serves requests once the warning threshold is reached
	ByPolicy  bool   // whether a policy sets the budget, instead of the key
	Forecast  Forecast

	since time.Time // creation time of the owner; zero if unknown
}

// Left returns the part of the amount that is neither spent nor held.
func (i *Item) Left() money.Amount {
	return max(i.Budget.Amount.Sub(i.Status.Spent).Sub(i.Status.Held), 0)
}

// Accounts reads workspaces and keys.
type Accounts interface {
	Workspace(ctx context.Context, id string) (account.Workspace, error)
	Keys(ctx context.Context, workspaceID string) ([]account.Key, error)
	Key(ctx context.Context, workspaceID, id string) (account.Key, error)
}

// ChargeReader sums charges by interval, beginning at since. Intervals without charges are omitted.
type ChargeReader interface {
	// WorkspaceCharges returns the charges of a workspace. Charges are stored as sums per hour, so since is a full hour.
	WorkspaceCharges(ctx context.Context, workspaceID string, since time.Time, step time.Duration) ([]Charge, error)
	// KeyCharges returns the charges of the given workspace keys by key ID.
	KeyCharges(ctx context.Context, workspaceID string, keys []string, since time.Time, step time.Duration) (map[string][]Charge, error)
}

// SubjectReader sums the charges of sessions and end users. It uses the names that session.Namer derives.
type SubjectReader interface {
	SubjectCharges(ctx context.Context, subjects []string, since time.Time, step time.Duration) (map[string][]Charge, error)
}

// Service reads the budgets of a workspace.
type Service struct {
	Accounts Accounts
	Status   func(ledger.Budget) ledger.Status
	// Spent returns the total charges of a budget since the given time. It is called for budgets that the ledger has not loaded.
	Spent    func(ctx context.Context, budgetID string, since time.Time) (money.Amount, error)
	Charges  ChargeReader
	Subjects SubjectReader
	Sessions requestlog.SessionReader
	Requests requestlog.Reader
	Namer    *session.Namer
	// LimitsSessions reports whether an active policy of a workspace sets session budgets. Every workspace is
	// assumed to have such a policy if LimitsSessions is nil.
	LimitsSessions func(workspaceID string) bool
	Now            func() time.Time
}

const (
	listedSessions = 200 // maximum number of recent sessions whose budgets are listed
	sessionAge     = 30 * 24 * time.Hour
)

// Owned returns the budget of the workspace, followed by the budgets of its active keys.
func (s *Service) Owned(ctx context.Context, workspaceID string) ([]Item, error) {
	workspace, err := s.Accounts.Workspace(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	keys, err := s.Accounts.Keys(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k account.Key) bool { return !k.RevokedAt.IsZero() })
	items := s.ownItems(&workspace, keys)
	for i := range items {
		if err := s.loadStatus(ctx, &items[i]); err != nil {
			return nil, err
		}
	}
	return items, s.predictOwned(ctx, workspaceID, items)
}

// ownItems returns the budgets of a workspace and the given keys, without the amounts spent.
func (s *Service) ownItems(w *account.Workspace, keys []account.Key) []Item {
	var items []Item
	for _, b := range Applied(&account.Grant{Key: &account.Key{}, Workspace: w}) {
		items = append(items, Item{ID: w.ID, Kind: OfWorkspace, Budget: b, since: w.CreatedAt})
	}
	for i := range keys {
		k := &keys[i]
		for _, b := range Applied(&account.Grant{Key: k, Workspace: &account.Workspace{}}) {
			items = append(items, Item{ID: k.ID, Kind: OfKey, Budget: b, KeyID: k.ID, KeyName: k.Name, CreatedBy: k.CreatedBy, since: k.CreatedAt})
		}
	}
	return items
}

func (s *Service) loadStatus(ctx context.Context, i *Item) (err error) {
	i.Status = s.Status(i.Budget)
	if !i.Status.Loaded {
		i.Status.Spent, err = s.Spent(ctx, i.Budget.ID, i.Status.Start)
		i.Status.Percent = percent(i.Status.Spent, i.Budget.Amount)
	}
	return err
}

func percent(spent, amount money.Amount) float64 {
	if amount <= 0 {
		return 100
	}
	return 100 * float64(spent) / float64(amount)
}

// predictOwned sets the budget forecasts for a workspace and its keys.
func (s *Service) predictOwned(ctx context.Context, workspaceID string, items []Item) error {
	now := s.Now()
	byKey := map[time.Duration]map[string][]Charge{}
	for i := range items {
		one := &items[i]
		recent := NewRecentSpending(one.Budget.Period, time.Time{}, now)
		var err error
		if one.Kind == OfWorkspace {
			recent.Charges, err = s.Charges.WorkspaceCharges(ctx, workspaceID, recent.From, time.Hour)
		} else {
			if byKey[recent.Step] == nil {
				byKey[recent.Step], err = s.Charges.KeyCharges(ctx, workspaceID, keysWithStep(items, recent.Step, now), recent.From, time.Hour)
			}
			recent.Charges = byKey[recent.Step][one.KeyID]
		}
		if err != nil {
			return fmt.Errorf("read recent spending: %w", err)
		}
		one.predict(recent, now)
	}
	return nil
}

// keysWithStep returns the keys whose budgets are extrapolated from intervals of the given length.
func keysWithStep(items []Item, step time.Duration, now time.Time) []string {
	var keys []string
	for i := range items {
		if items[i].Kind == OfKey && NewRecentSpending(items[i].Budget.Period, time.Time{}, now).Step == step {
			keys = append(keys, items[i].KeyID)
		}
	}
	return keys
}

// predict sets the forecast of the budget.
func (i *Item) predict(recent RecentSpending, now time.Time) {
	recent.From = NewRecentSpending(i.Budget.Period, i.spendingStart(recent.Charges, now), now).From
	i.Forecast = Predict(&i.Budget, i.Status, recent, now)
}

// spendingStart returns the start of an owner's spending: its creation time or, if that is unknown, the time of its first charge. It
// returns the zero time for an owner with charges before its creation, such as an imported key.
func (i *Item) spendingStart(charges []Charge, now time.Time) time.Time {
	if i.since.IsZero() {
		if len(charges) == 0 {
			return now
		}
		return charges[0].At
	}
	if len(charges) > 0 && charges[0].At.Before(i.since.Truncate(time.Hour)) {
		return time.Time{}
	}
	return i.since
}

// Shared returns the budgets of sessions and end users that were active in the last 30 days, the most used first. It considers the 200 most
// recent sessions: of all keys if a policy limits sessions, otherwise of the keys that limit their sessions or end users. more is true if
// 200 sessions were found, because further sessions may then exist.
func (s *Service) Shared(ctx context.Context, workspaceID string) (items []Item, more bool, err error) {
	keys, err := s.Accounts.Keys(ctx, workspaceID)
	if err != nil {
		return nil, false, err
	}
	byPolicy := s.LimitsSessions == nil || s.LimitsSessions(workspaceID)
	active, ids := map[string]*account.Key{}, []string(nil)
	for i := range keys {
		k := &keys[i]
		limited := k.Sessions != nil && (k.Sessions.Budget != nil || k.Sessions.UserBudget != nil)
		if k.RevokedAt.IsZero() && (byPolicy || limited) {
			active[k.ID], ids = k, append(ids, k.ID)
		}
	}
	if len(ids) == 0 {
		return nil, false, nil
	}
	found, err := s.Sessions.Sessions(ctx, requestlog.SessionFilter{WorkspaceID: workspaceID, Key: ids, From: s.Now().Add(-sessionAge)}, requestlog.SessionPage{Limit: listedSessions})
	if err != nil {
		return nil, false, err
	}
	seen := map[string]bool{}
	for i := range found {
		one := &found[i]
		own := s.subjectItems(workspaceID, active[one.KeyID], one.ID, one.EndUser)
		if byPolicy {
			if own, err = s.limitByPolicy(ctx, one, active, own); err != nil {
				return nil, false, err
			}
		}
		for _, item := range own {
			if !seen[item.ID] {
				seen[item.ID], items = true, append(items, item)
			}
		}
	}
	if err := s.loadSubjects(ctx, items); err != nil {
		return nil, false, err
	}
	slices.SortStableFunc(items, func(a, b Item) int { return cmp.Compare(b.Status.Percent, a.Status.Percent) })
	return items, len(found) == listedSessions, nil
}

// ForSession returns the budgets that apply to a session: the session's own budget and the budget of its end user. A session whose key was
// deleted has no budgets.
func (s *Service) ForSession(ctx context.Context, one *requestlog.Session) ([]Item, error) {
	key, err := s.Accounts.Key(ctx, one.WorkspaceID, one.KeyID)
	if errors.Is(err, account.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	items, err := s.limitByPolicy(ctx, one, map[string]*account.Key{key.ID: &key}, s.subjectItems(one.WorkspaceID, &key, one.ID, one.EndUser))
	if err != nil {
		return nil, err
	}
	return items, s.loadSubjects(ctx, items)
}

// subjectItems returns the budgets that a key sets for a session and an end user, without their usage.
func (s *Service) subjectItems(workspaceID string, k *account.Key, name, endUser string) []Item {
	if k == nil {
		return nil
	}
	var items []Item
	for _, b := range s.Namer.Budgets(&account.Grant{Key: k, Workspace: &account.Workspace{ID: workspaceID}}, name, endUser) {
		kind, _, _ := strings.Cut(b.ID, ":")
		items = append(items, Item{
			ID: subjectID(Kind(kind), k.ID, b.Name), Kind: Kind(kind), Budget: b, KeyID: k.ID, KeyName: k.Name, CreatedBy: k.CreatedBy, Downgrade: k.Sessions.Downgrade,
		})
	}
	return items
}

// limitByPolicy adds the budget that a policy set for the latest request of a session, unless the key sets a lower budget.
func (s *Service) limitByPolicy(ctx context.Context, one *requestlog.Session, keys map[string]*account.Key, items []Item) ([]Item, error) {
	last, err := s.Requests.Entry(ctx, one.WorkspaceID, one.LastID)
	if errors.Is(err, requestlog.ErrNotFound) { // the request was deleted
		return items, nil
	}
	k := keys[last.KeyID]
	if err != nil || k == nil || last.Decision == nil || last.Decision.SessionBudget == nil {
		return items, err
	}
	limit := *last.Decision.SessionBudget
	b, ok := s.Namer.PolicyBudget(&account.Grant{Key: k, Workspace: &account.Workspace{ID: one.WorkspaceID}}, one.ID, limit)
	if !ok {
		return items, nil
	}
	item := Item{
		ID: subjectID(OfSession, k.ID, b.Name), Kind: OfSession, Budget: b, KeyID: k.ID, KeyName: k.Name, CreatedBy: k.CreatedBy,
		Downgrade: limit.Downgrade, ByPolicy: true,
	}
	i := slices.IndexFunc(items, func(i Item) bool { return i.ID == item.ID })
	if i < 0 {
		return append(items, item), nil
	}
	if items[i].Budget.WarnOnly || items[i].Budget.Amount > b.Amount {
		items[i] = item
	}
	return items, nil
}

// loadSubjects sets the usage and the forecasts of session and end-user budgets.
func (s *Service) loadSubjects(ctx context.Context, items []Item) error {
	if len(items) == 0 {
		return nil
	}
	now := s.Now()
	groups := map[time.Time][]string{} // subjects by the time from which their charges are read
	from := func(i *Item) time.Time {
		if i.Status.Start.IsZero() {
			return time.Time{}
		}
		recent := NewRecentSpending(i.Budget.Period, time.Time{}, now).From
		if i.Status.Start.Before(recent) {
			return i.Status.Start
		}
		return recent
	}
	for i := range items {
		one := &items[i]
		one.Status = s.Status(one.Budget)
		groups[from(one)] = append(groups[from(one)], one.Budget.ID)
	}
	charges := map[string][]Charge{}
	for since, subjects := range groups {
		found, err := s.Subjects.SubjectCharges(ctx, subjects, since, time.Hour)
		if err != nil {
			return fmt.Errorf("read the spending of sessions: %w", err)
		}
		maps.Copy(charges, found)
	}
	for i := range items {
		one := &items[i]
		known := charges[one.Budget.ID]
		if !one.Status.Loaded {
			one.Status.Spent = 0
			for _, c := range known {
				if !c.At.Before(one.Status.Start) {
					one.Status.Spent = one.Status.Spent.Add(c.Amount)
				}
			}
			one.Status.Percent = percent(one.Status.Spent, one.Budget.Amount)
		}
		recent := NewRecentSpending(one.Budget.Period, time.Time{}, now)
		recent.Charges = known
		one.predict(recent, now)
	}
	return nil
}

// subjectID returns the ID of a session or end-user budget.
func subjectID(k Kind, keyID, name string) string {
	return string(k) + "." + keyID + "." + base64.RawURLEncoding.EncodeToString([]byte(name))
}

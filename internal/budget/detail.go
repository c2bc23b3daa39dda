package budget

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/requestlog"
)

// Detail is a budget with its history.
type Detail struct {
	Item
	Start    time.Time // start of the period; if the budget never resets, creation of the owner or, if that is later or unknown, the first charge
	Step     time.Duration
	Spent    []Charge // cumulative spending at times since Start, in chronological order
	Expected []Point  // forecast curve from the current time on
	Spenders []Spender
	Rejected []requestlog.Entry // requests that the budget rejected, newest first
}

// Spender is a key, a model or a request with its share of a budget's spending.
type Spender struct {
	By       string // "key", "model" or "request"
	Name     string
	Label    string // display name
	Requests int64
	Cost     money.Amount
}

const (
	maxSpenders  = 8
	maxRejected  = 10
	searchedRows = 200 // maximum number of rejected requests that are searched for one budget
	listTime     = 2 * time.Second
)

// Describe returns a budget with its history.
func (s *Service) Describe(ctx context.Context, workspaceID, id string) (Detail, error) {
	item, err := s.Find(ctx, workspaceID, id)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{Item: item, Start: item.Status.Start}
	now := s.Now()
	if d.Spent, err = s.history(ctx, workspaceID, &d, now); err != nil {
		return Detail{}, err
	}
	end := now.AddDate(0, 0, 30)
	switch {
	case !d.Status.End.IsZero():
		end = d.Status.End
	case d.Forecast.Outlook == RunsOut && d.Forecast.UsedUp.Before(now.AddDate(0, 0, 80)):
		end = d.Forecast.UsedUp.Add(d.Forecast.UsedUp.Sub(now) / 8)
	}
	d.Expected = d.Forecast.Points(end)
	if d.Spenders, err = s.spenders(ctx, workspaceID, &d, now); err != nil {
		return Detail{}, err
	}
	d.Rejected, err = s.rejected(ctx, workspaceID, &d, now)
	return d, err
}

// stepOf returns the interval length of a spending curve. The charges of keys and workspaces are stored as sums per hour; the charges
// of sessions and end users have exact times.
func stepOf(k Kind, span time.Duration) time.Duration {
	exact := k == OfSession || k == OfUser
	switch {
	case exact && span <= 3*time.Hour:
		return time.Minute
	case exact && span <= 25*time.Hour:
		return 10 * time.Minute
	case span <= 8*24*time.Hour:
		return time.Hour
	case span <= 40*24*time.Hour:
		return 6 * time.Hour
	}
	return 24 * time.Hour
}

// history returns the cumulative spending at the end of each interval. The last value is the current total of the ledger. Charges
// are summed per UTC hour or day, so the first interval can include spending from before the period.
func (s *Service) history(ctx context.Context, workspaceID string, d *Detail, now time.Time) ([]Charge, error) {
	if d.Start.IsZero() {
		d.Start = d.since
	}
	if d.Start.IsZero() { // a session or end user whose budget never resets: the curve begins with the first charge
		charges, err := s.chargesOf(ctx, workspaceID, &d.Item, time.Time{}, time.Hour)
		if err != nil {
			return nil, err
		}
		d.Start = now
		if len(charges) > 0 {
			d.Start = charges[0].At
		}
	}
	end := now
	if !d.Status.End.IsZero() {
		end = d.Status.End
	}
	d.Step = stepOf(d.Kind, end.Sub(d.Start))
	since := d.Start.Truncate(time.Hour)
	if d.Step >= 24*time.Hour {
		since = d.Start.UTC().Truncate(24 * time.Hour)
	}
	charges, err := s.chargesOf(ctx, workspaceID, &d.Item, since, d.Step)
	if err != nil {
		return nil, err
	}
	if len(charges) > 0 && d.Status.End.IsZero() && (d.since.IsZero() || charges[0].At.Before(d.Start)) {
		d.Start = charges[0].At
	}
	curve, total := []Charge{{At: d.Start}}, money.Amount(0)
	for _, c := range charges {
		total = min(total.Add(c.Amount), d.Status.Spent)
		end := c.At.Add(d.Step)
		if !end.Before(now) || !end.After(d.Start) {
			continue
		}
		if begin := c.At; begin.After(curve[len(curve)-1].At) { // keeps the curve level over intervals without charges
			curve = append(curve, Charge{At: begin, Amount: curve[len(curve)-1].Amount})
		}
		curve = append(curve, Charge{At: end, Amount: total})
	}
	return append(curve, Charge{At: now, Amount: d.Status.Spent}), nil
}

func (s *Service) chargesOf(ctx context.Context, workspaceID string, i *Item, since time.Time, step time.Duration) ([]Charge, error) {
	switch i.Kind {
	case OfWorkspace:
		return s.Charges.WorkspaceCharges(ctx, workspaceID, since, step)
	case OfKey:
		found, err := s.Charges.KeyCharges(ctx, workspaceID, []string{i.KeyID}, since, step)
		return found[i.KeyID], err
	case OfSession, OfUser:
	}
	found, err := s.Subjects.SubjectCharges(ctx, []string{i.Budget.ID}, since, step)
	return found[i.Budget.ID], err
}

// spenders returns the keys and models with the highest cost in the period. Sums per key and model are not stored for sessions and end
// users, so for their budgets it returns the most expensive requests.
func (s *Service) spenders(ctx context.Context, workspaceID string, d *Detail, now time.Time) ([]Spender, error) {
	filter := requestlog.RollupFilter{WorkspaceID: workspaceID, From: d.Start, To: now}
	switch d.Kind {
	case OfWorkspace:
		spenders, err := s.groups(ctx, filter, "key")
		if err != nil {
			return nil, err
		}
		keys, err := s.Accounts.Keys(ctx, workspaceID)
		if err != nil {
			return nil, err
		}
		for i := range spenders { // a deleted key is labelled with its ID
			one := &spenders[i]
			if one.Name == "" {
				one.Label = "Playground"
			} else if at := slices.IndexFunc(keys, func(k account.Key) bool { return k.ID == one.Name }); at >= 0 {
				one.Label = keys[at].Name
			}
		}
		models, err := s.groups(ctx, filter, "model")
		return append(spenders, models...), err
	case OfKey:
		filter.Key = []string{d.KeyID}
		return s.groups(ctx, filter, "model")
	case OfSession, OfUser:
	}
	f := d.requests(workspaceID, now)
	f.MinCost = new(money.Amount(1))
	entries, err := s.list(ctx, f, requestlog.Page{Sort: "cost", Limit: maxSpenders})
	spenders := make([]Spender, 0, len(entries))
	for i := range entries {
		if e := &entries[i]; e.Cost != nil {
			spenders = append(spenders, Spender{By: "request", Name: e.ID, Label: e.Model, Requests: 1, Cost: *e.Cost})
		}
	}
	return spenders, err
}

func (s *Service) groups(ctx context.Context, f requestlog.RollupFilter, by string) ([]Spender, error) {
	groups, err := s.Figures.Breakdown(ctx, requestlog.BreakdownQuery{RollupFilter: f, By: by})
	if err != nil {
		return nil, err
	}
	var list []Spender
	for i := range groups {
		if g := &groups[i]; g.Cost > 0 {
			list = append(list, Spender{By: by, Name: g.Name, Label: g.Name, Requests: g.Requests, Cost: g.Cost})
		}
	}
	slices.SortStableFunc(list, func(a, b Spender) int { return cmp.Compare(b.Cost, a.Cost) })
	return list[:min(len(list), maxSpenders)], nil
}

// requests returns the filter for the requests that a budget applies to.
func (d *Detail) requests(workspaceID string, now time.Time) requestlog.Filter {
	f := requestlog.Filter{WorkspaceID: workspaceID, From: d.Start, To: now.Add(time.Minute)}
	if d.KeyID != "" {
		f.Key = []string{d.KeyID}
	}
	switch d.Kind {
	case OfSession:
		f.Session = []string{d.Budget.Name}
	case OfUser:
		f.User = []string{d.Budget.Name}
	case OfWorkspace, OfKey:
	}
	return f
}

// rejected returns the latest requests that the budget rejected in its period.
func (s *Service) rejected(ctx context.Context, workspaceID string, d *Detail, now time.Time) ([]requestlog.Entry, error) {
	f := d.requests(workspaceID, now)
	f.Outcome, f.Status = []string{string(requestlog.Rejected)}, []int{http.StatusPaymentRequired}
	entries, err := s.list(ctx, f, requestlog.Page{Limit: searchedRows})
	var found []requestlog.Entry
	for i := range entries {
		if e := &entries[i]; e.Error != nil && ledger.Rejects(d.Budget.ID, e.Error.Message) && len(found) < maxRejected {
			found = append(found, *e)
		}
	}
	return found, err
}

// list reads requests for at most two seconds. A search that takes longer returns the requests found so far.
func (s *Service) list(ctx context.Context, f requestlog.Filter, p requestlog.Page) ([]requestlog.Entry, error) {
	p.Within = listTime
	entries, err := s.Requests.Entries(ctx, f, p)
	if _, unfinished := errors.AsType[*requestlog.UnfinishedError](err); unfinished || errors.Is(err, requestlog.ErrTooSlow) {
		return entries, nil
	}
	return entries, err
}

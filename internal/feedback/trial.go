package feedback

import (
	"sync"

	"fairlead/internal/money"
)

// Exploration is the spending on trials of other models, since this replica started.
type Exploration struct {
	Requests int64        // requests that took part
	Trials   int64        // requests that another model served as a trial
	Spent    money.Amount // cost of all requests that took part
	Tried    money.Amount // cost of the trials
	Extra    money.Amount // expected cost of the trials minus that of the router's choices; negative if trials were cheaper
	Quality  float64      // sum of the predicted quality that trials gave up
}

// trials bounds the spending on exploration by workspace.
type trials struct {
	mu          sync.Mutex
	byWorkspace map[string]*Exploration
}

// maxTrialCost is the cost of a trial in mean costs of a request that must be left. Trials may cost four times the router's choice.
const maxTrialCost = 4

// allowed reports whether a trial fits into the share of spending.
func (t *trials) allowed(workspaceID string, share float64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.byWorkspace[workspaceID]
	if e == nil || e.Requests == 0 {
		return false
	}
	spent := e.Spent.Dollars()
	return e.Tried.Dollars()+maxTrialCost*spent/float64(e.Requests) <= share*spent
}

func (t *trials) figures(workspaceID string) Exploration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.byWorkspace[workspaceID]; e != nil {
		return *e
	}
	return Exploration{}
}

// Trial is a finished request of a workspace with exploration.
type Trial struct {
	Explored bool         // another model served the request
	Cost     money.Amount // actual cost
	Extra    money.Amount // expected cost minus that of the router's choice
	Loss     float64      // predicted quality of the router's choice minus that of the model; 0 if it is higher
}

// Explore returns the share of spending that trials may have, and the least predicted quality of a tried model. The share is 0 while
// exploration is off or its share is used up.
func (b *Index) Explore(workspaceID string) (share, floor float64) {
	s := (*b.workspaces.Load())[workspaceID]
	if s == nil || s.learned.Settings.Disabled || s.learned.Settings.Explore <= 0 {
		return 0, 0
	}
	if !b.trials.allowed(workspaceID, s.learned.Settings.Explore) {
		return 0, 0
	}
	return s.learned.Settings.Explore, s.learned.Settings.Floor
}

// Explores reports whether a workspace has exploration.
func (b *Index) Explores(workspaceID string) bool {
	s := (*b.workspaces.Load())[workspaceID]
	return s != nil && !s.learned.Settings.Disabled && s.learned.Settings.Explore > 0
}

// Tried counts a finished request of a workspace with exploration.
func (b *Index) Tried(workspaceID string, r Trial) {
	t := &b.trials
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byWorkspace == nil {
		t.byWorkspace = map[string]*Exploration{}
	}
	e := t.byWorkspace[workspaceID]
	if e == nil {
		e = &Exploration{}
		t.byWorkspace[workspaceID] = e
	}
	e.Requests++
	e.Spent = e.Spent.Add(r.Cost)
	if !r.Explored {
		return
	}
	e.Trials++
	e.Tried, e.Extra = e.Tried.Add(r.Cost), e.Extra.Add(r.Extra)
	e.Quality += r.Loss
}

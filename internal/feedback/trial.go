package feedback

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"fairlead.dev/internal/money"
)

// Exploration summarises the trials of other models on all replicas since the settings were last changed.
type Exploration struct {
	Requests int64        // number of finished requests, with and without trials
	Trials   int64        // number of requests that another model served as a trial
	Spent    money.Amount // total cost of the finished requests
	Tried    money.Amount // total cost of the trials
	Extra    money.Amount // expected cost of the trials minus the expected cost of the router's choices; negative if trials were cheaper
	Quality  float64      // sum of the trial losses; see Trial.Loss
}

// plus returns e + sign*o.
func (e Exploration) plus(o Exploration, sign int64) Exploration {
	factor := money.Amount(sign)
	return Exploration{
		Requests: e.Requests + sign*o.Requests, Trials: e.Trials + sign*o.Trials, Spent: e.Spent.Add(factor * o.Spent),
		Tried: e.Tried.Add(factor * o.Tried), Extra: e.Extra.Add(factor * o.Extra), Quality: e.Quality + float64(sign)*o.Quality,
	}
}

// Claim requests an amount to spend on trials. Replicas claim before they spend, so that all of them together stay within the exploration
// share.
type Claim struct {
	WorkspaceID string
	Replica     string
	Added       Exploration // trials of the replica since its last claim
	Share       float64     // maximum share of spending for trials; 0 to claim nothing
	Now         time.Time
	Expires     time.Time // time after which other replicas may claim the amount
}

// Grant returns the amount granted to a replica: half of the share that is neither spent nor claimed. The other half remains for later
// claims. total contains the trials of all replicas, and claimed is the sum of the other replicas' claims.
func (c *Claim) Grant(total *Exploration, claimed money.Amount) money.Amount {
	limit := money.Amount(c.Share * float64(total.Spent))
	return max(limit.Sub(total.Tried).Sub(claimed)/2, 0)
}

// A replica may spend a claim during claimTime. The store reserves it for the longer claimHeld, because the replicas' clocks differ.
const (
	claimTime = 30 * time.Second
	claimHeld = 2 * time.Minute
)

// trials limits exploration spending per workspace.
type trials struct {
	mu          sync.Mutex
	byWorkspace map[string]*workspaceTrials
}

// workspaceTrials holds the trials of a workspace.
type workspaceTrials struct {
	total   Exploration // trials of all replicas at the last exchange
	added   Exploration // trials of this replica since the last exchange
	claim   money.Amount
	expires time.Time
}

// maxTrialCost is the amount that must remain in the claim for a trial, as a multiple of the mean cost of a request. It equals
// the limit in package route: an explored model may cost up to four times as much as the router's choice.
const maxTrialCost = 4

// allowed reports whether a trial fits into this replica's claim.
func (t *trials) allowed(workspaceID string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.byWorkspace[workspaceID]
	if w == nil || !now.Before(w.expires) {
		return false
	}
	e := w.total.plus(w.added, 1)
	return e.Requests > 0 && w.added.Tried.Dollars()+maxTrialCost*e.Spent.Dollars()/float64(e.Requests) <= w.claim.Dollars()
}

func (t *trials) figures(workspaceID string) Exploration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.byWorkspace[workspaceID]; w != nil {
		return w.total.plus(w.added, 1)
	}
	return Exploration{}
}

// of returns the trials of a workspace. The caller holds the lock.
func (t *trials) of(workspaceID string) *workspaceTrials {
	if t.byWorkspace == nil {
		t.byWorkspace = map[string]*workspaceTrials{}
	}
	w := t.byWorkspace[workspaceID]
	if w == nil {
		w = &workspaceTrials{}
		t.byWorkspace[workspaceID] = w
	}
	return w
}

func (t *trials) restart(workspaceID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byWorkspace, workspaceID)
}

// pending returns this replica's trials that have not been exchanged yet, by workspace.
func (t *trials) pending() map[string]Exploration {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := map[string]Exploration{}
	for workspaceID, w := range t.byWorkspace {
		all[workspaceID] = w.added
	}
	return all
}

// syncTrials exchanges trial totals with the other replicas and renews this replica's claims. It claims nothing for a workspace without
// requests on this replica since the last exchange.
func (b *Index) syncTrials(ctx context.Context) error {
	pending := b.trials.pending()
	for workspaceID, s := range *b.workspaces.Load() {
		if _, counted := pending[workspaceID]; !counted && s.learned.Settings.Explore > 0 {
			pending[workspaceID] = Exploration{}
		}
	}
	for _, workspaceID := range slices.Sorted(maps.Keys(pending)) {
		added, now := pending[workspaceID], b.options.Now()
		s := (*b.workspaces.Load())[workspaceID]
		if s == nil { // the workspace was deleted
			b.trials.restart(workspaceID)
			continue
		}
		c := Claim{WorkspaceID: workspaceID, Replica: b.replica, Added: added, Now: now, Expires: now.Add(claimHeld)}
		if added.Requests > 0 && !s.learned.Settings.Disabled {
			c.Share = s.learned.Settings.Explore
		}
		total, granted, err := b.writer.SyncExploration(ctx, c)
		if err != nil {
			return err
		}
		b.trials.mu.Lock()
		w := b.trials.of(workspaceID)
		w.total, w.added, w.claim, w.expires = total, w.added.plus(added, -1), granted, now.Add(claimTime)
		b.trials.mu.Unlock()
	}
	return nil
}

// Trial describes a finished request in a workspace with exploration enabled.
type Trial struct {
	Explored bool         // whether another model served the request as a trial
	Cost     money.Amount // actual cost
	Extra    money.Amount // expected cost minus the expected cost of the router's choice
	Loss     float64      // predicted quality of the router's choice minus the model's predicted quality; 0 if the model's is higher
}

// Explore returns the maximum share of spending for trials and the minimum predicted quality of a model used in a trial. The share is
// 0 if exploration is off, or if this replica's claim has expired or has too little left for a trial.
func (b *Index) Explore(workspaceID string) (share, floor float64) {
	s := (*b.workspaces.Load())[workspaceID]
	if s == nil || s.learned.Settings.Disabled || s.learned.Settings.Explore <= 0 || !b.trials.allowed(workspaceID, b.options.Now()) {
		return 0, 0
	}
	return s.learned.Settings.Explore, s.learned.Settings.Floor
}

// Explores reports whether exploration is enabled in a workspace.
func (b *Index) Explores(workspaceID string) bool {
	s := (*b.workspaces.Load())[workspaceID]
	return s != nil && !s.learned.Settings.Disabled && s.learned.Settings.Explore > 0
}

// Tried records a finished request in a workspace with exploration enabled.
func (b *Index) Tried(workspaceID string, r Trial) {
	t := &b.trials
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &t.of(workspaceID).added
	e.Requests++
	e.Spent = e.Spent.Add(r.Cost)
	if !r.Explored {
		return
	}
	e.Trials++
	e.Tried, e.Extra = e.Tried.Add(r.Cost), e.Extra.Add(r.Extra)
	e.Quality += r.Loss
}

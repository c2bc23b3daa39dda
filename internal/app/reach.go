package app

import (
	"context"
	"sync"
	"time"

	"fairlead/internal/id"
)

const (
	reachSetting = "redis_reached"
	reachEvery   = 2 * time.Second
	reachFor     = 3 * reachEvery // after which a sign of reaching Redis is old
)

// reach is how a replica that has lost Redis learns through the database whether others have it: those write a sign that changes.
// No clock is compared.
type reach struct {
	mu      sync.Mutex
	sign    string
	changed time.Time
}

// see takes in what the database says, and reports whether it is a fresh sign. The first one that is seen counts as fresh: it may be.
func (r *reach) see(sign string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if sign != r.sign {
		r.sign, r.changed = sign, time.Now()
	}
	return r.sign != "" && time.Since(r.changed) < reachFor
}

// reachedElsewhere reports whether a replica has Redis, as far as the database tells.
func (a *App) reachedElsewhere(ctx context.Context) (bool, error) {
	sign, err := a.db.Setting(ctx, reachSetting)
	if err != nil {
		return false, err
	}
	return a.fellows.reach.see(sign), nil
}

// showReach writes the sign while this replica has Redis, and looks at it while it has not.
func (a *App) showReach(ctx context.Context) {
	tick := time.NewTicker(reachEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		limited, cancel := context.WithTimeout(ctx, reachEvery)
		if a.fellows.link.State().Ready { // also the last one that has it: the others may be cut off
			sign := id.New("rep", time.Now())
			if a.db.SetSetting(limited, reachSetting, sign) == nil { // the database may be away: then it tells nobody
				a.fellows.reach.see(sign)
			}
		} else {
			_, _ = a.reachedElsewhere(limited) // seeing it is what matters
		}
		cancel()
	}
}

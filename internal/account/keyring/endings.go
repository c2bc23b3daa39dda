package keyring

import (
	"sync"

	"fairlead.dev/internal/account"
)

// endings holds, for each key, the last account.Ending received from another replica, until the store contains the change.
type endings struct {
	mu   sync.RWMutex
	byID map[string]account.Ending
}

// add records an ending and reports whether it is new.
func (x *endings) add(e account.Ending) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	old, ok := x.byID[e.KeyID]
	if ok && (old.Before.IsZero() || (!e.Before.IsZero() && !e.Before.After(old.Before))) {
		return false
	}
	if x.byID == nil || len(x.byID) >= mostEndings {
		x.byID = map[string]account.Ending{} // drop all endings when full: the older ones are in the store by now
	}
	x.byID[e.KeyID] = e
	return true
}

// mostEndings is the maximum number of stored endings.
const mostEndings = 100_000

// of returns the ending that invalidates the secret of k at the given position, if any.
func (x *endings) of(k *account.Key, position int) (account.Ending, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.byID[k.ID]
	return e, ok && (e.Before.IsZero() || k.Secrets[position].CreatedAt.Before(e.Before))
}

// knows reports whether the revocation stored in k was already received from another replica.
func (x *endings) knows(k *account.Key) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	reported, ok := x.byID[k.ID]
	stored, ended := k.Ending()
	return ok && ended && reported.Before.Equal(stored.Before)
}

// drop removes the revocation of k after the store contains it.
func (x *endings) drop(k *account.Key) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.byID[k.ID]
	if !ok || len(k.Secrets) == 0 {
		return
	}
	newest := k.Secrets[len(k.Secrets)-1]
	if !k.RevokedAt.IsZero() || (!e.Before.IsZero() && !newest.CreatedAt.Before(e.Before)) {
		delete(x.byID, k.ID)
	}
}

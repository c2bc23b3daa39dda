package account

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Ending reports that secrets of a key are no longer valid. Replicas exchange it, so that a revoked key is rejected everywhere,
// even without the database.
type Ending struct {
	KeyID  string    `json:"key"`
	Before time.Time `json:"before,omitzero"` // secrets created earlier are invalid; zero if the key is revoked
}

// Message encodes the ending.
func (e Ending) Message() (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("write the end of a key: %w", err)
	}
	return string(text), nil
}

// ParseEnding decodes a message.
func ParseEnding(message string) (Ending, error) {
	var e Ending
	if err := json.Unmarshal([]byte(message), &e); err != nil {
		return Ending{}, fmt.Errorf("read the end of a key: %w", err)
	}
	if e.KeyID == "" {
		return Ending{}, fmt.Errorf("read the end of a key: it names none")
	}
	return e, nil
}

// endingOf returns the ending of a key that was revoked or rotated without a grace period.
func endingOf(k *Key) (Ending, bool) {
	if !k.RevokedAt.IsZero() {
		return Ending{KeyID: k.ID}, true
	}
	newest := len(k.Secrets) - 1
	if newest < 1 {
		return Ending{}, false
	}
	begun := k.Secrets[newest].CreatedAt
	for _, older := range k.Secrets[:newest] {
		if older.ExpiresAt.IsZero() || older.ExpiresAt.After(begun) {
			return Ending{}, false
		}
	}
	return Ending{KeyID: k.ID, Before: begun}, true
}

// endings are the endings reported by other replicas that are not in the store yet.
type endings struct {
	mu   sync.RWMutex
	byID map[string]Ending
}

// add adds an ending and reports whether it is new.
func (x *endings) add(e Ending) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	old, ok := x.byID[e.KeyID]
	if ok && (old.Before.IsZero() || (!e.Before.IsZero() && !e.Before.After(old.Before))) {
		return false
	}
	if x.byID == nil || len(x.byID) >= mostEndings {
		x.byID = map[string]Ending{} // older endings are in the store by now
	}
	x.byID[e.KeyID] = e
	return true
}

// mostEndings is the maximum number of endings.
const mostEndings = 100_000

// of returns the ending of a key that applies to a secret, if any.
func (x *endings) of(k *Key, position int) (Ending, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.byID[k.ID]
	return e, ok && (e.Before.IsZero() || k.Secrets[position].CreatedAt.Before(e.Before))
}

// knows reports whether the ending of a key was already reported.
func (x *endings) knows(k *Key) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	reported, ok := x.byID[k.ID]
	stored, ended := endingOf(k)
	return ok && ended && reported.Before.Equal(stored.Before)
}

// drop removes an ending that is in the store.
func (x *endings) drop(k *Key) {
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

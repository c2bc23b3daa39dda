package account

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// Ending says that secrets of a key are valid no longer. It is the message that replicas send each other, so that a key
// which is revoked at one is refused at all, also by those that cannot reach the database.
type Ending struct {
	KeyID  string    `json:"key"`
	Before time.Time `json:"before,omitzero"` // secrets made before have ended; zero for all: the key is revoked
}

// Message is the ending as text.
func (e Ending) Message() (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("write the end of a key: %w", err)
	}
	return string(text), nil
}

// ParseEnding reads what Message writes.
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

// endingOf says what is over of a key by revocation or by a rotation without grace, whatever the clock says; false for
// nothing.
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

// endings are what other replicas said, until the store has said it too.
type endings struct {
	mu   sync.RWMutex
	byID map[string]Ending
}

// add notes an ending, and reports whether it is news.
func (x *endings) add(e Ending) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	old, ok := x.byID[e.KeyID]
	if ok && (old.Before.IsZero() || (!e.Before.IsZero() && !e.Before.After(old.Before))) {
		return false
	}
	if x.byID == nil || len(x.byID) >= mostEndings {
		x.byID = map[string]Ending{} // the store has told the older ones by now
	}
	x.byID[e.KeyID] = e
	return true
}

// mostEndings bounds what is remembered of other replicas' words.
const mostEndings = 100_000

// of returns the ending of a key that applies to a secret, if any.
func (x *endings) of(k *Key, position int) (Ending, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	e, ok := x.byID[k.ID]
	return e, ok && (e.Before.IsZero() || k.Secrets[position].CreatedAt.Before(e.Before))
}

// knows reports whether an ending that the store tells has been heard already.
func (x *endings) knows(k *Key) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	heard, ok := x.byID[k.ID]
	told, over := endingOf(k)
	return ok && over && heard.Before.Equal(told.Before)
}

// drop forgets an ending that the store knows of by now.
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

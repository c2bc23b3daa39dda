package keyring

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// useBatch is the number of uses recorded in one transaction.
const useBatch = 500

// useBook collects key uses, at most one per key.
type useBook struct {
	mu   sync.Mutex
	uses map[string]*KeyUse
}

func (b *useBook) of(keyID string) *KeyUse {
	use := b.uses[keyID]
	if use == nil {
		use = &KeyUse{KeyID: keyID}
		b.uses[keyID] = use
	}
	return use
}

func (b *useBook) first(keyID string, secret SecretUse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	use := b.of(keyID)
	use.First = append(use.First, secret)
}

// putBack restores uses that could not be recorded, unless newer ones exist.
func (b *useBook) putBack(uses []KeyUse) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, old := range uses {
		use := b.of(old.KeyID)
		if old.At.After(use.At) {
			use.At, use.Client = old.At, old.Client
		}
		use.First = append(old.First, use.First...)
	}
}

// record writes the collected uses to the store.
func (r *Ring) record(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	r.uses.mu.Lock()
	taken := r.uses.uses
	r.uses.uses = map[string]*KeyUse{}
	r.uses.mu.Unlock()
	uses := make([]KeyUse, 0, len(taken))
	for _, use := range taken {
		uses = append(uses, *use)
	}
	slices.SortFunc(uses, func(a, b KeyUse) int { return strings.Compare(a.KeyID, b.KeyID) }) // replicas lock rows in the same order
	for len(uses) > 0 {
		batch := uses[:min(len(uses), useBatch)]
		if err := r.store.RecordUses(ctx, batch); err != nil {
			r.uses.putBack(uses)
			return fmt.Errorf("record key uses: %w", err)
		}
		uses = uses[len(batch):]
	}
	return nil
}

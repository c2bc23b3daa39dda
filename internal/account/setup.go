package account

import (
	"context"
	"crypto/subtle"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
)

// The one-time setup code for the first account has 80 random bits, which is too many to guess within its lifetime. Attempts are
// not limited, because a limit would let strangers lock out the operator.
const (
	setupAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ" // 32 characters that are hard to confuse
	setupLength   = 16
	setupGroup    = 4 // number of characters between dashes
	setupLife     = time.Hour
)

// setupCode holds the hash of the code that the first registration requires.
type setupCode struct {
	hash secret.KeyedHash

	mu      sync.Mutex
	sum     []byte // hash of the code; nil without a valid code
	expires time.Time
}

// renew creates a code and invalidates the previous one.
func (c *setupCode) renew(now time.Time) (code string, expires time.Time) {
	text := secret.Random(setupAlphabet, setupLength)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum, c.expires = c.hash.Bytes("setup "+text), now.Add(setupLife)
	groups := []string{}
	for group := range slices.Chunk([]byte(text), setupGroup) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, "-"), c.expires
}

// check returns an error unless code is the current setup code. It compares in constant time.
func (c *setupCode) check(code string, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(code), "-", ""))
	same := subtle.ConstantTimeCompare(c.sum, c.hash.Bytes("setup "+text)) == 1
	if !same || !now.Before(c.expires) {
		return llm.Errorf(llm.WrongCredentials, "The setup code is missing, incorrect or expired. Open the link that the gateway printed at its last start, or run: fairlead admin create")
	}
	return nil
}

// use invalidates the code.
func (c *setupCode) use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum = nil
}

// SetupCode creates a one-time code for the first account and invalidates the previous code. needed is false when an
// account exists.
func (s *Service) SetupCode(ctx context.Context) (code string, expires time.Time, needed bool, err error) {
	has, err := s.store.Accounts.HasAccounts(ctx)
	if err != nil {
		return "", time.Time{}, false, fmt.Errorf("check for accounts: %w", err)
	}
	if has {
		return "", time.Time{}, false, nil
	}
	code, expires = s.setup.renew(s.now())
	return code, expires, true, nil
}

// SetupNeeded reports whether no account exists yet.
func (s *Service) SetupNeeded(ctx context.Context) (bool, error) {
	has, err := s.store.Accounts.HasAccounts(ctx)
	if err != nil {
		return false, fmt.Errorf("check for accounts: %w", err)
	}
	return !has, nil
}

package account

import (
	"context"
	"crypto/subtle"
	"fmt"
	"strings"
	"sync"
	"time"

	"fairlead/internal/llm"
)

// The one-time code for the first account: 40 random bits, and so few guesses that an hour is nowhere near enough.
const (
	setupAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ" // nothing that looks like something else, 32 in all
	setupLength   = 8
	setupLife     = time.Hour
	setupGuesses  = 10
	setupWindow   = time.Minute
)

// setupCode holds the hash of the code that allows the first registration from another machine.
type setupCode struct {
	hash keyedHash

	mu      sync.Mutex
	sum     []byte // nil when there is none
	expires time.Time
	guesses []time.Time // the last ones within the window
}

func newSetupCode(hash keyedHash) *setupCode { return &setupCode{hash: hash} }

// renew makes a code; an older one is void.
func (c *setupCode) renew(now time.Time) (code string, expires time.Time) {
	text := randomText(setupAlphabet, setupLength)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum, c.expires = c.hash.bytes("setup "+text), now.Add(setupLife)
	return text[:4] + "-" + text[4:], c.expires
}

// check compares in constant time and counts the guess.
func (c *setupCode) check(code string, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.guesses) > 0 && now.Sub(c.guesses[0]) >= setupWindow {
		c.guesses = c.guesses[1:]
	}
	if len(c.guesses) >= setupGuesses {
		return tooManyGuesses(setupWindow - now.Sub(c.guesses[0]))
	}
	c.guesses = append(c.guesses, now)
	text := strings.ToUpper(strings.ReplaceAll(strings.TrimSpace(code), "-", ""))
	same := subtle.ConstantTimeCompare(c.sum, c.hash.bytes("setup "+text)) == 1
	if !same || !now.Before(c.expires) {
		return llm.Errorf(llm.WrongCredentials, "The setup code is wrong or over. Take the newest one from where the gateway was started, or run: fairlead admin create")
	}
	return nil
}

// use voids the code.
func (c *setupCode) use() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sum = nil
}

func tooManyGuesses(wait time.Duration) error {
	e := llm.Errorf(llm.RateLimited, "Too many attempts. Wait a while and try again.")
	e.RetryAfter = max(wait, time.Second)
	return e
}

// SetupCode makes a new one-time code for the first account and voids the one before. It is needed only while there
// is no account.
func (s *Service) SetupCode(ctx context.Context) (code string, expires time.Time, needed bool, err error) {
	has, err := s.store.HasAccounts(ctx)
	if err != nil {
		return "", time.Time{}, false, fmt.Errorf("look for accounts: %w", err)
	}
	if has {
		return "", time.Time{}, false, nil
	}
	code, expires = s.setup.renew(s.now())
	return code, expires, true, nil
}

// SetupNeeded reports whether there is no account yet.
func (s *Service) SetupNeeded(ctx context.Context) (bool, error) {
	has, err := s.store.HasAccounts(ctx)
	if err != nil {
		return false, fmt.Errorf("look for accounts: %w", err)
	}
	return !has, nil
}

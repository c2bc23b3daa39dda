package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fairlead/internal/account/secret"
	"fairlead/internal/llm"
)

// Limit on wrong passwords per email address and per known device. It also applies to addresses without an account.
const (
	guessLimit  = 10
	guessWindow = 15 * time.Minute
)

// Login checks the password and starts a session. Known and unknown addresses get the same error after the same amount of work.
func (s *Service) Login(ctx context.Context, email, password string, v Visitor) (Account, string, error) {
	email = cut(strings.ToLower(strings.TrimSpace(email)), maxEmail)
	account, err := s.verify(ctx, email, password, v.Device, wrongCredentials)
	if err != nil {
		return Account{}, "", err
	}
	token, session := s.newSession(account.ID, v)
	err = s.store.Sessions.CreateSession(ctx, session, account.PasswordHash)
	if errors.Is(err, ErrConflict) || errors.Is(err, ErrNotFound) { // the password was changed or the account deleted meanwhile
		return Account{}, "", wrongCredentials()
	}
	if err != nil {
		return Account{}, "", fmt.Errorf("start a session: %w", err)
	}
	return account, token, nil
}

func wrongCredentials() error {
	return llm.Errorf(llm.WrongCredentials, "The email address or password is incorrect.")
}

// verify checks the password of an address. It records a sign-in attempt first and deletes it if the password is correct. It
// acquires a hash slot before the database is used, so that a flood of attempts waits in memory. Attempts from a device that has
// signed in to the account before are counted separately, so that strangers cannot lock the user out.
func (s *Service) verify(ctx context.Context, email, password, device string, wrong func() error) (Account, error) {
	release, err := s.hasher.Acquire(ctx)
	if err != nil {
		return Account{}, err
	}
	defer release()
	stated := email
	if hasControl(email) {
		email = "" // matches no account and is valid in a database query
	}
	account, err := s.store.Accounts.AccountByEmail(ctx, email)
	known := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Account{}, fmt.Errorf("look up an account: %w", err)
	}
	subject, at := s.guessSubject(stated), s.now()
	if s.knowsDevice(account, device) {
		subject = s.guessHash.Bytes("device " + device)
	}
	wait, err := s.store.Passwords.TakeGuess(ctx, subject, at, guessWindow, guessLimit)
	if err != nil {
		return Account{}, fmt.Errorf("count a sign-in attempt: %w", err)
	}
	if wait > 0 {
		return Account{}, tooManyGuesses(wait)
	}
	stored := account.PasswordHash
	if !known {
		stored = s.hasher.Dummy
	}
	matches, err := secret.PasswordMatches(stored, password[:min(len(password), secret.MaxPassword+1)])
	if err != nil {
		return Account{}, fmt.Errorf("check the password of account %s: %w", account.ID, err)
	}
	if !known || !matches {
		return Account{}, wrong()
	}
	if err := s.store.Passwords.ReturnGuess(ctx, subject, at); err != nil {
		return Account{}, fmt.Errorf("count a sign-in attempt: %w", err)
	}
	return account, nil
}

// guessSubject returns the key under which wrong passwords for an address are counted.
func (s *Service) guessSubject(email string) []byte { return s.guessHash.Bytes("login " + email) }

// Unlock removes the recorded wrong passwords of an account, so that its user can sign in again.
func (s *Service) Unlock(ctx context.Context, email string) error {
	account, err := s.store.Accounts.AccountByEmail(ctx, strings.ToLower(strings.TrimSpace(email)))
	if err != nil {
		return wrapStoreError(err, "account", "look up an account")
	}
	event := s.event(Actor{}, "account.unlock", account.ID, nil, nil)
	return wrapStoreError(s.store.Passwords.ForgetGuesses(ctx, s.guessSubject(account.Email), event), "account", "unlock an account")
}

func tooManyGuesses(wait time.Duration) error {
	e := llm.Errorf(llm.RateLimited, "Too many sign-in attempts. Wait a while and try again.")
	e.RetryAfter = max(wait, time.Second)
	return e
}

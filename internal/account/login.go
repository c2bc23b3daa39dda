package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
)

// Limit on wrong passwords per email address and per known device. It also applies to addresses without an account.
const (
	guessLimit  = 10
	guessWindow = 15 * time.Minute
)

// Credentials are the sign-in data of a user.
type Credentials struct {
	Email    string
	Password string
	Code     string // authenticator app code or recovery code; empty for none
	// Passkey is the passkey response; nil for none. If Email is empty, the passkey alone is sufficient.
	Passkey *PasskeyResponse
}

// PasskeyResponse is a browser's response to a passkey challenge.
type PasskeyResponse struct {
	Response   []byte // PublicKeyCredential as JSON
	Cookie     string // cookie that contains the challenge
	RequestURL string // gateway address that the browser uses
}

// PasskeyVerifier verifies passkeys.
type PasskeyVerifier interface {
	// Verify returns the account of the passkey. It returns WrongCredentials if the response is not valid or was used before.
	Verify(ctx context.Context, r PasskeyResponse) (accountID string, err error)
}

// Second-factor methods.
const (
	MethodPasskey  = "passkey"
	MethodApp      = "authenticator_app"
	MethodRecovery = "recovery_code"
)

// SecondFactor checks the second factor of accounts.
type SecondFactor interface {
	// Methods returns the methods that the account can use. It is empty if sign-ins to the account need no second factor.
	Methods(ctx context.Context, accountID string) ([]string, error)
	// Accept reports whether the code is valid, and invalidates it.
	Accept(ctx context.Context, accountID, code string) (bool, error)
}

// Login signs in with a password and without a second factor.
func (s *Service) Login(ctx context.Context, email, password string, v Visitor) (Account, string, error) {
	return s.SignIn(ctx, Credentials{Email: email, Password: password}, v)
}

// SignIn checks the password and the second factor, or the passkey, and starts a session. Known and unknown addresses get the same
// error after the same amount of work. It returns SecondFactorRequired if the password is correct and the second factor is missing.
func (s *Service) SignIn(ctx context.Context, c Credentials, v Visitor) (Account, string, error) {
	if c.Passkey != nil && c.Email == "" {
		return s.signInPasskey(ctx, *c.Passkey, v)
	}
	email := cut(NormalEmail(c.Email), maxEmail)
	if !s.passwords(email) {
		return Account{}, "", passwordsDisabled()
	}
	account, err := s.verify(ctx, email, c.Password, v, wrongCredentials, func(a Account) error { return s.checkFactor(ctx, a.ID, c) })
	if err != nil {
		return Account{}, "", err
	}
	return s.startSession(ctx, account, v)
}

// signInPasskey signs in without a password. The passkey counts as two factors, because the authenticator verified the user.
func (s *Service) signInPasskey(ctx context.Context, r PasskeyResponse, v Visitor) (Account, string, error) {
	if s.passkeys == nil {
		return Account{}, "", wrongCredentials()
	}
	accountID, err := s.passkeys.Verify(ctx, r)
	if err != nil {
		return Account{}, "", err
	}
	account, err := s.Account(ctx, accountID)
	if err != nil {
		return Account{}, "", err
	}
	if !account.HasPassword() || !s.passwords(account.Email) {
		return Account{}, "", denied("Signing in with a passkey is disabled. Use single sign-on.")
	}
	return s.startSession(ctx, account, v)
}

// startSession starts a session unless the password was changed since the account was read.
func (s *Service) startSession(ctx context.Context, account Account, v Visitor) (Account, string, error) {
	token, session := s.newSession(account.ID, v)
	err := s.store.Sessions.CreateSession(ctx, session, account.PasswordHash)
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

func passwordsDisabled() error {
	return denied("Signing in with a password is disabled. Use single sign-on.")
}

// checkFactor checks the second factor of an account that has one.
func (s *Service) checkFactor(ctx context.Context, accountID string, c Credentials) error {
	if s.factor == nil {
		return nil
	}
	methods, err := s.factor.Methods(ctx, accountID)
	if err != nil || len(methods) == 0 {
		return err
	}
	if c.Passkey != nil && s.passkeys != nil {
		owner, err := s.passkeys.Verify(ctx, *c.Passkey)
		if err == nil && owner != accountID {
			return wrongFactor("passkey", "This passkey belongs to another account.")
		}
		return err
	}
	if c.Code == "" {
		prompt := "Use your passkey, or enter the code from your authenticator app or a recovery code."
		switch {
		case !slices.Contains(methods, MethodPasskey):
			prompt = "Enter the code from your authenticator app or a recovery code."
		case !slices.Contains(methods, MethodApp):
			prompt = "Use your passkey or enter a recovery code."
		}
		return llm.Errorf(llm.SecondFactorRequired, "%s", prompt).With("methods", methods)
	}
	accepted, err := s.factor.Accept(ctx, accountID, c.Code)
	if err != nil {
		return err
	}
	if !accepted {
		return wrongFactor("code", "The code is incorrect, expired or was already used.")
	}
	return nil
}

func wrongFactor(param, message string) error {
	return &llm.Error{Kind: llm.WrongCredentials, Message: message, Param: param}
}

// ConfirmPassword checks the password of a signed-in account before a sensitive change.
func (s *Service) ConfirmPassword(ctx context.Context, accountID, password string, v Visitor) (Account, error) {
	account, err := s.Account(ctx, accountID)
	if err != nil {
		return Account{}, err
	}
	wrong := func() error {
		e := llm.Errorf(llm.WrongCredentials, "The password is incorrect.")
		e.Param = "password"
		return e
	}
	return s.verify(ctx, account.Email, password, v, wrong, nil)
}

// verify checks the password for an email address. It records a sign-in attempt first and deletes it if the password is correct. It
// acquires a hash slot before the database is used, so that a flood of attempts waits in memory. Attempts from a device that has
// signed in to the account before have their own slot and are counted separately, so that other clients cannot lock the user out. If confirm is not nil,
// verify calls it to check the second factor. An error other than SecondFactorRequired counts as a wrong password.
func (s *Service) verify(ctx context.Context, email, password string, v Visitor, wrong func() error, confirm func(Account) error) (Account, error) {
	hasher := s.hasher
	if s.devices.knows(email, v.Device) {
		hasher = s.deviceHasher
	}
	release, err := hasher.Acquire(ctx, v.IP)
	if err != nil {
		return Account{}, err
	}
	defer release()
	stated := email
	if hasControl(email) {
		email = "" // PostgreSQL rejects NUL and invalid UTF-8; an empty address matches no account
	}
	account, err := s.store.Accounts.AccountByEmail(ctx, email)
	known := err == nil
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Account{}, fmt.Errorf("look up an account: %w", err)
	}
	subject, at := s.guessHash.Bytes("login "+stated), s.now()
	if s.devices.issued(account, v.Device) {
		subject = s.guessHash.Bytes("device " + v.Device)
	}
	wait, err := s.store.Passwords.TakeGuess(ctx, subject, at, guessWindow, guessLimit)
	if err != nil {
		return Account{}, fmt.Errorf("count a sign-in attempt: %w", err)
	}
	if wait > 0 {
		e := llm.Errorf(llm.RateLimited, "Too many sign-in attempts. Wait a while and try again.")
		e.RetryAfter = max(wait, time.Second)
		return Account{}, e
	}
	stored := account.PasswordHash
	if !known || !account.HasPassword() {
		stored = s.hasher.Dummy
	}
	matches, err := secret.PasswordMatches(stored, password[:min(len(password), secret.MaxPassword+1)])
	if err != nil {
		return Account{}, fmt.Errorf("check the password of account %s: %w", account.ID, err)
	}
	if !known || !matches {
		return Account{}, wrong()
	}
	var refused error
	if confirm != nil {
		refused = confirm(account)
	}
	if e, ok := errors.AsType[*llm.Error](refused); refused != nil && (!ok || e.Kind != llm.SecondFactorRequired) {
		return Account{}, refused
	}
	if err := s.store.Passwords.ReturnGuess(ctx, subject, at); err != nil {
		return Account{}, fmt.Errorf("count a sign-in attempt: %w", err)
	}
	return account, refused
}

// Unlock removes the recorded wrong passwords of an account, so that its user can sign in again.
func (s *Service) Unlock(ctx context.Context, email string) error {
	account, err := s.AccountByEmail(ctx, email)
	if err != nil {
		return err
	}
	event := s.event(Actor{}, "account.unlock", account.ID, nil, nil)
	return wrapStoreError(s.store.Passwords.ForgetGuesses(ctx, s.guessHash.Bytes("login "+account.Email), event), "account", "unlock an account")
}

// Package factor manages the second factor of local accounts: time-based one-time passwords (RFC 6238) from an authenticator app,
// and recovery codes.
package factor

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
)

// Code parameters. Some authenticator apps support only these values.
const (
	period       = 30 * time.Second
	digits       = otp.DigitsSix
	secretLength = 20 // length in bytes, as RFC 4226 recommends
	drift        = 1  // number of time steps accepted before and after the current one
)

// Recovery codes have 80 random bits. That is too many for a brute-force search, so a fast hash is sufficient.
const (
	recoveryCount    = 10
	recoveryLength   = 16
	recoveryGroup    = 4
	recoveryAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ" // 32 characters that are hard to confuse
)

const kindSecret = "factor:totp" // kind of the sealed secret

// Factor is the second factor of an account.
type Factor struct {
	AccountID   string
	Sealed      []byte    // encrypted secret of the authenticator app; empty if the account has none
	ConfirmedAt time.Time // time at which the first code was entered; zero before that
	LastStep    int64     // time step of the newest accepted code
	CreatedAt   time.Time
	Recovery    int // number of unused recovery codes
	Passkeys    int // number of registered passkeys, which package passkey manages
}

// Store stores second factors. A method with an event parameter writes the event in the same transaction.
type Store interface {
	// FactorOf returns account.ErrNotFound for an unknown account.
	FactorOf(ctx context.Context, accountID string) (Factor, error)
	// SaveFactor replaces a factor that is not confirmed. It returns account.ErrConflict if the account has a confirmed one.
	SaveFactor(ctx context.Context, f Factor) error
	// ConfirmFactor confirms the factor with the given secret and sets its recovery codes. It returns account.ErrConflict if the
	// factor was replaced or confirmed meanwhile.
	ConfirmFactor(ctx context.Context, f Factor, recovery [][]byte, event account.AuditEvent) error
	// UseStep records the time step of a code. It returns false if a code of this or a later time step was already used.
	UseStep(ctx context.Context, accountID string, step int64) (bool, error)
	// DeleteFactor deletes the authenticator app. It deletes the recovery codes if the account has no passkeys. It returns
	// account.ErrNotFound if the account has no authenticator app.
	DeleteFactor(ctx context.Context, accountID string, event account.AuditEvent) error
}

// RecoveryStore stores recovery codes.
type RecoveryStore interface {
	// UseRecovery deletes a recovery code. It reports false if the account has no such code.
	UseRecovery(ctx context.Context, accountID string, hash []byte, event account.AuditEvent) (bool, error)
	// ReplaceRecovery returns account.ErrNotFound if the account has no second factor.
	ReplaceRecovery(ctx context.Context, accountID string, recovery [][]byte, event account.AuditEvent) error
	// DeleteFactors deletes the authenticator app, all passkeys and the recovery codes. It returns account.ErrNotFound if the account
	// has none of them.
	DeleteFactors(ctx context.Context, accountID string, event account.AuditEvent) error
}

// Stores stores second factors and their recovery codes.
type Stores interface {
	Store
	RecoveryStore
}

// Sealer encrypts secrets and binds them to a kind and an ID.
type Sealer interface {
	Seal(kind, id, text string) []byte
	Unseal(kind, id string, sealed []byte) (string, error)
}

// Service manages second factors. Callers check the password before they change a second factor.
type Service struct {
	store  Stores
	sealer Sealer
	hash   secret.KeyedHash
	now    func() time.Time
}

// New returns a service. If now is nil, time.Now is used.
func New(store Stores, sealer Sealer, masterKey []byte, now func() time.Time) (*Service, error) {
	hash, err := secret.NewKeyedHash(masterKey, "recovery codes")
	if err != nil {
		return nil, fmt.Errorf("create the second-factor service: %w", err)
	}
	if now == nil {
		now = time.Now
	}
	return &Service{store: store, sealer: sealer, hash: hash, now: func() time.Time { return now().UTC().Truncate(time.Millisecond) }}, nil
}

// Setup is a new secret for an authenticator app. It is shown once.
type Setup struct {
	Secret string // secret in base32
	URI    string // otpauth:// URI with the secret
	QR     string // QR code of the URI, as SVG
}

// State describes the second factor of an account.
type State struct {
	App      bool // whether an authenticator app is set up
	Passkeys int  // number of registered passkeys
	Recovery int  // number of unused recovery codes
}

// Enabled reports whether sign-ins with a password require a second factor.
func (s State) Enabled() bool { return s.App || s.Passkeys > 0 }

// State returns the state of an account's second factor.
func (s *Service) State(ctx context.Context, accountID string) (State, error) {
	f, err := s.store.FactorOf(ctx, accountID)
	if errors.Is(err, account.ErrNotFound) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("read the second factor of account %s: %w", accountID, err)
	}
	return State{App: !f.ConfirmedAt.IsZero(), Passkeys: f.Passkeys, Recovery: f.Recovery}, nil
}

// Methods implements account.SecondFactor.
func (s *Service) Methods(ctx context.Context, accountID string) ([]string, error) {
	state, err := s.State(ctx, accountID)
	if err != nil {
		return nil, err
	}
	methods := []string{}
	if state.Passkeys > 0 {
		methods = append(methods, account.MethodPasskey)
	}
	if state.App {
		methods = append(methods, account.MethodApp)
	}
	if len(methods) > 0 && state.Recovery > 0 {
		methods = append(methods, account.MethodRecovery)
	}
	return methods, nil
}

// Begin creates a secret for the account. The factor is inactive until Confirm succeeds. Begin returns a Conflict if the account
// has an active factor.
func (s *Service) Begin(ctx context.Context, a account.Account, gateway string) (Setup, error) {
	raw := make([]byte, secretLength)
	_, _ = rand.Read(raw) // never fails: crypto/rand crashes the process instead
	text := base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(raw)
	f := Factor{AccountID: a.ID, Sealed: s.sealer.Seal(kindSecret, a.ID, text), CreatedAt: s.now()}
	err := s.store.SaveFactor(ctx, f)
	if errors.Is(err, account.ErrConflict) {
		return Setup{}, &llm.Error{Kind: llm.Conflict, Message: "An authenticator app is already set up. Remove it first.", Err: err}
	}
	if err != nil {
		return Setup{}, fmt.Errorf("store a second factor: %w", err)
	}
	issuer := "Fairlead"
	if gateway != "" {
		issuer += " (" + gateway + ")"
	}
	query := url.Values{"secret": {text}, "issuer": {issuer}, "algorithm": {"SHA1"}, "digits": {digits.String()}, "period": {fmt.Sprint(int(period.Seconds()))}}
	address := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + a.Email, RawQuery: strings.ReplaceAll(query.Encode(), "+", "%20")}
	uri := address.String()
	qr, err := qrCode(uri)
	if err != nil {
		return Setup{}, fmt.Errorf("generate a QR code: %w", err)
	}
	return Setup{Secret: text, URI: uri, QR: qr}, nil
}

// Confirm activates the factor with a first code and returns its recovery codes, which are shown once.
func (s *Service) Confirm(ctx context.Context, accountID, code string) ([]string, error) {
	f, err := s.store.FactorOf(ctx, accountID)
	if errors.Is(err, account.ErrNotFound) || err == nil && (len(f.Sealed) == 0 || !f.ConfirmedAt.IsZero()) {
		return nil, &llm.Error{Kind: llm.Conflict, Message: "Two-factor setup is not in progress. Start it again."}
	}
	if err != nil {
		return nil, fmt.Errorf("read a second factor: %w", err)
	}
	step, err := s.match(f, code)
	if err != nil {
		return nil, err
	}
	if step == 0 {
		e := llm.Errorf(llm.InvalidRequest, "The code is incorrect. Check that the clock of your device is correct, then enter the current code.")
		e.Param = "code"
		return nil, e
	}
	f.ConfirmedAt, f.LastStep = s.now(), step
	codes, hashes := s.NewRecoveryCodes(accountID)
	err = s.store.ConfirmFactor(ctx, f, hashes, s.event(accountID, accountID, "account.second_factor_enable"))
	if errors.Is(err, account.ErrConflict) {
		return nil, &llm.Error{Kind: llm.Conflict, Message: "The setup was started again in another window. Use the newest QR code.", Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("confirm a second factor: %w", err)
	}
	return codes, nil
}

// NewRecoveryCodes returns new recovery codes and their hashes. It does not store them.
func (s *Service) NewRecoveryCodes(accountID string) (codes []string, hashes [][]byte) {
	for range recoveryCount {
		text := secret.Random(recoveryAlphabet, recoveryLength)
		hashes = append(hashes, s.recoveryHash(accountID, text))
		groups := []string{}
		for at := 0; at < len(text); at += recoveryGroup {
			groups = append(groups, text[at:at+recoveryGroup])
		}
		codes = append(codes, strings.Join(groups, "-"))
	}
	return codes, hashes
}

func (s *Service) recoveryHash(accountID, text string) []byte {
	return s.hash.Bytes(accountID + "\n" + text)
}

// Accept implements account.SecondFactor. Each app code and each recovery code is accepted only once.
func (s *Service) Accept(ctx context.Context, accountID, code string) (bool, error) {
	code = strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(code))
	if len(code) == recoveryLength {
		used, err := s.store.UseRecovery(ctx, accountID, s.recoveryHash(accountID, code), s.event(accountID, accountID, "account.recovery_code_use"))
		if err != nil {
			return false, fmt.Errorf("use a recovery code: %w", err)
		}
		return used, nil
	}
	f, err := s.store.FactorOf(ctx, accountID)
	if err != nil {
		return false, fmt.Errorf("read a second factor: %w", err)
	}
	if f.ConfirmedAt.IsZero() {
		return false, nil
	}
	step, err := s.match(f, code)
	if err != nil || step <= f.LastStep {
		return false, err
	}
	fresh, err := s.store.UseStep(ctx, accountID, step)
	if err != nil {
		return false, fmt.Errorf("mark a one-time code as used: %w", err)
	}
	return fresh, nil
}

// match returns the time step of a code, or 0 if the code is wrong.
func (s *Service) match(f Factor, code string) (int64, error) {
	code = strings.ReplaceAll(strings.TrimSpace(code), " ", "")
	text, err := s.sealer.Unseal(kindSecret, f.AccountID, f.Sealed)
	if err != nil {
		return 0, fmt.Errorf("read the secret of account %s: %w", f.AccountID, err)
	}
	now, found := s.now(), int64(0)
	for offset := -drift; offset <= drift; offset++ {
		at := now.Add(time.Duration(offset) * period)
		want, err := totp.GenerateCodeCustom(text, at, totp.ValidateOpts{Period: uint(period.Seconds()), Digits: digits, Algorithm: otp.AlgorithmSHA1})
		if err != nil {
			return 0, fmt.Errorf("compute a code: %w", err)
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 {
			found = at.Unix() / int64(period.Seconds())
		}
	}
	return found, nil
}

// RenewRecoveryCodes replaces the recovery codes of an account and returns the new ones, which are shown once.
func (s *Service) RenewRecoveryCodes(ctx context.Context, accountID string) ([]string, error) {
	codes, hashes := s.NewRecoveryCodes(accountID)
	err := s.store.ReplaceRecovery(ctx, accountID, hashes, s.event(accountID, accountID, "account.recovery_codes_renew"))
	if err != nil {
		return nil, notEnabled(err, "replace recovery codes")
	}
	return codes, nil
}

// Disable removes the authenticator app of an account. Passkeys stay registered.
func (s *Service) Disable(ctx context.Context, accountID string) error {
	err := s.store.DeleteFactor(ctx, accountID, s.event(accountID, accountID, "account.second_factor_disable"))
	return notEnabled(err, "remove an authenticator app")
}

// Reset removes all second factors of an account from the command line: the authenticator app, passkeys and recovery codes.
func (s *Service) Reset(ctx context.Context, accountID string) error {
	err := s.store.DeleteFactors(ctx, accountID, s.event("command line", accountID, "account.second_factor_reset"))
	return notEnabled(err, "remove second factors")
}

// notEnabled converts account.ErrNotFound to a NotFound error for the client.
func notEnabled(err error, doing string) error {
	if errors.Is(err, account.ErrNotFound) {
		return &llm.Error{Kind: llm.NotFound, Message: "Two-factor authentication is not enabled for this account.", Err: err}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func (s *Service) event(actor, object, action string) account.AuditEvent {
	now := s.now()
	return account.AuditEvent{ID: id.New("aud", now), At: now, Actor: actor, Action: action, Object: object}
}

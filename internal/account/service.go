package account

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Errors that stores return.
var (
	// ErrNotFirst means that an account already exists.
	ErrNotFirst = errors.New("an account already exists")
	// ErrLastOwner means that the workspace would have no owner.
	ErrLastOwner = errors.New("the workspace would have no owner")
	// ErrTooMany means that an account owns the maximum number of workspaces or has created the maximum number of keys.
	ErrTooMany = errors.New("limit reached")
)

// Registration modes that apply once the first account exists.
const (
	RegistrationInvitation = "invitation" // registration requires an invitation
	RegistrationOpen       = "open"       // registration needs no invitation
)

// Quota limits the number of objects per account. A zero maximum selects the default.
type Quota struct {
	WorkspaceBudget money.Amount // monthly budget of workspaces created by users who do not manage the instance
	Workspaces      int          // maximum number of workspaces that the account owns; 20 when 0
	Keys            int          // maximum number of active keys that the account created; 200 when 0
}

// Options adjusts a Service.
type Options struct {
	MasterKey    []byte                        // key of at least 32 bytes, from which keyed hashes are derived
	Now          func() time.Time              // clock; time.Now when nil
	Registration string                        // registration mode; RegistrationInvitation when empty
	Quota        Quota                         // limits per account; zero fields select the defaults
	HashSlots    int                           // maximum number of concurrent password hashes; when 0, half of the processors, but from 1 to 8
	Busy         func() bool                   // reports whether model requests are being shed, in which case sign-ins are rejected; nil for never
	Changed      func(context.Context)         // called after a change of keys or workspaces, to refresh the keyring of this process
	Ended        func(context.Context, Ending) // called after a key is revoked, or rotated without a grace period, to notify other replicas
	Passwords    func(email string) bool       // reports whether the account may sign in with a password; nil for always
	SecondFactor SecondFactor                  // check of the second factor; nil to require none
	Passkeys     PasskeyVerifier               // verifier of passkeys; nil to disable passkeys
	// CheckURL rejects an address that a workspace may not call. If CheckURL is nil, every address is rejected.
	CheckURL func(ctx context.Context, address string) error
	// Recheck asks the identity provider of a session whether the account still has access. It returns an error if the
	// account has lost access. If Recheck is nil, sessions of identity providers are rejected.
	Recheck func(context.Context, Session) error
}

// Service manages accounts, workspaces and keys. Callers check permissions with Actor.May. The service ensures that actors do not
// grant more permissions than they have.
type Service struct {
	store        Stores
	clock        func() time.Time
	registration string
	quota        Quota
	hasher       *secret.PasswordHasher
	deviceHasher *secret.PasswordHasher // one slot for browsers that have signed in to the account before
	changed      func(context.Context)
	ended        func(context.Context, Ending)
	passwords    func(email string) bool
	factor       SecondFactor
	passkeys     PasskeyVerifier
	recheck      func(context.Context, Session) error
	checkURL     func(context.Context, string) error
	setup        *setupCode
	first        atomic.Pointer[string] // ID of the oldest workspace; never changes once set

	hashes
	devices devices
}

// hashes holds one keyed hash function for each kind of secret.
type hashes struct {
	keyHash, sessionHash, invitationHash, guessHash secret.KeyedHash
}

// New returns a service. The master key must have 32 bytes or more.
func New(store Stores, o Options) (*Service, error) {
	s := &Service{
		store: store, clock: o.Now, registration: o.Registration, quota: o.Quota, changed: o.Changed, ended: o.Ended,
		passwords: o.Passwords, factor: o.SecondFactor, passkeys: o.Passkeys, recheck: o.Recheck, checkURL: o.CheckURL,
	}
	for purpose, hash := range map[string]*secret.KeyedHash{
		"keys": &s.keyHash, "sessions": &s.sessionHash, "invitations": &s.invitationHash, "guesses": &s.guessHash,
		"devices": &s.devices.hash,
	} {
		var err error
		if *hash, err = secret.NewKeyedHash(o.MasterKey, purpose); err != nil {
			return nil, fmt.Errorf("create the account service: %w", err)
		}
	}
	switch s.registration {
	case "":
		s.registration = RegistrationInvitation
	case RegistrationInvitation, RegistrationOpen:
	default:
		return nil, fmt.Errorf("create the account service: unknown registration mode %q; use invitation or open", o.Registration)
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.changed == nil {
		s.changed = func(context.Context) {}
	}
	if s.ended == nil {
		s.ended = func(context.Context, Ending) {}
	}
	if s.passwords == nil {
		s.passwords = func(string) bool { return true }
	}
	if s.recheck == nil {
		s.recheck = func(context.Context, Session) error { return signInRequired() }
	}
	if s.checkURL == nil {
		s.checkURL = func(context.Context, string) error { return denied("Addresses cannot be set here.") }
	}
	if s.quota.Workspaces <= 0 {
		s.quota.Workspaces = 20
	}
	if s.quota.Keys <= 0 {
		s.quota.Keys = 200
	}
	if o.HashSlots <= 0 {
		o.HashSlots = secret.PasswordSlots(runtime.GOMAXPROCS(0))
	}
	s.hasher, s.deviceHasher = secret.NewPasswordHasher(o.HashSlots, o.Busy), secret.NewPasswordHasher(1, o.Busy)
	s.setup = &setupCode{hash: s.guessHash}
	return s, nil
}

// now returns the current time in UTC with millisecond precision, as stored.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// Visitor is the client of an admin API call.
type Visitor struct {
	IP     string
	Client string // User-Agent header
	Device string // token returned by DeviceToken; empty for an unknown browser
}

const maxClient = 200 // maximum length of a client's name in bytes

// ClientName returns the name of a client from a header, without control characters and at most maxClient bytes long.
func ClientName(s string) string {
	printable := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	return cut(printable, maxClient)
}

// cut truncates s to at most n bytes, at a character boundary.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

func invalid(param, format string, args ...any) *llm.Error {
	e := llm.Errorf(llm.InvalidRequest, format, args...)
	e.Param = param
	return e
}

// missing returns a NotFound error. The error is the same for an unknown ID and for an ID of another workspace.
func missing(what string) *llm.Error {
	e := llm.Errorf(llm.NotFound, "%s not found.", strings.ToUpper(what[:1])+what[1:])
	e.Err = ErrNotFound
	return e
}

func conflict(cause error, format string, args ...any) *llm.Error {
	e := llm.Errorf(llm.Conflict, format, args...)
	e.Err = cause
	return e
}

func denied(format string, args ...any) *llm.Error {
	return llm.Errorf(llm.PermissionDenied, format, args...)
}

// wrapStoreError converts ErrNotFound to a NotFound error for the client and adds the operation to other errors. It returns an
// *llm.Error unchanged.
func wrapStoreError(err error, what, doing string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*llm.Error](err); ok {
		return err
	}
	if errors.Is(err, ErrNotFound) {
		return missing(what)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

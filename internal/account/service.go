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

	"fairlead/internal/account/secret"
	"fairlead/internal/llm"
	"fairlead/internal/money"
)

// Errors of the store.
var (
	// ErrNotFirst means that an account already exists.
	ErrNotFirst = errors.New("not the first account")
	// ErrLastOwner means that the workspace would have no owner.
	ErrLastOwner = errors.New("the last owner")
	// ErrTooMany means that an account has reached the maximum number of objects it may create.
	ErrTooMany = errors.New("limit reached")
)

// Who may register once there is an account.
const (
	RegistrationInvitation = "invitation" // by invitation only
	RegistrationOpen       = "open"       // without an invitation
)

// Quota bounds what one account may create. A zero maximum selects the default.
type Quota struct {
	WorkspaceBudget money.Amount // per month, for workspaces created by accounts that do not manage the instance
	Workspaces      int          // owned by the account; 20 when 0
	Keys            int          // active keys that the account created; 200 when 0
}

// Options adjusts a Service.
type Options struct {
	MasterKey    []byte                        // 32 bytes or more; keyed hashes are derived from it
	Now          func() time.Time              // time.Now when nil
	Registration string                        // RegistrationInvitation when empty
	Quota        Quota                         // what one account may create
	HashSlots    int                           // concurrent password hashes; half of the processors when 0
	Busy         func() bool                   // reports that model requests are being shed, so that sign-ins are rejected; nil for never
	Changed      func(context.Context)         // called after keys or workspaces changed, so that a Keyring of this process looks at once
	Ended        func(context.Context, Ending) // called after a key was revoked or rotated without grace, so that other replicas hear of it
}

// Service does everything that people do with accounts, workspaces and keys. Whether they may is decided by its
// callers through Actor.May; the service itself sees to it that nobody grants more than they have.
type Service struct {
	store        Stores
	clock        func() time.Time
	registration string
	quota        Quota
	hasher       *secret.PasswordHasher
	changed      func(context.Context)
	ended        func(context.Context, Ending)
	setup        *setupCode
	first        atomic.Pointer[string] // id of the oldest workspace, which never changes once there is one

	keyHash, sessionHash, invitationHash, guessHash, deviceHash secret.KeyedHash
}

// New makes a service. The master key must have 32 bytes or more.
func New(store Stores, o Options) (*Service, error) {
	s := &Service{store: store, clock: o.Now, registration: o.Registration, quota: o.Quota, changed: o.Changed, ended: o.Ended}
	for purpose, hash := range map[string]*secret.KeyedHash{
		"keys": &s.keyHash, "sessions": &s.sessionHash, "invitations": &s.invitationHash, "guesses": &s.guessHash,
		"devices": &s.deviceHash,
	} {
		var err error
		if *hash, err = secret.NewKeyedHash(o.MasterKey, purpose); err != nil {
			return nil, fmt.Errorf("start accounts: %w", err)
		}
	}
	switch s.registration {
	case "":
		s.registration = RegistrationInvitation
	case RegistrationInvitation, RegistrationOpen:
	default:
		return nil, fmt.Errorf("start accounts: unknown registration %q; use invitation or open", o.Registration)
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
	if s.quota.Workspaces <= 0 {
		s.quota.Workspaces = 20
	}
	if s.quota.Keys <= 0 {
		s.quota.Keys = 200
	}
	if o.HashSlots <= 0 {
		o.HashSlots = secret.PasswordSlots(runtime.GOMAXPROCS(0))
	}
	s.hasher = secret.NewPasswordHasher(o.HashSlots, o.Busy)
	s.setup = newSetupCode(s.guessHash)
	return s, nil
}

// now is the time as it is stored: whole milliseconds, in UTC.
func (s *Service) now() time.Time { return s.clock().UTC().Truncate(time.Millisecond) }

// Visitor is where a call of the admin API comes from.
type Visitor struct {
	IP     string
	Client string // User-Agent header
	Device string // token of DeviceToken; empty for an unknown browser
}

const maxClient = 200 // bytes kept of what a client calls itself

// ClientName is what is kept of a name that a client gives itself: anything can be in a header.
func ClientName(s string) string {
	printable := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(s, ""))
	return cut(printable, maxClient)
}

// cut shortens a text to n bytes, never within a character.
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

// missing returns the same error for an unknown ID and for an ID of another workspace.
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

// wrapStoreError converts ErrNotFound to an error for the client and adds the operation to other errors. It keeps an
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

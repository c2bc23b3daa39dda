package secret

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"fairlead.dev/internal/llm"
)

// Password length limits. MaxPassword limits the cost of hashing.
const (
	minPassword = 10   // minimum length in characters
	MaxPassword = 1024 // maximum length in bytes
)

// Cost of a password hash: argon2id with 19 MiB, two passes and one lane.
const (
	argonMemory = 19 * 1024 // memory in KiB
	argonPasses = 2
	argonLanes  = 1
	argonSalt   = 16
	argonKey    = 32
)

// Limits on waiting for a hash slot.
const (
	hashQueue     = 1024
	hashPerSource = 32 // part of the queue for one source
	hashWait      = 30 * time.Second
)

var errHashForm = errors.New("invalid stored password hash")

// PasswordHasher limits the number of concurrent password hashes, because each takes 19 MiB and tens of milliseconds.
type PasswordHasher struct {
	slots chan struct{}
	busy  func() bool // reports whether model requests are being shed; may be nil
	Dummy string      // hash that no password matches, so that checks for unknown accounts take the same time

	mu       sync.Mutex
	waiting  int            // number of waiting calls
	bySource map[string]int // number of waiting calls by source
}

// NewPasswordHasher returns a hasher that runs at most slots hashes at a time. busy reports whether model requests are being
// shed; it may be nil.
func NewPasswordHasher(slots int, busy func() bool) *PasswordHasher {
	return &PasswordHasher{slots: make(chan struct{}, slots), bySource: map[string]int{}, busy: busy, Dummy: argonText(randomBytes(argonSalt), randomBytes(argonKey))}
}

// maxPasswordSlots limits the memory used by concurrent hashes.
const maxPasswordSlots = 8

// PasswordSlots returns the number of concurrent hashes: half of the processors, so that the other half stays available for model
// requests.
func PasswordSlots(processors int) int { return min(max(processors/2, 1), maxPasswordSlots) }

// Acquire waits for a slot. The caller must call release. It returns Overloaded if the queue or the part of the source is full, if no slot
// becomes free within hashWait, and while model requests are being shed, because sign-ins have a lower priority.
func (h *PasswordHasher) Acquire(ctx context.Context, source string) (release func(), err error) {
	if h.shedding() {
		return nil, busy()
	}
	release = func() { <-h.slots }
	select {
	case h.slots <- struct{}{}:
		return release, nil
	default:
	}
	if !h.enqueue(source) {
		return nil, busy()
	}
	defer h.dequeue(source)
	timer := time.NewTimer(hashWait)
	defer timer.Stop()
	select {
	case h.slots <- struct{}{}:
		if h.shedding() { // shedding started while this call waited
			release()
			return nil, busy()
		}
		return release, nil
	case <-timer.C:
		return nil, busy()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (h *PasswordHasher) enqueue(source string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting >= hashQueue || h.bySource[source] >= hashPerSource {
		return false
	}
	h.waiting++
	h.bySource[source]++
	return true
}

func (h *PasswordHasher) dequeue(source string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiting--
	if h.bySource[source]--; h.bySource[source] == 0 {
		delete(h.bySource, source)
	}
}

func (h *PasswordHasher) shedding() bool { return h.busy != nil && h.busy() }

func busy() error {
	e := llm.Errorf(llm.Overloaded, "The gateway is too busy to verify passwords. Retry in 2 seconds.")
	e.RetryAfter = 2 * time.Second
	return e
}

// Hash waits for a slot and hashes the password with a new salt.
func (h *PasswordHasher) Hash(ctx context.Context, source, password string) (string, error) {
	release, err := h.Acquire(ctx, source)
	if err != nil {
		return "", err
	}
	defer release()
	return hashPassword(password), nil
}

func hashPassword(password string) string {
	salt := randomBytes(argonSalt)
	return argonText(salt, argon2.IDKey([]byte(password), salt, argonPasses, argonMemory, argonLanes, argonKey))
}

// argonText returns the stored form of a hash.
func argonText(salt, sum []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		argonMemory, argonPasses, argonLanes, b64.EncodeToString(salt), b64.EncodeToString(sum))
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: crypto/rand crashes the process instead
	return b
}

// PasswordMatches reports whether password matches the stored hash. It compares in constant time.
func PasswordMatches(stored, password string) (bool, error) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errHashForm
	}
	var version, lanes int
	var memory, passes uint32
	if _, err := fmt.Sscanf(parts[2], "v=%d", &version); err != nil || version != argon2.Version {
		return false, errHashForm
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &passes, &lanes); err != nil || lanes < 1 || lanes > 255 {
		return false, errHashForm
	}
	salt, saltErr := base64.RawStdEncoding.DecodeString(parts[4])
	want, sumErr := base64.RawStdEncoding.DecodeString(parts[5])
	if saltErr != nil || sumErr != nil || len(want) == 0 {
		return false, errHashForm
	}
	got := argon2.IDKey([]byte(password), salt, passes, memory, uint8(lanes), uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// ValidatePassword rejects passwords that are too short, too long, or equal to the email address.
func ValidatePassword(param, password, email string) error {
	switch {
	case len(password) > MaxPassword:
		return invalidPassword(param, "The password has more than %d bytes. Choose a shorter one.", MaxPassword)
	case utf8.RuneCountInString(password) < minPassword:
		return invalidPassword(param, "The password must have at least %d characters.", minPassword)
	case strings.EqualFold(password, email):
		return invalidPassword(param, "The password must not be the email address.")
	}
	return nil
}

func invalidPassword(param, format string, args ...any) error {
	e := llm.Errorf(llm.InvalidRequest, format, args...)
	e.Param = param
	return e
}

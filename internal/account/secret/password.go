package secret

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
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
	hashPerSource = 512 // part of the queue for one source
	hashWait      = 30 * time.Second
)

var errHashForm = errors.New("invalid stored password hash")

// PasswordHasher limits the number of concurrent password hashes, because each takes 19 MiB and tens of milliseconds. Waiting calls are
// served one source after the other, so that many calls of one source do not delay another source.
type PasswordHasher struct {
	busy  func() bool // reports whether model requests are being shed; may be nil
	Dummy string      // hash that no password matches, so that checks for unknown accounts take the same time

	mu      sync.Mutex
	free    int                        // number of free slots
	waiting map[string][]chan struct{} // waiting calls by source, oldest first
	sources []string                   // sources with waiting calls, in the order in which they are served
	queued  int                        // number of waiting calls
}

// NewPasswordHasher returns a hasher that runs at most slots hashes at a time. busy reports whether model requests are being
// shed; it may be nil.
func NewPasswordHasher(slots int, busy func() bool) *PasswordHasher {
	return &PasswordHasher{free: slots, waiting: map[string][]chan struct{}{}, busy: busy, Dummy: argonText(randomBytes(argonSalt), randomBytes(argonKey))}
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
	turn, err := h.enqueue(source)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(hashWait)
	defer timer.Stop()
	select {
	case <-turn:
	case <-timer.C:
		err = busy()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		h.leave(source, turn)
		return nil, err
	}
	if h.shedding() { // shedding may have started while this call waited
		h.release()
		return nil, busy()
	}
	return h.release, nil
}

// enqueue returns a channel that is closed when the call has a slot.
func (h *PasswordHasher) enqueue(source string) (turn chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	turn = make(chan struct{})
	switch {
	case h.free > 0:
		h.free--
		close(turn)
		return turn, nil
	case h.queued >= hashQueue || len(h.waiting[source]) >= hashPerSource:
		return nil, busy()
	case len(h.waiting[source]) == 0:
		h.sources = append(h.sources, source)
	}
	h.waiting[source] = append(h.waiting[source], turn)
	h.queued++
	return turn, nil
}

// release gives the slot to the oldest call of the next source.
func (h *PasswordHasher) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.sources) == 0 {
		h.free++
		return
	}
	source := h.sources[0]
	h.sources = append(h.sources[1:], source)
	close(h.waiting[source][0])
	h.remove(source, 0)
}

// leave removes a call that no longer waits. It releases the slot if the call has just received one.
func (h *PasswordHasher) leave(source string, turn chan struct{}) {
	h.mu.Lock()
	i := slices.Index(h.waiting[source], turn)
	if i >= 0 {
		h.remove(source, i)
	}
	h.mu.Unlock()
	if i < 0 {
		h.release()
	}
}

// remove removes the call with index i of a source. The caller must hold mu.
func (h *PasswordHasher) remove(source string, i int) {
	h.queued--
	if h.waiting[source] = slices.Delete(h.waiting[source], i, i+1); len(h.waiting[source]) == 0 {
		delete(h.waiting, source)
		h.sources = slices.DeleteFunc(h.sources, func(s string) bool { return s == source })
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

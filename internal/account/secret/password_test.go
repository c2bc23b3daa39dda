package secret

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
)

func TestPasswordRules(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		password string
		ok       bool
	}{
		{"ten characters", "abcdefghij", true},
		{"nine characters", "abcdefghi", false},
		{"ten characters of several bytes", "äöüäöüäöüä", true},
		{"five characters of two bytes", "äöüäö", false},
		{"the email address", "Ann@Example.com", false},
		{"longest", strings.Repeat("x", MaxPassword), true},
		{"too long to hash", strings.Repeat("x", MaxPassword+1), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := ValidatePassword("password", tt.password, "ann@example.com")
			if (err == nil) != tt.ok {
				t.Errorf("got error %v, want success: %t", err, tt.ok)
			}
			if err != nil && strings.Contains(err.Error(), tt.password) {
				t.Error("the error repeats the password")
			}
		})
	}
}

func TestHashesCostEnoughAndMatchOnlyTheirPassword(t *testing.T) {
	t.Parallel()
	hash := hashPassword("correct horse")
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("wrong cost: %s", hash)
	}
	for password, want := range map[string]bool{"correct horse": true, "correct horsf": false, "": false} {
		if got, err := PasswordMatches(hash, password); err != nil || got != want {
			t.Errorf("%q: got %v, %v", password, got, err)
		}
	}
	if hashPassword("correct horse") == hash {
		t.Error("two hashes of one password are the same: no salt")
	}
}

// The duration of a sign-in must not reveal whether an account exists.
func TestUnknownAccountsCostTheSameWork(t *testing.T) {
	t.Parallel()
	cost := func(hash string) string { return hash[:strings.LastIndex(hash[:strings.LastIndex(hash, "$")], "$")] }
	dummy := NewPasswordHasher(1, nil).Dummy
	if cost(dummy) != cost(hashPassword("password")) || len(dummy) != len(hashPassword("password")) {
		t.Errorf("the dummy hash has cost %s and length %d, want those of a real hash", cost(dummy), len(dummy))
	}
	if ok, err := PasswordMatches(dummy, ""); ok || err != nil {
		t.Errorf("the dummy hash matches the empty password: %v, %v", ok, err)
	}
}

func TestDamagedHashesAreErrors(t *testing.T) {
	t.Parallel()
	for _, stored := range []string{
		"", "plain", "$argon2i$v=19$m=19456,t=2,p=1$AAAA$AAAA", "$argon2id$v=18$m=19456,t=2,p=1$AAAA$AAAA",
		"$argon2id$v=19$m=x$AAAA$AAAA", "$argon2id$v=19$m=19456,t=2,p=0$AAAA$AAAA", "$argon2id$v=19$m=19456,t=2,p=1$!$AAAA", "$argon2id$v=19$m=19456,t=2,p=1$AAAA$",
	} {
		if ok, err := PasswordMatches(stored, "password"); ok || !errors.Is(err, errHashForm) {
			t.Errorf("PasswordMatches(%q) = %v, %v; want false, errHashForm", stored, ok, err)
		}
	}
}

func TestHashSlotsAndQueueAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewPasswordHasher(2, nil)
		first, err := h.Acquire(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		second, _ := h.Acquire(t.Context(), "")
		results := make(chan error, hashQueue)
		for i := range hashQueue {
			go func() {
				release, err := h.Acquire(t.Context(), strconv.Itoa(i/hashPerSource))
				if err == nil {
					release()
				}
				results <- err
			}()
		}
		synctest.Wait()
		if _, err := h.Acquire(t.Context(), ""); llm.AsError(err).Kind != llm.Overloaded || llm.AsError(err).RetryAfter == 0 {
			t.Errorf("queue full: got %v, want Overloaded with a retry time", err)
		}
		first()
		second()
		for range hashQueue {
			if err := <-results; err != nil {
				t.Errorf("waiting: %v", err)
			}
		}
	})
}

func TestOneSourceLeavesSlotsForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const strangers = hashPerSource + 88
		h := NewPasswordHasher(1, nil)
		release, err := h.Acquire(t.Context(), "stranger")
		if err != nil {
			t.Fatal(err)
		}
		served, refused := make(chan string, strangers+1), make(chan error, strangers+1)
		acquire := func(source string) {
			release, err := h.Acquire(t.Context(), source)
			if err != nil {
				refused <- err
				return
			}
			served <- source
			time.Sleep(20 * time.Millisecond)
			release()
		}
		for range strangers {
			go acquire("stranger")
		}
		synctest.Wait()
		go acquire("user")
		synctest.Wait()
		release()
		time.Sleep(hashWait)
		if len(refused) != strangers-hashPerSource || len(served) != hashPerSource+1 {
			t.Errorf("%d attempts were refused and %d served, want %d and %d", len(refused), len(served), strangers-hashPerSource, hashPerSource+1)
		}
		if first, second := <-served, <-served; first != "stranger" || second != "user" {
			t.Errorf("served %s and %s first, want the source that was waiting longest and then the other", first, second)
		}
	})
}

func TestWaitingForASlotEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := NewPasswordHasher(1, nil)
		if _, err := h.Acquire(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Acquire(t.Context(), ""); llm.AsError(err).Kind != llm.Overloaded {
			t.Errorf("after the longest wait: got %v, want Overloaded", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.Acquire(gone, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled caller: got %v, want context.Canceled", err)
		}
		if h.queued != 0 || len(h.waiting) > 0 || len(h.sources) > 0 {
			t.Error("a caller is still counted as waiting")
		}
	})
}

func TestHashSlotsLeaveHalfOfTheProcessors(t *testing.T) {
	t.Parallel()
	for processors := 1; processors <= 64; processors++ {
		slots := PasswordSlots(processors)
		if slots < 1 || slots > maxPasswordSlots || (processors > 1 && slots > processors/2) {
			t.Errorf("%d processors: %d concurrent hashes", processors, slots)
		}
	}
}

func TestSignInsAreShedBeforeModelRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shedding atomic.Bool
		h := NewPasswordHasher(1, shedding.Load)
		release, err := h.Acquire(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error)
		go func() {
			_, err := h.Acquire(t.Context(), "")
			waiting <- err
		}()
		synctest.Wait()
		shedding.Store(true)
		begun := time.Now()
		_, err = h.Acquire(t.Context(), "")
		if e := llm.AsError(err); e.Kind != llm.Overloaded || e.RetryAfter <= 0 || e.Status() != http.StatusServiceUnavailable || time.Since(begun) != 0 {
			t.Errorf("new sign-in: got %v after %s, want Overloaded immediately", err, time.Since(begun))
		}
		release()
		if err := <-waiting; llm.AsError(err).Kind != llm.Overloaded {
			t.Errorf("waiting sign-in: got %v, want Overloaded", err)
		}
		shedding.Store(false)
		if _, err := h.Acquire(t.Context(), ""); err != nil {
			t.Errorf("after the overload: %v", err)
		}
	})
}

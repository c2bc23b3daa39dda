package account_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	a, registered, err := f.Register(f.ctx, account.Registration{Email: "ann@example.com", Password: password, SetupCode: f.setupCode(), Visitor: local})
	f.must(err)
	_, token, err := f.Login(f.ctx, " Ann@Example.COM", password, account.Visitor{IP: "203.0.113.9", Client: strings.Repeat("é", 300) + "\x00\n"})
	f.must(err)
	if token == registered {
		t.Error("Login returned the token of an older session")
	}
	got, session, err := f.Session(f.ctx, token)
	f.must(err)
	if got.ID != a.ID || session.IP != "203.0.113.9" || len(session.Client) > 200 || strings.ContainsAny(session.Client, "\x00\n") {
		t.Errorf("%+v", session)
	}
	for _, wrong := range []string{"", "short", password + " ", strings.ToUpper(password), strings.Repeat("x", 1<<20)} {
		_, _, err := f.Login(f.ctx, "ann@example.com", wrong, distant)
		f.refused(err, llm.WrongCredentials)
	}
}

// Known and unknown addresses get the same error and have the same limit. The next test compares the work.
func TestGuessesAreBoundedPerAddress(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.register("known@example.com")
	for _, email := range []string{"known@example.com", "unknown@example.com", "nul\x00\xff@example.com"} {
		var answers []string
		for i := range 30 {
			v := account.Visitor{IP: fmt.Sprintf("203.0.113.%d", i), Client: fmt.Sprint("client ", i)}
			_, _, err := f.Login(f.ctx, []string{email, strings.ToUpper(email), " " + email}[i%3], "wrong password", v)
			e := llm.AsError(err)
			answers = append(answers, e.Kind.Code()+" "+e.Message)
			if e.Kind == llm.RateLimited && (e.RetryAfter <= 0 || e.RetryAfter > 15*time.Minute) {
				t.Errorf("retry after %s", e.RetryAfter)
			}
		}
		want := append(slices.Repeat([]string{"WRONG_CREDENTIALS The email address or password is incorrect."}, 10),
			slices.Repeat([]string{"RATE_LIMITED Too many sign-in attempts. Wait a while and try again."}, 20)...)
		if diff := cmp.Diff(want, answers); diff != "" {
			t.Errorf("%q: %s", email, diff)
		}
	}
	_, _, err := f.Login(f.ctx, "known@example.com", password, distant)
	f.refused(err, llm.RateLimited) // a correct password is rejected too, because checking it would confirm a guess
	f.clock.pass(15 * time.Minute)
	_, _, err = f.Login(f.ctx, "known@example.com", password, distant)
	f.must(err)
}

func TestConcurrentGuessesAreBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	var all sync.WaitGroup
	var mu sync.Mutex
	kinds := map[llm.Kind]int{}
	for range 40 {
		all.Go(func() {
			_, _, err := f.Login(f.ctx, "ann@example.com", "wrong password", distant)
			mu.Lock()
			defer mu.Unlock()
			kinds[llm.AsError(err).Kind]++
		})
	}
	all.Wait()
	// On a busy machine some attempts wait too long for a hash slot and are rejected unchecked.
	if kinds[llm.WrongCredentials] > 10 || kinds[llm.WrongCredentials]+kinds[llm.RateLimited]+kinds[llm.Overloaded] != 40 {
		t.Errorf("error kinds %v, want at most 10 WrongCredentials and 40 in all", kinds)
	}
}

func TestCorrectPasswordsDoNotCountAsGuesses(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.register("ann@example.com")
	for i := range 12 {
		if _, _, err := f.Login(f.ctx, "ann@example.com", password, distant); err != nil {
			t.Fatalf("login %d: %v", i, err)
		}
	}
}

func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	const day = 24 * time.Hour
	start := func() string {
		t.Helper()
		_, token, err := f.Login(f.ctx, "ann@example.com", password, distant)
		f.must(err)
		return token
	}
	valid := func(token string) bool {
		_, _, err := f.Session(f.ctx, token)
		return err == nil
	}
	a := f.register("ann@example.com")

	idle := start()
	f.clock.pass(7*day - time.Millisecond)
	if !valid(idle) {
		t.Error("session expired before seven idle days")
	}
	f.clock.pass(7 * day)
	if valid(idle) {
		t.Error("session is valid after seven idle days")
	}

	busy := start()
	for hours := 0; hours < 30*24; hours += 24 {
		if !valid(busy) {
			t.Fatalf("session used daily expired after %d hours", hours)
		}
		f.clock.pass(day)
	}
	if valid(busy) {
		t.Error("session is valid after thirty days")
	}

	out := start()
	other := start()
	f.must(f.Logout(f.ctx, out))
	f.must(f.Logout(f.ctx, out))
	if valid(out) {
		t.Error("Logout did not end the session")
	}
	if !valid(other) {
		t.Error("Logout ended another session")
	}
	sessions, err := f.Sessions(f.ctx, a.ID)
	f.must(err)
	if len(sessions) != 1 {
		t.Errorf("got %d sessions, want 1", len(sessions))
	}
	stranger := f.register("bob@example.com")
	f.refused(f.EndSession(f.ctx, stranger.ID, sessions[0].ID()), llm.NotFound)
	f.must(f.EndSession(f.ctx, a.ID, sessions[0].ID()))
	if valid(other) {
		t.Error("an ended session is valid")
	}
	for _, junk := range []string{"", "x", strings.Repeat("a", 32), strings.Repeat("\x00", 32)} {
		_, _, err := f.Session(f.ctx, junk)
		f.refused(err, llm.SignInRequired)
	}
}

func TestSeenIsWrittenAtMostOnceAMinute(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	_, token, err := f.Register(f.ctx, account.Registration{Email: "ann@example.com", Password: password, SetupCode: f.setupCode(), Visitor: local})
	f.must(err)
	start := f.clock.now()
	for range 59 {
		f.clock.pass(time.Second)
		_, session, err := f.Session(f.ctx, token)
		f.must(err)
		if !session.SeenAt.Equal(start) {
			t.Fatalf("SeenAt = %v within the first minute, want %v", session.SeenAt, start)
		}
	}
	f.clock.pass(time.Second)
	_, session, err := f.Session(f.ctx, token)
	f.must(err)
	if !session.SeenAt.Equal(start.Add(time.Minute)) {
		t.Errorf("SeenAt = %v after a minute, want %v", session.SeenAt, start.Add(time.Minute))
	}
}

func TestPasswordChangeEndsAllSessions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	a, first, err := f.Register(f.ctx, account.Registration{Email: "ann@example.com", Password: password, SetupCode: f.setupCode(), Visitor: local})
	f.must(err)
	_, err = f.ChangePassword(f.ctx, a.ID, "wrong password", "another long one", distant)
	f.refused(err, llm.WrongCredentials, "old_password")
	_, err = f.ChangePassword(f.ctx, a.ID, password, "short", distant)
	f.refused(err, llm.InvalidRequest, "new_password")

	second, err := f.ChangePassword(f.ctx, a.ID, password, "another long one", distant)
	f.must(err)
	_, _, err = f.Session(f.ctx, first)
	f.refused(err, llm.SignInRequired)
	_, _, err = f.Session(f.ctx, second)
	f.must(err)
	_, _, err = f.Login(f.ctx, "ann@example.com", password, distant)
	f.refused(err, llm.WrongCredentials)

	f.must(f.ResetPassword(f.ctx, "Ann@example.com", "a third long one"))
	_, _, err = f.Session(f.ctx, second)
	f.refused(err, llm.SignInRequired)
	_, _, err = f.Login(f.ctx, "ann@example.com", "a third long one", distant)
	f.must(err)
	f.refused(f.ResetPassword(f.ctx, "unknown@example.com", "a third long one"), llm.NotFound)
}

// A sign-in that races with a password change must not leave a session that was authenticated with the old password.
func TestNoSessionOutlivesItsPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	a := f.register("ann@example.com")
	var all sync.WaitGroup
	tokens := make([]string, 6)
	for i := range tokens {
		all.Go(func() { _, tokens[i], _ = f.Login(f.ctx, "ann@example.com", password, distant) })
	}
	var kept string
	all.Go(func() { kept, _ = f.ChangePassword(f.ctx, a.ID, password, "another long one", distant) })
	all.Wait()
	for _, token := range tokens {
		if _, _, err := f.Session(f.ctx, token); err == nil {
			t.Error("a session of the old password is valid")
		}
	}
	if _, _, err := f.Session(f.ctx, kept); err != nil {
		t.Error(err)
	}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	a := f.register("ann@example.com")
	name, zone, bad := "Ann", "America/New_York", "Mars/Olympus"
	_, err := f.UpdateAccount(f.ctx, a.ID, account.ProfileChange{TimeZone: &bad})
	f.refused(err, llm.InvalidRequest, "time_zone")
	changed, err := f.UpdateAccount(f.ctx, a.ID, account.ProfileChange{Name: &name, TimeZone: &zone})
	f.must(err)
	stored, err := f.Account(f.ctx, a.ID)
	f.must(err)
	if diff := cmp.Diff(changed, stored); diff != "" || stored.Name != name || stored.TimeZone != zone {
		t.Errorf("name %q, time zone %q, want %q, %q:\n%s", stored.Name, stored.TimeZone, name, zone, diff)
	}
	f.refused(f.DeleteAccount(f.ctx, a.ID, "wrong password", local), llm.WrongCredentials, "password")
	f.must(f.DeleteAccount(f.ctx, a.ID, password, local))
	if _, err := f.Account(f.ctx, a.ID); !errors.Is(err, account.ErrNotFound) {
		t.Errorf("Account after deletion: got %v, want ErrNotFound", err)
	}
}

func TestPasswordsCanBeDisabled(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "open")
	f.register("ops@example.com")
	ann := f.register("ann@example.com")
	_, before, err := f.Login(f.ctx, "ann@example.com", password, local)
	f.must(err)
	strict, err := account.New(f.db.Accounts.Stores(), account.Options{
		MasterKey: master, Now: f.clock.now, Registration: "open", Passwords: func(email string) bool { return email == "ops@example.com" },
	})
	f.must(err)
	_, _, err = strict.Login(f.ctx, "Ann@example.com", password, local)
	f.refused(err, llm.PermissionDenied)
	_, _, err = strict.Register(f.ctx, account.Registration{Email: "new@example.com", Password: password, Visitor: local})
	f.refused(err, llm.PermissionDenied)
	_, _, err = strict.Session(f.ctx, before)
	f.refused(err, llm.SignInRequired)
	_, token, err := strict.Login(f.ctx, "ops@example.com", password, local)
	f.must(err)
	_, _, err = strict.Session(f.ctx, token)
	f.must(err)
	if a, err := strict.Account(f.ctx, ann.ID); err != nil || !a.HasPassword() {
		t.Errorf("%+v, %v", a, err)
	}
}

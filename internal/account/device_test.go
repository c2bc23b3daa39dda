package account_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
)

// exhaust uses up the sign-in attempts for an account from unknown devices.
func (f *fixture) exhaust(email string) {
	f.t.Helper()
	for range 10 {
		_, _, err := f.Login(f.ctx, email, "wrong password", distant)
		f.refused(err, llm.WrongCredentials)
	}
	_, _, err := f.Login(f.ctx, email, password, distant)
	f.refused(err, llm.RateLimited)
}

func TestKnownDeviceIsNotLockedOutByStrangers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.register("ann@example.com")
	bob := f.register("bob@example.com")
	ann, err := f.db.Accounts.AccountByEmail(f.ctx, "ann@example.com")
	f.must(err)
	token := f.DeviceToken(ann, "")
	if again := f.DeviceToken(ann, token); again != token {
		t.Error("a valid device token was replaced")
	}
	f.exhaust("ann@example.com")

	login := func(device, secret string) error {
		_, _, err := f.Login(f.ctx, "ann@example.com", secret, account.Visitor{Device: device})
		return err
	}
	f.must(login(token, password))
	id, mac, _ := strings.Cut(token, ".")
	for name, forged := range map[string]string{
		"empty": "", "without a signature": id, "other id": "x" + id + "." + mac, "other signature": id + "." + strings.Repeat("0", len(mac)),
		"of another account": f.DeviceToken(bob, ""), "with a suffix": token + "0",
	} {
		t.Log(name)
		f.refused(login(forged, password), llm.RateLimited)
	}
	for range 10 { // the known device has a separate attempt limit
		f.refused(login(token, "wrong password"), llm.WrongCredentials)
	}
	f.refused(login(token, password), llm.RateLimited)
}

func TestStrangersDoNotDelayAKnownDevice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.register("ann@example.com")
	ann, err := f.db.Accounts.AccountByEmail(f.ctx, "ann@example.com")
	f.must(err)
	ctx, cancel := context.WithCancel(f.ctx)
	var strangers sync.WaitGroup
	var busy atomic.Int64
	for i := range 2000 {
		strangers.Go(func() {
			_, _, err := f.Login(ctx, fmt.Sprintf("%d@example.com", i), "wrong password", account.Visitor{IP: strconv.Itoa(i)})
			if llm.AsError(err).Kind == llm.Overloaded {
				busy.Add(1)
			}
		})
	}
	for busy.Load() == 0 { // until the queue is full
		runtime.Gosched()
	}
	_, _, err = f.Login(f.ctx, "ann@example.com", password, account.Visitor{Device: f.DeviceToken(ann, "")})
	cancel()
	strangers.Wait()
	f.must(err)
}

func TestNewPasswordInvalidatesDevices(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.register("ann@example.com")
	ann, err := f.db.Accounts.AccountByEmail(f.ctx, "ann@example.com")
	f.must(err)
	token := f.DeviceToken(ann, "")
	f.must(f.ResetPassword(f.ctx, "ann@example.com", "a new long password"))
	changed, err := f.db.Accounts.AccountByEmail(f.ctx, "ann@example.com")
	f.must(err)
	if f.DeviceToken(changed, token) == token {
		t.Error("the device token survived a new password")
	}
}

func TestUnlockAndResetClearWrongPasswords(t *testing.T) {
	t.Parallel()
	f := newFixture(t, "invitation")
	f.register("ann@example.com")
	f.exhaust("ann@example.com")
	f.must(f.Unlock(f.ctx, " Ann@example.com"))
	_, _, err := f.Login(f.ctx, "ann@example.com", password, distant)
	f.must(err)
	f.exhaust("ann@example.com")
	f.must(f.ResetPassword(f.ctx, "ann@example.com", "a new long password"))
	_, _, err = f.Login(f.ctx, "ann@example.com", "a new long password", distant)
	f.must(err)
	f.refused(f.Unlock(f.ctx, "unknown@example.com"), llm.NotFound)
}

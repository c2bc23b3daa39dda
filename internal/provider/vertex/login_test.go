package vertex

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// tokens is a mock of Google's token service. It returns token-1, token-2, ... after a delay, or the configured response.
type tokens struct {
	after  time.Duration
	life   int
	asked  atomic.Int64
	answer func(r *http.Request) (*http.Response, error) // response to a request; nil for a token
	last   atomic.Value
}

func (s *tokens) RoundTrip(r *http.Request) (*http.Response, error) {
	n := s.asked.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.last.Store(r.URL.String() + " " + string(body))
	select {
	case <-time.After(s.after):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	if s.answer != nil {
		return s.answer(r)
	}
	return reply(http.StatusOK, fmt.Sprintf(`{"access_token":"token-%d","token_type":"Bearer","expires_in":%d}`, n, s.life)), nil
}

func reply(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

func (s *tokens) login() func(context.Context, string) (string, error) {
	return Vendor.New(provider.Settings{Fetch: &http.Client{Transport: s}}).Login
}

// Timing constants of provider.TokenCache.
const (
	patience = 2 * time.Second
	pause    = 15 * time.Second
	assumed  = 10 * time.Minute
)

const person = `{"type":"authorized_user","client_id":"id","client_secret":"cs","refresh_token":"rt"}`

var privateKey = sync.OnceValue(func() string {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
})

func TestCredentialsAreExchanged(t *testing.T) {
	t.Parallel()
	key, err := json.Marshal(privateKey())
	if err != nil {
		t.Fatal(err)
	}
	account := `{"type":"service_account","client_email":"a@b.test","token_uri":"https://accounts.google.com/o/oauth2/token","private_key":` + string(key) + `}`
	for name, tc := range map[string]struct{ secret, sent string }{
		"a service account": {account, "https://accounts.google.com/o/oauth2/token assertion="},
		"a person":          {person, "https://oauth2.googleapis.com/token client_id=id&client_secret=cs&grant_type=refresh_token&refresh_token=rt"},
	} {
		service := &tokens{life: 3600}
		got, err := service.login()(t.Context(), tc.secret)
		if err != nil || got != "token-1" {
			t.Errorf("%s: Login = %q, %v; want token-1", name, got, err)
		}
		if sent, _ := service.last.Load().(string); !strings.HasPrefix(sent, tc.sent) {
			t.Errorf("%s: sent %q, want the prefix %q", name, sent, tc.sent)
		}
	}
}

func TestCredentialsAreSentToKnownHostsOnly(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"https://tokens.test/t", "http://oauth2.googleapis.com/token", "https://oauth2.googleapis.com:8443/token", "https://oauth2.googleapis.com.tokens.test/token",
		"https://user@oauth2.googleapis.com/token", "//oauth2.googleapis.com/token", "https://tokens.test/?oauth2.googleapis.com", "http://169.254.169.254/token", "%",
	} {
		service := &tokens{life: 3600}
		secret := strings.Replace(person, `{`, `{"token_uri":"`+address+`",`, 1)
		if _, err := service.login()(t.Context(), secret); llm.AsError(err).Kind != llm.UpstreamAuth || service.asked.Load() > 0 {
			t.Errorf("%s: %d calls, %v; want UpstreamAuth without a call", address, service.asked.Load(), err)
		}
		configured := Vendor.New(provider.Settings{Fetch: &http.Client{Transport: service}, Options: map[string]string{TokenURL: "https://sts.corp.test/t"}})
		if _, err := configured.Login(t.Context(), secret); err != nil {
			t.Errorf("%s: with a configured token service: %v", address, err)
		}
		if sent, _ := service.last.Load().(string); !strings.HasPrefix(sent, "https://sts.corp.test/t ") {
			t.Errorf("%s: sent %q, want the configured token service", address, sent)
		}
	}
}

func TestTokenServiceRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		service := &tokens{answer: func(r *http.Request) (*http.Response, error) {
			resp := reply(status, "")
			resp.Header.Set("Location", "https://elsewhere.test/t")
			resp.Request = r
			return resp, nil
		}}
		if _, err := service.login()(t.Context(), person); err == nil || service.asked.Load() != 1 {
			t.Errorf("status %d: %d calls, %v; want 1 and an error", status, service.asked.Load(), err)
		}
	}
}

func TestTokenServiceErrorsDoNotRepeatTheCredential(t *testing.T) {
	t.Parallel()
	const secret = `{"type":"authorized_user","client_id":"id","client_secret":"cs-0123456789","refresh_token":"rt/0123456789"}`
	service := &tokens{answer: func(*http.Request) (*http.Response, error) {
		return reply(http.StatusBadRequest, `{"error":"invalid_grant","error_description":"bad rt\\/0123456789 of \\u0063s-0123456789"}`), nil
	}}
	_, err := service.login()(t.Context(), secret)
	if e := llm.AsError(err); strings.Contains(e.Message, "0123456789") || e.Kind != llm.UpstreamAuth {
		t.Errorf("error %+v, want UpstreamAuth without the secret", e)
	}
}

func TestTokenIsPresentedUnchanged(t *testing.T) {
	t.Parallel()
	service := &tokens{}
	for _, secret := range []string{"ya29.token", ""} {
		if got, err := service.login()(t.Context(), secret); got != secret || err != nil {
			t.Errorf("Login(%q) = %q, %v; want it unchanged", secret, got, err)
		}
	}
	if service.asked.Load() > 0 {
		t.Error("the token service was called")
	}
}

func TestTokenIsCachedAndRenewedBeforeExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &tokens{life: 3600, after: 100 * time.Millisecond}
		login := service.login()
		want := func(token string, asked int64, takes time.Duration) {
			t.Helper()
			began := time.Now()
			got, err := login(t.Context(), person)
			if got != token || err != nil || service.asked.Load() != asked || time.Since(began) != takes {
				t.Errorf("Login = %q, %v after %d exchanges and %s; want %q, %d, %s",
					got, err, service.asked.Load(), time.Since(began), token, asked, takes)
			}
		}
		want("token-1", 1, 100*time.Millisecond)
		want("token-1", 1, 0)
		time.Sleep(54 * time.Minute)
		want("token-1", 1, 0)
		time.Sleep(2 * time.Minute)
		want("token-2", 2, 100*time.Millisecond) // a single request renews the token
		want("token-2", 2, 0)

		// While the service hangs, one request waits for 2 s and then uses the old token; the next requests do not
		// wait.
		service.after = time.Hour
		time.Sleep(56 * time.Minute)
		want("token-2", 3, patience)
		want("token-2", 3, 0)
		time.Sleep(pause)
		want("token-2", 4, patience)

		// Requests wait for a new token when the old one has expired.
		service.after = time.Second
		time.Sleep(10 * time.Minute)
		want("token-5", 5, time.Second)
	})
}

func TestOneRequestRenewsWhileOthersUseTheOldToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &tokens{life: 3600}
		login := service.login()
		if _, err := login(t.Context(), person); err != nil {
			t.Fatal(err)
		}
		time.Sleep(57 * time.Minute)
		service.after = time.Second
		began := time.Now()
		var all sync.WaitGroup
		var waited atomic.Int64
		for range 20 {
			all.Go(func() {
				if _, err := login(t.Context(), person); err != nil {
					t.Error(err)
				}
				if time.Since(began) > 0 {
					waited.Add(1)
				}
			})
		}
		all.Wait()
		if waited.Load() != 1 || service.asked.Load() != 2 {
			t.Errorf("%d requests waited, %d exchanges; want 1 and 2", waited.Load(), service.asked.Load())
		}
	})
}

func TestFirstTokenIsFetchedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &tokens{life: 3600, after: time.Second}
		login := service.login()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if got, err := login(t.Context(), person); got != "token-1" || err != nil {
					t.Errorf("Login = %q, %v; want token-1", got, err)
				}
			})
		}
		all.Wait()
		if service.asked.Load() != 1 {
			t.Errorf("%d exchanges, want 1", service.asked.Load())
		}
	})
}

func TestRequestsThatWaitedForAFailedFetchReturnItsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &tokens{after: time.Second, answer: func(*http.Request) (*http.Response, error) { return reply(http.StatusServiceUnavailable, ""), nil }}
		login := service.login()
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if _, err := login(t.Context(), person); err == nil {
					t.Error("Login with an unavailable token service returned no error")
				}
			})
		}
		all.Wait()
		if service.asked.Load() != 1 {
			t.Errorf("%d exchanges, want 1", service.asked.Load())
		}
		if _, err := login(t.Context(), person); err == nil || service.asked.Load() != 2 {
			t.Errorf("a later request: %v after %d exchanges, want an error after 2", err, service.asked.Load())
		}
	})
}

func TestCancelledRequestDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &tokens{life: 3600, after: 5 * time.Second}
		login := service.login()
		first, leave := context.WithCancel(t.Context())
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := login(first, person); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled request: %v, want context.Canceled", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if _, err := login(short, person); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("request past its deadline: %v, want context.DeadlineExceeded", err)
			}
		})
		all.Go(func() { // this request fetches the token after the first request is cancelled
			if got, err := login(t.Context(), person); got != "token-2" || err != nil {
				t.Errorf("Login = %q, %v; want token-2", got, err)
			}
		})
		time.Sleep(2 * time.Second)
		leave()
		all.Wait()
	})
}

func TestFailuresOfTheTokenService(t *testing.T) {
	t.Parallel()
	says := func(status int, body string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return reply(status, body), nil }
	}
	breaks := func(err error) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return nil, err }
	}
	for name, tc := range map[string]struct {
		secret string
		answer func(*http.Request) (*http.Response, error)
		kind   llm.Kind
		says   string
	}{
		"a revoked key":              {person, says(400, `{"error":"invalid_grant","error_description":"Token has been expired or revoked."}`), llm.UpstreamAuth, "invalid_grant"},
		"too many exchanges":         {person, says(429, `{}`), llm.UpstreamRateLimited, "token service"},
		"a server error":             {person, says(500, ``), llm.UpstreamServer, "token service"},
		"a response without a token": {person, says(200, `{"access_token":"","expires_in":1}`), llm.UpstreamAuth, ""},
		"no connection":              {person, breaks(io.ErrUnexpectedEOF), llm.UpstreamConnect, "reached"},
		"a blocked address":          {person, breaks(llm.Errorf(llm.UpstreamConnect, "private")), llm.UpstreamConnect, "private"},
		"silence":                    {person, breaks(context.DeadlineExceeded), llm.UpstreamTimeout, "in time"},
		"an invalid key":             {`{"type":"service_account","private_key":"x"}`, nil, llm.UpstreamAuth, "cannot be used"},
		"an unsupported type":        {`{"type":"gdch_service_account"}`, nil, llm.UpstreamAuth, "cannot be used"},
		"invalid JSON":               {`{"type":`, nil, llm.UpstreamAuth, "cannot be used"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := (&tokens{answer: tc.answer}).login()(t.Context(), tc.secret)
			if e := llm.AsError(err); err == nil || e.Kind != tc.kind || !strings.Contains(e.Message, tc.says) {
				t.Errorf("Login: %v, want %s with %q", err, tc.kind, tc.says)
			}
		})
	}
	if _, err := Vendor.New(provider.Settings{}).Login(t.Context(), person); err == nil {
		t.Error("Login without a client returned no error")
	}
}

func TestTokenWithoutExpiryIsRenewed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &tokens{answer: func(*http.Request) (*http.Response, error) {
			return reply(http.StatusOK, `{"access_token":"x","token_type":"Bearer"}`), nil
		}}
		login := service.login()
		for range 3 {
			if _, err := login(t.Context(), person); err != nil {
				t.Fatal(err)
			}
			time.Sleep(assumed)
		}
		if service.asked.Load() != 3 {
			t.Errorf("%d exchanges, want 3", service.asked.Load())
		}
	})
}

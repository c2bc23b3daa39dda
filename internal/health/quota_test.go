package health

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestQuotaIsReadFromTheHeadersOfVendors(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header http.Header
		want   Quota
	}{
		"OpenAI": {
			headers("x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "59", "x-ratelimit-reset-requests", "1s",
				"x-ratelimit-limit-tokens", "150000", "x-ratelimit-remaining-tokens", "149984", "x-ratelimit-reset-tokens", "6m0s"),
			Quota{Allowance{true, 59, 60, time.Second}, Allowance{true, 149984, 150000, 6 * time.Minute}},
		},
		"milliseconds": {
			headers("x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "120ms"),
			Quota{Tokens: Allowance{true, 0, 0, 120 * time.Millisecond}},
		},
		"Anthropic": {
			headers("anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2026-11-19T12:00:30Z",
				"anthropic-ratelimit-tokens-remaining", "7", "anthropic-ratelimit-input-tokens-limit", "1000", "anthropic-ratelimit-input-tokens-remaining", "5",
				"anthropic-ratelimit-input-tokens-reset", "2026-11-19T12:01:00Z"),
			Quota{Allowance{true, 0, 50, 30 * time.Second}, Allowance{true, 5, 1000, time.Minute}},
		},
		"Cerebras": {
			headers("x-ratelimit-limit-requests-day", "14400", "x-ratelimit-remaining-requests-day", "14370", "x-ratelimit-reset-requests-day", "33011.382867"),
			Quota{Requests: Allowance{true, 14370, 14400, 33011382867000}},
		},
		"no reset":           {headers("x-ratelimit-remaining-requests", "0"), Quota{Requests: Allowance{true, 0, 0, time.Minute}}},
		"reset in the past":  {headers("anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", "2020-01-01T00:00:00Z"), Quota{Requests: Allowance{true, 0, 0, time.Minute}}},
		"negative":           {headers("x-ratelimit-remaining-requests", "-5"), Quota{Requests: Allowance{true, 0, 0, time.Minute}}},
		"not a number":       {headers("x-ratelimit-remaining-requests", "many"), Quota{}},
		"absurd reset":       {headers("x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "1e300"), Quota{Requests: Allowance{true, 0, 0, time.Minute}}},
		"no such header":     {headers("Retry-After", "5"), Quota{}},
		"without any header": {http.Header{}, Quota{}},
	} {
		if diff := cmp.Diff(c.want, ReadQuota(c.header, now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestQuotaIsUnavailableUntilItHasGrown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := New(Options{})
		tr.Admit(here, []string{"openai#1"}, true)
		wait := func(tokens int64) time.Duration { return tr.States(time.Now(), tokens)(here).QuotaWait }
		if got := wait(1_000_000); got != 0 {
			t.Errorf("wait of an unknown quota = %v, want 0", got)
		}
		// 60 requests and 60,000 tokens a minute: one request and 1,000 tokens grow each second.
		tr.ReportQuota(here, "openai#1", Quota{Allowance{true, 2, 62, time.Minute}, Allowance{true, 10_000, 70_000, time.Minute}})
		for tokens, want := range map[int64]time.Duration{0: 0, 10_000: 0, 15_000: 5 * time.Second, 70_000: time.Minute, 5_000_000: time.Minute} {
			if got := wait(tokens); got.Round(time.Millisecond) != want {
				t.Errorf("wait for %d tokens = %v, want %v", tokens, got, want)
			}
		}
		tr.Spend(here, "openai#1", 4_000)
		tr.Spend(here, "openai#1", 4_000)
		if got := wait(0); got.Round(time.Millisecond) != time.Second {
			t.Errorf("wait after the last request was spent = %v, want 1s", got)
		}
		if got := wait(5_000); got.Round(time.Millisecond) != 3*time.Second {
			t.Errorf("wait for tokens after 8,000 of 10,000 were spent = %v, want 3s", got)
		}
		time.Sleep(3 * time.Second)
		if got := wait(5_000); got != 0 {
			t.Errorf("wait after the quota has grown = %v, want 0", got)
		}
		tr.ReportQuota(here, "openai#1", Quota{Requests: Allowance{Known: true, Reset: time.Minute}})
		time.Sleep(59 * time.Second)
		if got := wait(0); got != time.Second {
			t.Errorf("wait of an empty quota without a limit = %v, want 1s until the reset", got)
		}
		time.Sleep(time.Second)
		if got := wait(0); got != 0 {
			t.Errorf("wait after the reset = %v, want 0", got)
		}
	})
}

func TestCredentialWithQuotaIsUsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr := New(Options{})
		both := []string{"openai#1", "openai#2"}
		empty := Quota{Requests: Allowance{Known: true, Reset: time.Minute}}
		tr.Admit(here, both, true)
		tr.ReportQuota(here, "openai#1", empty)
		for range 4 {
			if p, ok := tr.Admit(here, both, true); !ok || p.Credential != "openai#2" {
				t.Fatalf("Admit = %+v, %t; want the credential with quota", p, ok)
			}
		}
		if wait := tr.States(time.Now(), 0)(here).QuotaWait; wait != 0 {
			t.Errorf("wait = %v with a credential that has quota, want 0", wait)
		}
		tr.ReportQuota(here, "openai#2", empty)
		if wait := tr.States(time.Now(), 0)(here).QuotaWait; wait != time.Minute {
			t.Errorf("wait = %v without quota, want 1m", wait)
		}
		if _, ok := tr.Admit(here, both, true); !ok {
			t.Error("Admit rejected a target without quota; its report may be outdated, so only the routing decision avoids it")
		}
		tr.Report(Report{Target: here, Credential: "openai#2", Err: &llm.Error{Kind: llm.UpstreamRateLimited, RetryAfter: time.Second}})
		if wait := tr.States(time.Now(), 0)(here).QuotaWait; wait != time.Minute {
			t.Errorf("wait = %v while one credential backs off, want that of the other credential", wait)
		}
	})
}

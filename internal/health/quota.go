package health

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Quota is what the rate limits of a provider account leave, as the headers of a response report it.
type Quota struct {
	Requests, Tokens Allowance
}

// Allowance is the rest of one rate limit. Providers refill their limits continuously, so that the allowance grows from Remaining to Limit
// within Reset.
type Allowance struct {
	Known     bool
	Remaining int64
	Limit     int64         // 0 if unknown; the allowance then stays the same until Reset
	Reset     time.Duration // time until the limit is full again
}

// defaultReset is used for an allowance without a reset time. Most limits apply to one minute.
const defaultReset = time.Minute

// allowanceNames are the names of one limit in the headers of different vendors.
type allowanceNames struct{ remaining, limit, reset string }

// Header names by limit. The first of them that a response has is used.
var (
	requestHeaders = []allowanceNames{
		{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Limit-Requests", "X-Ratelimit-Reset-Requests"}, // OpenAI, Azure, Groq, Together, xAI
		{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Limit", "Anthropic-Ratelimit-Requests-Reset"},
		{"X-Ratelimit-Remaining-Requests-Day", "X-Ratelimit-Limit-Requests-Day", "X-Ratelimit-Reset-Requests-Day"}, // Cerebras
	}
	tokenHeaders = []allowanceNames{
		{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Limit-Tokens", "X-Ratelimit-Reset-Tokens"},
		{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Limit", "Anthropic-Ratelimit-Input-Tokens-Reset"},
		{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Limit", "Anthropic-Ratelimit-Tokens-Reset"},
		{"X-Ratelimit-Remaining-Tokens-Minute", "X-Ratelimit-Limit-Tokens-Minute", "X-Ratelimit-Reset-Tokens-Minute"},
	}
)

// ReadQuota reads the rate-limit headers of a response. Limits without valid headers are unknown.
func ReadQuota(h http.Header, now time.Time) Quota {
	return Quota{Requests: readAllowance(h, requestHeaders, now), Tokens: readAllowance(h, tokenHeaders, now)}
}

func readAllowance(h http.Header, names []allowanceNames, now time.Time) Allowance {
	for _, n := range names {
		values := h[n.remaining]
		if len(values) == 0 {
			continue
		}
		remaining, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil {
			return Allowance{}
		}
		limit, _ := strconv.ParseInt(h.Get(n.limit), 10, 64) // 0 for a missing or invalid limit
		return Allowance{Known: true, Remaining: max(remaining, 0), Limit: max(limit, 0), Reset: readReset(h.Get(n.reset), now)}
	}
	return Allowance{}
}

// readReset reads a duration such as 6m0s, a number of seconds, or a time. OpenAI and Groq send durations, Cerebras seconds, Anthropic times.
func readReset(text string, now time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < (365*24*time.Hour).Seconds() {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return defaultReset
}

// quota is the last reported quota of a target with a credential, and what was spent since then.
type quota struct {
	reported         Quota
	at               time.Time
	requests, tokens int64 // requests and prompt tokens sent after the report
}

// wait returns the time until the quota is enough for a request with the given number of prompt tokens. It returns 0 if the quota is enough
// or unknown.
func (q *quota) wait(now time.Time, tokens int64) time.Duration {
	if q == nil {
		return 0
	}
	past := now.Sub(q.at)
	return max(q.reported.Requests.wait(past, q.requests, 1), q.reported.Tokens.wait(past, q.tokens, tokens))
}

// wait returns the time until the allowance is at least need. past is the time since the report, and spent what was spent since then.
func (a Allowance) wait(past time.Duration, spent, need int64) time.Duration {
	if !a.Known || past >= a.Reset {
		return 0
	}
	growth := 0.0 // per nanosecond
	if a.Limit > a.Remaining {
		growth = float64(a.Limit-a.Remaining) / float64(a.Reset)
		need = min(need, a.Limit) // a request above the limit is the provider's to reject
	}
	missing := float64(need+spent-a.Remaining) - growth*float64(past)
	switch {
	case missing <= 0:
		return 0
	case growth == 0:
		return a.Reset - past
	}
	return min(time.Duration(missing/growth), a.Reset-past)
}

// ReportQuota records the quota that a response reports for a target with a credential.
func (t *Tracker) ReportQuota(targetID, credential string, q Quota) {
	if !q.Requests.Known && !q.Tokens.Known {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	tg := t.target(targetID, now)
	if tg.quotas == nil || len(tg.quotas) >= maxCircuits {
		tg.quotas = map[string]*quota{}
	}
	tg.quotas[credential] = &quota{reported: q, at: now}
}

// Spend counts a request that is about to be sent towards the quota of a target with a credential.
func (t *Tracker) Spend(targetID, credential string, tokens int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if tg := t.targets[targetID]; tg != nil {
		if q := tg.quotas[credential]; q != nil {
			q.requests++
			q.tokens += tokens
		}
	}
}

// quotaWait returns the time until a target has enough quota for a request with at least one of the credentials that are not backing off.
func (t *Tracker) quotaWait(tg *target, credentials []string, now time.Time, tokens int64) time.Duration {
	if len(tg.quotas) == 0 {
		return 0
	}
	shortest := time.Duration(-1)
	for _, id := range credentials {
		if !t.ready(tg, id, now) {
			continue
		}
		if wait := tg.quotas[id].wait(now, tokens); shortest < 0 || wait < shortest {
			shortest = wait
		}
	}
	return max(shortest, 0)
}

package health

import (
	"maps"
	"slices"
	"time"

	"fairlead/internal/llm"
)

const (
	longestRest  = 5 * time.Minute // whatever a provider asks for
	firstRest    = time.Second     // after a 429 that names no time
	unknownRest  = time.Minute     // how long that grows
	refusedRest  = time.Minute     // after our credential was refused
	refusedLimit = time.Hour       // how long that grows
)

// credential is what is known about one secret of a provider.
type credential struct {
	until   time.Time // rests until then
	strikes int       // rests in a row, without a success in between
	alert   bool      // it was refused: a person must look
	reason  string
	used    time.Time
}

// ring remembers whose turn it is among a provider's credentials.
type ring struct {
	ids  []string
	next int
}

// ringOf notes which credentials a provider has.
func (t *Tracker) ringOf(targetID string, ids []string) *ring {
	name := providerOf(targetID)
	r := t.providers[name]
	if r == nil {
		r = &ring{}
		t.providers[name] = r
	}
	if !slices.Equal(r.ids, ids) {
		r.ids = slices.Clone(ids)
	}
	return r
}

// Spare reports whether a target may be tried at once with another credential than the one that failed.
func (t *Tracker) Spare(targetID string, credentials []string, failed string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	tg := t.target(targetID, now)
	return slices.ContainsFunc(credentials, func(id string) bool {
		return id != failed && t.awake(id, now) && tg.sendable(&t.o, id, now)
	})
}

// Wait is how long until one of the credentials may be used; 0 when one may, or there are none.
func (t *Tracker) Wait(credentials []string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.resting(credentials, t.now())
}

func (t *Tracker) awake(id string, now time.Time) bool {
	c := t.credentials[id]
	return c == nil || !now.Before(c.until)
}

// Rest leaves a credential alone for a while, at most five minutes. Resting again extends it, never shortens it.
func (t *Tracker) Rest(credentialID string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	t.credential(credentialID, now).rest(now, min(d, longestRest), string(llm.UpstreamRateLimited))
}

// resting is how long until one of the credentials may be used; 0 when one may, or there are none.
func (t *Tracker) resting(ids []string, now time.Time) time.Duration {
	shortest := time.Duration(-1)
	for _, id := range ids {
		if t.awake(id, now) {
			return 0
		}
		if left := t.credentials[id].until.Sub(now); shortest < 0 || left < shortest {
			shortest = left
		}
	}
	return max(shortest, 0)
}

func (t *Tracker) alerts(ids []string) []string {
	var names []string
	for _, id := range ids {
		if c := t.credentials[id]; c != nil && c.alert {
			names = append(names, id)
		}
	}
	return names
}

func (t *Tracker) credential(id string, now time.Time) *credential {
	c := t.credentials[id]
	if c == nil {
		if len(t.credentials) >= maxIdle {
			maps.DeleteFunc(t.credentials, func(_ string, old *credential) bool { return now.Sub(old.used) > 24*time.Hour })
		}
		c = &credential{}
		t.credentials[id] = c
	}
	c.used = now
	return c
}

// report rests a credential that met its rate limit or was refused, and clears one that served.
func (c *credential) report(now time.Time, e *llm.Error) {
	if e == nil {
		if !now.Before(c.until) { // a success from before the rest proves nothing about it
			*c = credential{used: c.used}
		}
		return
	}
	switch e.Kind { //nolint:exhaustive // the others are not about the credential
	case llm.UpstreamRateLimited:
		d := min(e.RetryAfter, longestRest)
		if d <= 0 {
			d = grown(firstRest, c.earlier(now), unknownRest)
		}
		c.rest(now, d, string(e.Kind))
	case llm.UpstreamAuth:
		c.alert = true
		c.rest(now, grown(refusedRest, c.earlier(now), refusedLimit), string(e.Kind))
	}
}

// earlier is how many rests came before the present one, or the one about to begin.
func (c *credential) earlier(now time.Time) int {
	if now.Before(c.until) {
		return max(c.strikes-1, 0)
	}
	return c.strikes
}

// rest counts one strike per rest, however many attempts were under way when it began.
func (c *credential) rest(now time.Time, d time.Duration, why string) {
	if !now.Before(c.until) {
		c.strikes++
	}
	if until := now.Add(d); until.After(c.until) {
		c.until, c.reason = until, why
	}
}

func grown(first time.Duration, times int, limit time.Duration) time.Duration {
	for range times {
		if first >= limit {
			break
		}
		first *= 2
	}
	return min(first, limit)
}

// CredentialHealth is what pages show about a credential.
type CredentialHealth struct {
	ID     string    `json:"id"`
	Until  time.Time `json:"resting_until,omitzero"`
	Reason string    `json:"reason,omitempty"`
	Alert  bool      `json:"alert"` // it was refused and needs a person
}

// Credentials lists the credentials that rest or were refused, by name.
func (t *Tracker) Credentials() []CredentialHealth {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	var all []CredentialHealth
	for _, id := range slices.Sorted(maps.Keys(t.credentials)) {
		c := t.credentials[id]
		if !now.Before(c.until) && !c.alert {
			continue
		}
		h := CredentialHealth{ID: id, Reason: c.reason, Alert: c.alert}
		if now.Before(c.until) {
			h.Until = c.until
		}
		all = append(all, h)
	}
	return all
}

package health

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"fairlead.dev/internal/llm"
)

const (
	maxBackoff            = 5 * time.Minute  // maximum backoff after a rate limit, even if the provider asks for more
	firstRateLimitBackoff = time.Second      // backoff after the first 429 response without Retry-After
	maxRateLimitBackoff   = time.Minute      // maximum backoff after repeated 429 responses without Retry-After
	firstAuthBackoff      = time.Minute      // backoff after the credential was rejected
	maxAuthBackoff        = time.Hour        // maximum backoff after repeated rejections
	firstDeniedBackoff    = 30 * time.Second // backoff after a model was denied or unknown
	maxDeniedBackoff      = time.Hour        // maximum backoff after repeated denials
)

// backoff is the time during which a credential, or one target with a credential, is not used.
type backoff struct {
	until   time.Time
	strikes int  // number of consecutive backoffs without a success
	alert   bool // whether the credential was rejected and needs attention
	reason  llm.Kind
	used    time.Time
}

// over reports whether the backoff has ended. A nil backoff has ended.
func (b *backoff) over(now time.Time) bool { return b == nil || !now.Before(b.until) }

// rotation is the state of the round-robin use of a provider's credentials.
type rotation struct {
	ids  []string
	next int
}

// keyless is the credential list of a provider without credentials.
var keyless = []string{""}

// credentials returns the provider's credentials. It returns keyless if the provider was not used yet or has none.
func (r *rotation) credentials() []string {
	if r == nil || len(r.ids) == 0 {
		return keyless
	}
	return r.ids
}

// HasOtherCredential reports whether a target can be called immediately with a credential other than the failed one.
func (t *Tracker) HasOtherCredential(targetID string, credentials []string, failed string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	tg := t.target(targetID, now)
	return slices.ContainsFunc(credentials, func(id string) bool {
		return id != failed && t.ready(tg, id, now) && tg.sendable(&t.o, id, now)
	})
}

// Wait returns how long a target backs off with all of the given credentials, or 0 if one of the credentials can be used.
func (t *Tracker) Wait(targetID string, credentials []string) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	left, _, _ := t.backingOff(t.target(targetID, now), credentials, now)
	return left
}

// ready reports whether neither the credential nor the target with this credential is backing off.
func (t *Tracker) ready(tg *target, id string, now time.Time) bool {
	return t.credentials[id].over(now) && (tg == nil || tg.backoffs[id].over(now))
}

// backingOff returns how long a target backs off with all of the given credentials, and whether all of them were rejected or denied the
// model.
func (t *Tracker) backingOff(tg *target, ids []string, now time.Time) (left time.Duration, rejected, denied bool) {
	if len(ids) == 0 {
		ids = keyless
	}
	shortest, rejected, denied := time.Duration(-1), true, true
	for _, id := range ids {
		if t.ready(tg, id, now) {
			return 0, false, false
		}
		b := t.credentials[id] // backoff of the credential; the backoff of this target with the credential applies instead if it ends later
		if tg != nil && tg.backoffs[id] != nil && (b == nil || b.until.Before(tg.backoffs[id].until)) {
			b = tg.backoffs[id]
		}
		rejected, denied = rejected && b.reason != llm.UpstreamRateLimited, denied && b.denied()
		if left := b.until.Sub(now); shortest < 0 || left < shortest {
			shortest = left
		}
	}
	return shortest, rejected, denied
}

func (t *Tracker) credential(id string, now time.Time) *backoff {
	c := t.credentials[id]
	if c == nil {
		if len(t.credentials) >= maxIdle {
			maps.DeleteFunc(t.credentials, func(_ string, old *backoff) bool { return now.Sub(old.used) > 24*time.Hour })
		}
		c = &backoff{}
		t.credentials[id] = c
	}
	c.used = now
	return c
}

// reportBackoff starts a backoff after a rate limit or a rejection, and clears it after a success. A rejected credential or an
// exhausted quota affects all targets of the credential. A rate limit, or a model that is denied or unknown, affects one target,
// because providers apply limits and permissions per model.
//
// Hints to other replicas are sent only for rate limits, because another replica may have a newer secret for the same credential.
func (t *Tracker) reportBackoff(now time.Time, tg *target, r Report) {
	if r.Err == nil {
		if c := t.credentials[r.Credential]; c != nil {
			c.used = now
			c.clear(now)
		}
		if b := tg.backoffs[r.Credential]; b != nil {
			b.clear(now)
		}
		return
	}
	if r.Credential == "" && r.Err.Kind != llm.UpstreamRateLimited {
		return // the provider needs no credential
	}
	switch r.Err.Kind { //nolint:exhaustive // other kinds do not concern the credential
	case llm.UpstreamRateLimited:
		b := tg.backoff(r.Credential)
		before, d := b.until, min(r.Err.RetryAfter, maxBackoff)
		if d <= 0 {
			d = doubled(firstRateLimitBackoff, b.earlier(now), maxRateLimitBackoff)
		}
		b.extend(now, d, r.Err.Kind)
		if b.until.Sub(before) >= minHintBackoff {
			t.o.OnHint(Hint{Target: r.Target, Credential: r.Credential, Backoff: b.until.Sub(now)})
		}
	case llm.UpstreamDenied, llm.UpstreamNotFound:
		if r.Err.UpstreamStatus == http.StatusBadRequest {
			return // the error of a 400 response may quote the request, and text from one caller must not exclude a target for others
		}
		b := tg.backoff(r.Credential)
		b.extend(now, doubled(firstDeniedBackoff, b.earlier(now), maxDeniedBackoff), r.Err.Kind)
	case llm.UpstreamAuth:
		b := t.credential(r.Credential, now)
		b.alert = true
		b.extend(now, doubled(firstAuthBackoff, b.earlier(now), maxAuthBackoff), r.Err.Kind)
	}
}

// clear resets the backoff after a success. It ignores a success during the backoff, because the call started before the backoff.
func (b *backoff) clear(now time.Time) {
	if b.over(now) {
		*b = backoff{used: b.used}
	}
}

// earlier returns the number of backoffs before the current one, or before the next one if none is active.
func (b *backoff) earlier(now time.Time) int {
	if b.over(now) {
		return b.strikes
	}
	return max(b.strikes-1, 0)
}

// extend begins or extends a backoff. A backoff counts as one strike regardless of how many attempts were in flight when it
// began.
func (b *backoff) extend(now time.Time, d time.Duration, why llm.Kind) {
	if b.over(now) {
		b.strikes++
	}
	if until := now.Add(d); until.After(b.until) {
		b.until, b.reason = until, why
	}
}

func doubled(first time.Duration, times int, limit time.Duration) time.Duration {
	for range times {
		if first >= limit {
			break
		}
		first *= 2
	}
	return min(first, limit)
}

// denied reports whether the provider denies the model or does not have it.
func (b *backoff) denied() bool {
	return b.reason == llm.UpstreamDenied || b.reason == llm.UpstreamNotFound
}

// describeBackoff updates h for a target with its own backoff for every credential. It ignores backoffs that apply to all targets of a
// credential. The circuit is shown as open until the first of the target's backoffs ends, unless the provider denies the model.
func (t *Tracker) describeBackoff(h *TargetHealth, tg *target, p *rotation, now time.Time) {
	var first *backoff
	for _, id := range p.credentials() {
		b := tg.backoffs[id]
		if b.over(now) {
			return
		}
		if first == nil || b.until.Before(first.until) {
			first = b
		}
	}
	if h.Denied = first.denied(); h.Denied {
		h.Reason = string(first.reason)
		return
	}
	h.Circuit, h.Reason, h.NextProbe, h.Share = "open", string(first.reason), first.until, 0
	h.Cause, h.Since = Cause{}, time.Time{}
}

// ActiveBackoff is a time during which a credential, or one target with a credential, is not used.
type ActiveBackoff struct {
	Target     string // target ID; empty for all targets of the credential
	Credential string // credential ID; empty if the provider needs none
	Reason     llm.Kind
	Until      time.Time
	Strikes    int // number of consecutive backoffs without a success
}

// Backoffs returns the backoffs that have not ended, sorted by their end.
func (t *Tracker) Backoffs() []ActiveBackoff {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	var all []ActiveBackoff
	add := func(target, credential string, b *backoff) {
		if !b.over(now) {
			all = append(all, ActiveBackoff{Target: target, Credential: credential, Reason: b.reason, Until: b.until, Strikes: b.strikes})
		}
	}
	for id, b := range t.credentials {
		add("", id, b)
	}
	for id, tg := range t.targets {
		for credential, b := range tg.backoffs {
			add(id, credential, b)
		}
	}
	slices.SortFunc(all, func(a, b ActiveBackoff) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Target, b.Target), cmp.Compare(a.Credential, b.Credential))
	})
	return all
}

// CredentialHealth is the state of a credential shown in the dashboard.
type CredentialHealth struct {
	ID     string    `json:"id"`
	Until  time.Time `json:"backing_off_until,omitzero"`
	Reason string    `json:"reason,omitempty"`
	Alert  bool      `json:"alert"` // whether the credential was rejected and needs attention
}

// Credentials returns the credentials that are backing off or were rejected, ordered by name. A credential also
// counts as backing off if every target that was called with the credential is backing off with it.
func (t *Tracker) Credentials() []CredentialHealth {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	// found holds the backoff that ends first for each credential that cannot be used at any target.
	found, usable := map[string]*backoff{}, map[string]bool{"": true}
	for _, tg := range t.targets {
		for _, c := range tg.circuits {
			b := tg.backoffs[c.credential]
			if b.over(now) {
				usable[c.credential] = true
			} else if old := found[c.credential]; old == nil || b.until.Before(old.until) {
				found[c.credential] = b
			}
		}
	}
	maps.DeleteFunc(found, func(id string, _ *backoff) bool { return usable[id] })
	for id, c := range t.credentials {
		if !c.over(now) || c.alert {
			found[id] = c
		}
	}
	var all []CredentialHealth
	for _, id := range slices.Sorted(maps.Keys(found)) {
		c := found[id]
		h := CredentialHealth{ID: id, Reason: string(c.reason), Alert: c.alert}
		if !c.over(now) {
			h.Until = c.until
		}
		all = append(all, h)
	}
	return all
}

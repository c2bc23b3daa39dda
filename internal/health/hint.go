package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead.dev/internal/llm"
)

// Hint is a message to other replicas about a target or credential. After a hint about an opened circuit, receivers open their circuit at
// the next failure. After a hint about a rate limit, receivers back off too. Both effects expire.
type Hint struct {
	Target     string        `json:"target,omitempty"` // target that backs off or whose circuit opened; empty for all targets of the credential
	Credential string        `json:"credential,omitempty"`
	Backoff    time.Duration `json:"rest_ns,omitempty"` // remaining backoff; 0 for an opened circuit
}

// minHintBackoff is the shortest backoff that is sent to other replicas.
const minHintBackoff = 500 * time.Millisecond

// Message encodes the hint as text.
func (h Hint) Message() (string, error) {
	text, err := json.Marshal(struct {
		Hint Hint `json:"hint"`
	}{h})
	if err != nil {
		return "", fmt.Errorf("encode hint: %w", err)
	}
	return string(text), nil
}

// ParseHint decodes the output of Message.
func ParseHint(message string) (Hint, error) {
	var m struct {
		Hint Hint `json:"hint"`
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		return Hint{}, fmt.Errorf("parse hint: %w", err)
	}
	if m.Hint.Target == "" && m.Hint.Backoff <= 0 {
		return Hint{}, errors.New("parse hint: both target and backoff are missing")
	}
	return m.Hint, nil
}

// ApplyHint applies a hint from another replica. Hints about targets and credentials that this replica has not used are ignored,
// which bounds memory. Hints are not forwarded.
func (t *Tracker) ApplyHint(h Hint) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	tg, wait := t.targets[h.Target], min(h.Backoff, maxBackoff)
	switch {
	case wait > 0 && tg != nil && (h.Credential == "" || t.hasCredential(h.Credential)):
		tg.backoff(h.Credential).extend(now, wait, llm.UpstreamRateLimited)
	case wait > 0 && h.Target == "" && t.hasCredential(h.Credential):
		t.credential(h.Credential, now).extend(now, wait, llm.UpstreamRateLimited)
	case wait <= 0 && tg != nil:
		if c := tg.find(h.Credential); c != nil && !c.open {
			c.hinted = now.Add(hintSpan)
		}
	}
}

// hasCredential reports whether a provider that this replica has used has the credential.
func (t *Tracker) hasCredential(credentialID string) bool {
	for _, p := range t.providers {
		if slices.Contains(p.ids, credentialID) {
			return true
		}
	}
	return false
}

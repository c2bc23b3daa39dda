package health

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"fairlead/internal/llm"
)

// Hint is a message to other replicas about a provider. After an opened circuit the receivers open theirs with the next failure;
// after a rate limit they back off too. Both expire.
type Hint struct {
	Target     string        `json:"target,omitempty"` // target that backs off or whose circuit opened; empty for all targets of a credential
	Credential string        `json:"credential,omitempty"`
	Backoff    time.Duration `json:"rest_ns,omitempty"` // how long to back off from now on; 0 for an open circuit
}

// minHintBackoff is the shortest backoff that is sent.
const minHintBackoff = 500 * time.Millisecond

// Message encodes the hint.
func (h Hint) Message() (string, error) {
	text, err := json.Marshal(struct {
		Hint Hint `json:"hint"`
	}{h})
	if err != nil {
		return "", fmt.Errorf("encode hint: %w", err)
	}
	return string(text), nil
}

// ParseHint parses the result of Message.
func ParseHint(message string) (Hint, error) {
	var m struct {
		Hint Hint `json:"hint"`
	}
	if err := json.Unmarshal([]byte(message), &m); err != nil {
		return Hint{}, fmt.Errorf("parse hint: %w", err)
	}
	if m.Hint.Target == "" && m.Hint.Backoff <= 0 {
		return Hint{}, errors.New("parse hint: neither target nor backoff")
	}
	return m.Hint, nil
}

// ApplyHint applies a hint of another replica. Hints about targets and credentials that were not used here are ignored, which bounds
// memory, and hints are not forwarded.
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

// hasCredential reports whether a provider that was used here has the credential.
func (t *Tracker) hasCredential(credentialID string) bool {
	for _, p := range t.providers {
		if slices.Contains(p.ids, credentialID) {
			return true
		}
	}
	return false
}

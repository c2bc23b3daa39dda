package account

import (
	"encoding/json"
	"fmt"
	"time"
)

// Ending reports that secrets of a key have become invalid. Replicas send it to each other, so that a revoked key is rejected
// everywhere even when the database is unavailable.
type Ending struct {
	KeyID  string    `json:"key"`
	Before time.Time `json:"before,omitzero"` // secrets created before this time are invalid; zero if the whole key was revoked
}

// Message encodes the ending as JSON for other replicas.
func (e Ending) Message() (string, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return "", fmt.Errorf("encode key revocation: %w", err)
	}
	return string(text), nil
}

// ParseEnding decodes the output of Message.
func ParseEnding(message string) (Ending, error) {
	var e Ending
	if err := json.Unmarshal([]byte(message), &e); err != nil {
		return Ending{}, fmt.Errorf("decode key revocation: %w", err)
	}
	if e.KeyID == "" {
		return Ending{}, fmt.Errorf("decode key revocation: missing key ID")
	}
	return e, nil
}

// Ending returns the message that informs other replicas which secrets of a key are invalid. It returns false unless the key was
// revoked, or rotated without a grace period.
func (k *Key) Ending() (Ending, bool) {
	if !k.RevokedAt.IsZero() {
		return Ending{KeyID: k.ID}, true
	}
	newest := len(k.Secrets) - 1
	if newest < 1 {
		return Ending{}, false
	}
	begun := k.Secrets[newest].CreatedAt
	for _, older := range k.Secrets[:newest] {
		if older.ExpiresAt.IsZero() || older.ExpiresAt.After(begun) {
			return Ending{}, false
		}
	}
	return Ending{KeyID: k.ID, Before: begun}, true
}

package responses

import (
	"crypto/hmac"
	"encoding/base64"
	"fmt"
	"strings"

	"fairlead.dev/internal/account/secret"
	"fairlead.dev/internal/llm"
)

// storedPrefix is the prefix of IDs that clients use for responses stored by a provider.
const storedPrefix = "resp_fl_"

// macSize is the number of bytes of the keyed hash in an ID.
const macSize = 16

// StoredIDs converts between the provider's IDs of stored responses and the IDs that clients see. A client's ID contains the provider and
// the credential, so every replica can find the account that holds the response without a lookup table. It also contains the session, so a
// request that continues the response belongs to the same session. A keyed hash binds the ID to a workspace.
type StoredIDs struct{ hash secret.KeyedHash }

// NewStoredIDs returns a StoredIDs whose hash key is derived from the master key.
func NewStoredIDs(masterKey []byte) (StoredIDs, error) {
	hash, err := secret.NewKeyedHash(masterKey, "responses")
	if err != nil {
		return StoredIDs{}, fmt.Errorf("derive the response ID key: %w", err)
	}
	return StoredIDs{hash}, nil
}

// Seal returns the ID that clients see. The same response always has the same ID.
func (s StoredIDs) Seal(r llm.StoredResponse) string {
	named := r.Workspace + "\x00" + r.Provider + "\x00" + r.Credential + "\x00" + r.ID
	if r.Session != "" {
		named += "\x00" + r.Session
	}
	mac := s.hash.Sum(named)
	var buffer [256]byte
	raw := append(append(buffer[:0], mac[:macSize]...), named[len(r.Workspace)+1:]...)
	return string(base64.RawURLEncoding.AppendEncode([]byte(storedPrefix), raw))
}

// Open decodes an ID that Seal returned. It returns false for an ID that was not created for the given workspace.
func (s StoredIDs) Open(workspace, id string) (llm.StoredResponse, bool) {
	encoded, ok := strings.CutPrefix(id, storedPrefix)
	if !ok {
		return llm.StoredResponse{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil || len(raw) < macSize {
		return llm.StoredResponse{}, false
	}
	account := string(raw[macSize:])
	mac := s.hash.Sum(workspace + "\x00" + account)
	parts := strings.Split(account, "\x00")
	if !hmac.Equal(raw[:macSize], mac[:macSize]) || len(parts) < 3 || len(parts) > 4 {
		return llm.StoredResponse{}, false
	}
	r := llm.StoredResponse{Workspace: workspace, Provider: parts[0], Credential: parts[1], ID: parts[2]}
	if len(parts) == 4 {
		r.Session = parts[3]
	}
	return r, true
}

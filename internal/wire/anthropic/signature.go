package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// wrappedSignature is a signature from a provider that uses another format. It is encoded as a signature of this format, together with the
// name of the provider, so that the gateway sends it only to that provider.
type wrappedSignature struct {
	Provider string `json:"p,omitempty"`
	Value    string `json:"v,omitempty"`
	Call     bool   `json:"c,omitempty"` // whether the signature belongs to the next tool call instead of a thinking block
	Text     bool   `json:"t,omitempty"` // whether the signature belongs to the text before it
}

// signaturePrefix is the prefix of signatures that the gateway wrapped.
const signaturePrefix = "fairlead."

func (s wrappedSignature) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		return signaturePrefix // strings always marshal
	}
	return signaturePrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// unwrapSignature decodes a wrapped signature. It returns false for a signature that was created in this format.
func unwrapSignature(signature string) (wrappedSignature, bool) {
	rest, ours := strings.CutPrefix(signature, signaturePrefix)
	if !ours {
		return wrappedSignature{}, false
	}
	var s wrappedSignature
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return wrappedSignature{}, true
	}
	return s, true
}

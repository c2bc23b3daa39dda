package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// WrappedSignature is a signature from a provider that uses another format. It is encoded as a signature of this format, together with the
// name of the provider, so that the gateway sends it only to that provider.
type WrappedSignature struct {
	Provider string `json:"p,omitempty"`
	Value    string `json:"v,omitempty"`
	Call     bool   `json:"c,omitempty"` // whether the signature belongs to the next tool call instead of a thinking block
	Text     bool   `json:"t,omitempty"` // whether the signature belongs to the text before it
}

// SignaturePrefix is the prefix of signatures that the gateway wrapped.
const SignaturePrefix = "fairlead."

func (s WrappedSignature) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		return SignaturePrefix // strings always marshal
	}
	return SignaturePrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// UnwrapSignature decodes a wrapped signature. It returns false for a signature that was created in this format.
func UnwrapSignature(signature string) (WrappedSignature, bool) {
	rest, ours := strings.CutPrefix(signature, SignaturePrefix)
	if !ours {
		return WrappedSignature{}, false
	}
	var s WrappedSignature
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return WrappedSignature{}, true
	}
	return s, true
}

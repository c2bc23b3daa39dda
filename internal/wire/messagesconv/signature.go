package messagesconv

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// WrappedSignature is the signature of a provider of another format, in place of one of this format. It names the provider,
// so that it is returned to no other.
type WrappedSignature struct {
	Provider string `json:"p,omitempty"`
	Value    string `json:"v,omitempty"`
	Call     bool   `json:"c,omitempty"` // signs the tool call that follows, not a block of thinking
}

// SignaturePrefix starts signatures that the gateway made for thinking of another provider.
const SignaturePrefix = "fairlead."

func (s WrappedSignature) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		return SignaturePrefix // strings always marshal
	}
	return SignaturePrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// UnwrapSignature reads a signature that one of our answers carried; it reports false for one of the format's own.
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

package messages

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// addSignature is what another provider signed, in the place where this format has its own signatures. It tells who signed, so
// that it goes back to nobody else.
type wrappedSignature struct {
	Provider string `json:"p,omitempty"`
	Value    string `json:"v,omitempty"`
	Call     bool   `json:"c,omitempty"` // signs the tool call that follows, not a block of thinking
}

const signaturePrefix = "fairlead."

func (s wrappedSignature) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		return signaturePrefix // strings always marshal
	}
	return signaturePrefix + base64.RawURLEncoding.EncodeToString(raw)
}

// unwrapSignature reads a signature that one of our answers carried; it reports false for one of the format's own.
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

package responses

import (
	"encoding/base64"
	"strings"
)

// wrappedSignature is a signature from a provider that uses another format. It is sent to the client as encrypted reasoning, together with
// the name of the provider, so that the gateway sends it only to that provider.
type wrappedSignature struct {
	Text      string `json:"t,omitempty"`
	Signature string `json:"s,omitempty"`
	Redacted  string `json:"d,omitempty"`
	Provider  string `json:"p,omitempty"`
	Call      string `json:"c,omitempty"` // ID of the signed tool call; empty for thinking
}

const signaturePrefix = "fairlead."

func (s wrappedSignature) String() string {
	return signaturePrefix + base64.RawURLEncoding.EncodeToString(encode(s))
}

// unwrapSignature decodes a signature that the gateway wrapped. It returns false for other encrypted reasoning.
func unwrapSignature(encrypted string) (s wrappedSignature, ours bool) {
	rest, ours := strings.CutPrefix(encrypted, signaturePrefix)
	if !ours {
		return wrappedSignature{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || unmarshal(raw, &s) != nil {
		return wrappedSignature{}, false // the signature is damaged; the caller can still use the summary
	}
	return s, true
}

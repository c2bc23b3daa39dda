package responses

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// wrappedSignature is a signature of a provider that uses another format, sent as encrypted reasoning. It names the provider, so that it is
// sent only to that provider.
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
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return wrappedSignature{}, false // damaged: the summary is still used
	}
	return s, true
}

// encode encodes v as JSON on one line without HTML escapes. v must be encodable.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

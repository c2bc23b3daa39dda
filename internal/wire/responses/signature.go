package responses

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// wrappedSignature is the signature of a provider of another format, in place of encrypted reasoning. It names the provider,
// so that it is returned to no other.
type wrappedSignature struct {
	Text      string `json:"t,omitempty"`
	Signature string `json:"s,omitempty"`
	Redacted  string `json:"d,omitempty"`
	Provider  string `json:"p,omitempty"`
	Call      string `json:"c,omitempty"` // the id of the tool call that it is for, instead of thinking
}

const signaturePrefix = "fairlead."

func (s wrappedSignature) String() string {
	return signaturePrefix + base64.RawURLEncoding.EncodeToString(encode(s))
}

// unwrapSignature reads the seal of one of our answers; it reports false for what others have encrypted.
func unwrapSignature(encrypted string) (s wrappedSignature, ours bool) {
	rest, ours := strings.CutPrefix(encrypted, signaturePrefix)
	if !ours {
		return wrappedSignature{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return wrappedSignature{}, false // damaged on its way: the summary is still good
	}
	return s, true
}

// encode writes JSON on one line with text as it is. What goes in are our own values, which always can be written.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

package responses

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// seal is what a provider of another format wants back, in the place where this format has encrypted reasoning. It tells who
// made it, so that it goes back to nobody else.
type seal struct {
	Text      string `json:"t,omitempty"`
	Signature string `json:"s,omitempty"`
	Sealed    string `json:"d,omitempty"`
	Provider  string `json:"p,omitempty"`
	Call      string `json:"c,omitempty"` // the id of the tool call that it is for, instead of thinking
}

const sealMark = "fairlead."

func (s seal) String() string { return sealMark + base64.RawURLEncoding.EncodeToString(encode(s)) }

// openSeal reads the seal of one of our answers; it reports false for what others have encrypted.
func openSeal(encrypted string) (s seal, ours bool) {
	rest, ours := strings.CutPrefix(encrypted, sealMark)
	if !ours {
		return seal{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return seal{}, false // damaged on its way: the summary is still good
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

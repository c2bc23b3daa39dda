package messages

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// seal is what another provider signed, in the place where this format has its own signatures. It tells who signed, so
// that it goes back to nobody else.
type seal struct {
	Provider string `json:"p,omitempty"`
	Value    string `json:"v,omitempty"`
	Call     bool   `json:"c,omitempty"` // signs the tool call that follows, not a block of thinking
}

const sealMark = "fairlead."

func (s seal) String() string {
	raw, err := json.Marshal(s)
	if err != nil {
		return sealMark // strings always marshal
	}
	return sealMark + base64.RawURLEncoding.EncodeToString(raw)
}

// openSeal reads a signature that one of our answers carried; it reports false for one of the format's own.
func openSeal(signature string) (seal, bool) {
	rest, ours := strings.CutPrefix(signature, sealMark)
	if !ours {
		return seal{}, false
	}
	var s seal
	raw, err := base64.RawURLEncoding.DecodeString(rest)
	if err != nil || json.Unmarshal(raw, &s) != nil {
		return seal{}, true
	}
	return s, true
}

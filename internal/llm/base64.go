package llm

import (
	"encoding/base64"
	"strings"
)

// urlAlphabet converts the URL alphabet of base64 to the standard one and removes spaces.
var urlAlphabet = strings.NewReplacer("-", "+", "_", "/", " ", "", "\n", "", "\r", "", "\t", "")

// StandardBase64 returns the same bytes in the standard alphabet with padding. Input in standard form is returned unchanged. It returns
// false for input that is not base64.
func StandardBase64(s string) (string, bool) {
	if isStandardBase64(s) {
		return s, true
	}
	bytes, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(urlAlphabet.Replace(s), "="))
	if err != nil {
		return "", false
	}
	return base64.StdEncoding.EncodeToString(bytes), true
}

func isStandardBase64(s string) bool {
	if len(s)%4 != 0 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/':
		case c == '=' && i >= len(s)-2 && s[len(s)-1] == '=':
		default:
			return false
		}
	}
	return true
}

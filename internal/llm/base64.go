package llm

import (
	"encoding/base64"
	"strings"
)

// urlAlphabet replaces the URL-safe base64 characters with the standard ones and removes white space.
var urlAlphabet = strings.NewReplacer("-", "+", "_", "/", " ", "", "\n", "", "\r", "", "\t", "")

// StandardBase64 converts base64 of any alphabet to the standard alphabet with padding. Input that is already in this form is returned
// unchanged. It returns false for input that is not base64.
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

package llm

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// IsDataURL reports whether s is a data URL.
func IsDataURL(s string) bool { return len(s) >= 5 && strings.EqualFold(s[:5], "data:") }

// SplitDataURL parses a data URL such as data:image/png;base64,AAAA. Data that is not in base64 is converted to base64.
func SplitDataURL(s string) (Media, bool) {
	head, data, found := strings.Cut(s[len("data:"):], ",")
	if !found {
		return Media{}, false
	}
	kind, parameters, _ := strings.Cut(head, ";")
	media := Media{Type: strings.ToLower(strings.TrimSpace(kind))}
	if strings.HasSuffix(";"+strings.ToLower(parameters), ";base64") {
		var ok bool
		media.Data, ok = StandardBase64(data)
		return media, ok
	}
	plain, err := url.PathUnescape(data)
	if err != nil {
		return Media{}, false
	}
	media.Data = base64.StdEncoding.EncodeToString([]byte(plain))
	return media, true
}

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

package chatconv

import (
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"fairlead.dev/internal/llm"
)

func isDataURL(s string) bool { return len(s) >= 5 && strings.EqualFold(s[:5], "data:") }

// splitDataURL parses a data URL such as data:image/png;base64,AAAA. Other data is converted to base64.
func splitDataURL(s string) (llm.Media, bool) {
	head, data, found := strings.Cut(s[len("data:"):], ",")
	if !found {
		return llm.Media{}, false
	}
	kind, parameters, _ := strings.Cut(head, ";")
	media := llm.Media{Type: strings.ToLower(strings.TrimSpace(kind))}
	if strings.HasSuffix(";"+strings.ToLower(parameters), ";base64") {
		var ok bool
		media.Data, ok = standardBase64(data)
		return media, ok
	}
	plain, err := url.PathUnescape(data)
	if err != nil {
		return llm.Media{}, false
	}
	media.Data = base64.StdEncoding.EncodeToString([]byte(plain))
	return media, true
}

// standardBase64 returns the same bytes in the standard alphabet with padding. Input in standard form is returned
// unchanged.
func standardBase64(s string) (string, bool) {
	odd := len(s)%4 != 0
	for i := 0; i < len(s) && !odd; i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/':
		case c == '=' && i >= len(s)-2 && s[len(s)-1] == '=':
		default:
			odd = true
		}
	}
	if !odd {
		return s, true
	}
	clean := strings.NewReplacer("-", "+", "_", "/", " ", "", "\n", "", "\r", "", "\t", "").Replace(s)
	bytes, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(clean, "="))
	if err != nil {
		return "", false
	}
	return base64.StdEncoding.EncodeToString(bytes), true
}

// typeByName returns the MIME type for a file name, for clients that send no type.
func typeByName(name string) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".pdf":
		return "application/pdf"
	case ".txt", ".md":
		return "text/plain"
	case ".csv":
		return "text/csv"
	case ".html", ".htm":
		return "text/html"
	case ".json":
		return "application/json"
	}
	return ""
}

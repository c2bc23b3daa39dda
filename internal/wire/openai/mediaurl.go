package openai

import (
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"fairlead.dev/internal/llm"
)

func isDataURL(s string) bool { return len(s) >= 5 && strings.EqualFold(s[:5], "data:") }

// splitDataURL parses a data URL such as data:image/png;base64,AAAA. Data that is not in base64 is converted to base64.
func splitDataURL(s string) (llm.Media, bool) {
	head, data, found := strings.Cut(s[len("data:"):], ",")
	if !found {
		return llm.Media{}, false
	}
	kind, parameters, _ := strings.Cut(head, ";")
	media := llm.Media{Type: strings.ToLower(strings.TrimSpace(kind))}
	if strings.HasSuffix(";"+strings.ToLower(parameters), ";base64") {
		var ok bool
		media.Data, ok = llm.StandardBase64(data)
		return media, ok
	}
	plain, err := url.PathUnescape(data)
	if err != nil {
		return llm.Media{}, false
	}
	media.Data = base64.StdEncoding.EncodeToString([]byte(plain))
	return media, true
}

// typeByName derives the MIME type from the file name, for clients that send no type.
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

package openai

import (
	"path"
	"strings"
)

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

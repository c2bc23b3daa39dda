package gemini

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// encodeMedia encodes an image, audio or a file. It returns an error if the media type is unknown, because the API requires the type.
func (r *renderer) encodeMedia(p llm.Part) (part, error) {
	m := *p.Media
	kind := mediaType(p)
	if kind == "" {
		return part{}, untranslatable("messages", "Gemini requires the media type of every file, and %s does not have one. Send it as a data URL with its type.",
			"the "+string(p.Kind)+" "+show.Quote(cmp.Or(m.Name, m.URL, m.FileID, "sent as bytes")))
	}
	// The format has one detail setting for all images of a request.
	wanted := map[string]string{"low": "MEDIA_RESOLUTION_LOW", "high": "MEDIA_RESOLUTION_HIGH"}[m.Detail]
	if wanted != "" && !r.o.Traits.NoSystem {
		if set := r.out.Settings.Resolution; set != "" && set != wanted {
			r.warnings.Add("detail was sent as high for all images: Gemini has one setting for all images.")
			wanted = "MEDIA_RESOLUTION_HIGH"
		}
		r.out.Settings.Resolution = wanted
	}
	switch {
	case m.Data != "":
		return part{Inline: &inlineData{Type: kind, Data: m.Data}}, nil
	case strings.HasPrefix(m.FileID, "files/"), strings.HasPrefix(m.FileID, "https://"), strings.HasPrefix(m.FileID, "gs://"):
		return part{File: &fileData{Type: kind, URI: m.FileID}}, nil
	case m.FileID != "":
		return part{}, untranslatable("messages", "The file %s is stored at another provider, so Gemini cannot read it. Send its bytes.", show.Quote(m.FileID))
	case strings.HasPrefix(m.URL, "gs://"), r.o.Traits.FileURLs && m.URL != "":
		return part{File: &fileData{Type: kind, URI: m.URL}}, nil
	}
	return part{}, untranslatable("messages", "This model does not accept %s by URL. Send the bytes as a data URL.", p.Kind)
}

// mediaType returns the declared type, or the type detected from the name or the first bytes. It ignores a wildcard
// such as image/*, because the API rejects such a type with a misleading message.
func mediaType(p llm.Part) string {
	m := p.Media
	if t, _, _ := strings.Cut(m.Type, ";"); strings.Contains(t, "/") && !strings.HasSuffix(t, "/*") && t != "application/octet-stream" {
		return strings.ToLower(strings.TrimSpace(t))
	}
	names := []string{m.Name, "", m.FileID}
	if u, err := url.Parse(m.URL); err == nil {
		names[1] = u.Path
	}
	for _, name := range names {
		if t := extensions[strings.ToLower(path.Ext(name))]; t != "" {
			return t
		}
	}
	head, _ := base64.StdEncoding.DecodeString(m.Data[:min(len(m.Data), 16)]) // ignore the error, because the bytes decoded before it are sufficient
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG")):
		return "image/png"
	case bytes.HasPrefix(head, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(head, []byte("GIF8")):
		return "image/gif"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WEBP":
		return "image/webp"
	case len(head) >= 12 && string(head[:4]) == "RIFF" && string(head[8:12]) == "WAVE":
		return "audio/wav"
	case bytes.HasPrefix(head, []byte("ID3")):
		return "audio/mp3"
	case bytes.HasPrefix(head, []byte("%PDF")):
		return "application/pdf"
	}
	return ""
}

var extensions = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".heic": "image/heic", ".heif": "image/heif", ".bmp": "image/bmp",
	".wav": "audio/wav", ".mp3": "audio/mp3", ".aac": "audio/aac", ".ogg": "audio/ogg", ".flac": "audio/flac", ".aiff": "audio/aiff",
	".mp4": "video/mp4", ".mov": "video/mov", ".webm": "video/webm", ".mpeg": "video/mpeg",
	".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/markdown", ".html": "text/html", ".csv": "text/csv",
	".json": "application/json", ".xml": "text/xml",
}

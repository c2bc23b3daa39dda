package bedrock

import (
	"cmp"
	"path"
	"strconv"
	"strings"
	"unicode"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// image encodes an image. The API does not fetch images from the web.
func (r *renderer) image(m *llm.Media) *media {
	src, ok := r.source(m, "images")
	if !ok {
		return nil
	}
	format := imageFormat(m)
	if format == "" {
		r.fail("%s accepts only PNG, JPEG, GIF and WebP images, not %s.", r.d.Title, show.Quote(m.Type))
	}
	return &media{Format: format, Source: src}
}

// source returns the inline data of a media part, or its location in Amazon S3.
func (r *renderer) source(m *llm.Media, what string) (source, bool) {
	switch {
	case m == nil:
		r.fail("A part of the conversation does not contain the %s that it declares.", what)
	case m.Data != "":
		return source{Bytes: m.Data}, true
	case strings.HasPrefix(m.URL, "s3://"):
		return source{S3: &s3Location{URI: m.URL}}, true
	case m.URL != "":
		r.fail("%s accepts %s as bytes, not by URL. Send a data URL with the content in base64.", r.d.Title, what)
	case m.FileID != "":
		r.fail("%s does not store %s by id. Send the content.", r.d.Title, what)
	default:
		r.fail("A part of the conversation has %s without content.", what)
	}
	return source{}, false
}

var imageFormats = map[string]string{
	"image/png": "png", "image/jpeg": "jpeg", "image/jpg": "jpeg", "image/gif": "gif", "image/webp": "webp",
}

// imageFormat determines the image format from the media type, the file extension of the URL, or the first bytes.
func imageFormat(m *llm.Media) string {
	if format := imageFormats[strings.ToLower(m.Type)]; format != "" {
		return format
	}
	if format := imageFormats["image/"+strings.TrimPrefix(strings.ToLower(path.Ext(m.URL)), ".")]; format != "" {
		return format
	}
	if m.Type != "" && m.Type != "application/octet-stream" && m.Type != "image/*" {
		return ""
	}
	switch { // compare with the first bytes of each format, encoded in base64
	case strings.HasPrefix(m.Data, "iVBOR"):
		return "png"
	case strings.HasPrefix(m.Data, "/9j/"):
		return "jpeg"
	case strings.HasPrefix(m.Data, "R0lG"):
		return "gif"
	case strings.HasPrefix(m.Data, "UklG"):
		return "webp"
	}
	return ""
}

// file encodes a document. An image file becomes an image.
func (r *renderer) file(m *llm.Media) []block {
	if m != nil && imageFormats[strings.ToLower(m.Type)] != "" {
		return []block{{Image: r.image(m)}}
	}
	src, ok := r.source(m, "files")
	if !ok {
		return nil
	}
	// The media type or the file name determines the format, whichever is more specific.
	format, byName := documentFormats[strings.ToLower(m.Type)], documentEndings[strings.ToLower(path.Ext(m.Name))]
	switch text := strings.HasPrefix(m.Type, "text/"); {
	case format == "" && text:
		format = cmp.Or(byName, "txt")
	case format == "" && (m.Type == "" || m.Type == "application/octet-stream"), format == "txt" && byName != "":
		format = byName
	}
	if format == "" {
		r.fail("%s accepts only PDF, Word, Excel, CSV, HTML, Markdown and plain text files, not %s.", r.d.Title, show.Quote(m.Type))
	}
	return []block{{Document: &media{Format: format, Name: r.documentName(m.Name), Source: src}}}
}

var documentFormats = map[string]string{
	"application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "text/plain": "txt", "text/markdown": "md",
	"application/json": "txt", "application/xml": "txt", "text/xml": "txt", "application/msword": "doc", "application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
}

var documentEndings = map[string]string{
	".pdf": "pdf", ".csv": "csv", ".doc": "doc", ".docx": "docx", ".xls": "xls", ".xlsx": "xlsx",
	".html": "html", ".htm": "html", ".txt": "txt", ".md": "md", ".json": "txt", ".xml": "txt",
}

const maxDocumentName = 180

// documentName removes characters that the API rejects from a file name. The API accepts letters, digits, single
// spaces, hyphens and brackets. documentName also makes the names of a request unique.
func (r *renderer) documentName(name string) string {
	if documentEndings[strings.ToLower(path.Ext(name))] != "" {
		name = strings.TrimSuffix(name, path.Ext(name))
	}
	clean := strings.Map(func(c rune) rune {
		if c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) || strings.ContainsRune("-()[]", c) {
			return c
		}
		return ' '
	}, show.Cut(name, maxDocumentName))
	clean = cmp.Or(strings.Join(strings.Fields(clean), " "), "document")
	unique := clean
	for r.documents[unique] > 0 {
		r.documents[clean]++
		unique = clean + " " + strconv.Itoa(r.documents[clean])
	}
	r.documents[unique] = 1
	return unique
}

var audioFormats = map[string]string{
	"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/flac": "flac",
	"audio/ogg": "ogg", "audio/opus": "opus", "audio/aac": "aac", "audio/mp4": "mp4", "audio/webm": "webm", "audio/pcm": "pcm",
}

package anthropic

import (
	"encoding/base64"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// media encodes an image or a document, without the closing brace.
func (r *renderer) media(w *rawjson.Writer, p llm.Part) error {
	m := *p.Media
	if rest, ok := strings.CutPrefix(m.URL, "data:"); ok {
		head, data, _ := strings.Cut(rest, ",")
		m.URL, m.Data = "", data
		if kind, _, _ := strings.Cut(head, ";"); kind != "" {
			m.Type = kind
		}
	}
	if m.Detail != "" && m.Detail != "auto" {
		r.warnDropped("the detail of an image")
	}
	kind := "image"
	if p.Kind == llm.FilePart && !strings.HasPrefix(m.Type, "image/") {
		kind = "document"
	}
	var source rawjson.Writer
	var err error
	if kind == "image" {
		err = imageSource(&source, m)
	} else {
		err = documentSource(&source, m)
	}
	if err != nil {
		return err
	}
	w.Open()
	w.Str("type", kind)
	w.Raw("source", source.Out)
	if kind == "document" && m.Name != "" {
		w.Str("title", m.Name)
	}
	return nil
}

func imageSource(w *rawjson.Writer, m llm.Media) error {
	w.Open()
	switch {
	case m.Data != "":
		w.Str("type", "base64")
		w.Str("media_type", imageType(m))
		w.Str("data", m.Data)
	case m.URL != "":
		w.Str("type", "url")
		w.Str("url", m.URL)
	default:
		return untranslatable("An image is stored at another provider. Send its bytes or its URL.")
	}
	w.Close()
	return nil
}

// imageType returns the declared type of an image, or the type detected from its first bytes.
func imageType(m llm.Media) string {
	switch m.Type {
	case "":
		for prefix, kind := range map[string]string{"/9j/": "image/jpeg", "iVBOR": "image/png", "R0lGOD": "image/gif", "UklGR": "image/webp"} {
			if strings.HasPrefix(m.Data, prefix) {
				return kind
			}
		}
		return "image/png"
	case "image/jpg":
		return "image/jpeg"
	}
	return m.Type
}

// documentSource encodes a PDF, a text or JSON document, or the URL of a document. The provider does not support other documents.
func documentSource(w *rawjson.Writer, m llm.Media) error {
	kind, _, _ := strings.Cut(m.Type, ";")
	w.Open()
	switch {
	case m.Data == "" && m.URL == "":
		return untranslatable("A file is stored at another provider. Send its bytes.")
	case m.Data == "":
		w.Str("type", "url")
		w.Str("url", m.URL)
	case kind == "application/pdf" || strings.HasPrefix(m.Data, "JVBERi"):
		w.Str("type", "base64")
		w.Str("media_type", "application/pdf")
		w.Str("data", m.Data)
	case strings.HasPrefix(kind, "text/") || kind == "application/json":
		text, err := base64.StdEncoding.DecodeString(m.Data)
		if err != nil {
			return untranslatable("A file is not valid base64.")
		}
		w.Str("type", "text")
		w.Str("media_type", "text/plain")
		w.Str("data", string(text))
	default:
		return untranslatable("The provider supports only PDF and text files.")
	}
	w.Close()
	return nil
}

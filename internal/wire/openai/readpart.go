package openai

import (
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

func (r *reader) readParts(param string) (parts []llm.Part) {
	for n := range r.Elements {
		where := param + "[" + strconv.Itoa(n) + "]"
		if r.Kind() == '"' { // a bare string, which several providers accept
			text, _ := r.ReadText(where)
			parts = append(parts, llm.Part{Kind: llm.TextPart, Text: text})
			continue
		}
		m, ok := r.object(where)
		if !ok {
			continue
		}
		part, ok := r.readPart(m, where+".")
		if !ok {
			continue
		}
		if part.Kind != llm.ThinkingPart {
			part.Cache = r.cacheOf(m, where+".")
		}
		parts = append(parts, part)
	}
	return parts
}

func (r *reader) readPart(m map[string]int, where string) (llm.Part, bool) {
	switch kind := r.textOf(m, "type", where); kind {
	case "text":
		return llm.Part{Kind: llm.TextPart, Text: r.textOf(m, "text", where)}, true
	case "refusal":
		return llm.Part{Kind: llm.RefusalPart, Text: r.textOf(m, "refusal", where)}, true
	case "image_url": // an object, or a plain URL, which some vendors accept
		param := where + "image_url"
		if pos, has := m["image_url"]; has && r.Data[pos] == '"' {
			return llm.Part{Kind: llm.ImagePart, Media: r.media(r.textOf(m, "image_url", where), param)}, true
		}
		inner, _ := r.objectOf(m, "image_url", where)
		media := r.media(r.textOf(inner, "url", param+"."), param+".url")
		media.Detail = r.textOf(inner, "detail", param+".")
		return llm.Part{Kind: llm.ImagePart, Media: media}, true
	case "input_audio":
		inner, _ := r.objectOf(m, "input_audio", where)
		where += "input_audio."
		data, format := r.textOf(inner, "data", where), r.textOf(inner, "format", where)
		if isDataURL(data) {
			return llm.Part{Kind: llm.AudioPart, Media: r.media(data, where+"data")}, true
		}
		media := &llm.Media{Data: r.base64(data, where+"data")}
		switch format {
		case "":
		case "mp3":
			media.Type = "audio/mpeg"
		default:
			media.Type = "audio/" + format
		}
		return llm.Part{Kind: llm.AudioPart, Media: media}, true
	case "file":
		return llm.Part{Kind: llm.FilePart, Media: r.file(m, where)}, true
	case "thinking": // sent by Mistral's reasoning models
		return llm.Part{Kind: llm.ThinkingPart, Thinking: &llm.Thinking{Text: r.thinkingOf(m, where)}}, true
	default:
		r.Problem(where+"type", "A part of type %s cannot be sent to a provider that uses another format. Send text, image_url, input_audio or file.", show.Quote(kind))
		return llm.Part{}, false
	}
}

func (r *reader) file(m map[string]int, where string) *llm.Media {
	inner, _ := r.objectOf(m, "file", where)
	where += "file."
	media := &llm.Media{}
	switch data := r.textOf(inner, "file_data", where); {
	case data == "":
	case isDataURL(data), strings.HasPrefix(data, "https://"), strings.HasPrefix(data, "http://"):
		media = r.media(data, where+"file_data")
	default:
		media.Data = r.base64(data, where+"file_data")
	}
	media.FileID, media.Name = r.textOf(inner, "file_id", where), r.textOf(inner, "filename", where)
	if media.Type == "" {
		media.Type = typeByName(media.Name)
	}
	return media
}

// media converts a URL, which may be a data URL, to media.
func (r *reader) media(url, param string) *llm.Media {
	if url == "" {
		r.Problem(param, "%s is missing or empty.", param)
	}
	if !isDataURL(url) {
		return &llm.Media{URL: url}
	}
	media, ok := splitDataURL(url)
	if !ok {
		r.Problem(param, "%s is an invalid data URL. Send data:TYPE;base64,DATA.", param)
	}
	return &media
}

func (r *reader) base64(data, param string) string {
	clean, ok := llm.StandardBase64(data)
	if !ok {
		r.Problem(param, "%s must be base64.", param)
	}
	return clean
}

// thinkingOf decodes a thinking part, which is a string or a list of parts.
func (r *reader) thinkingOf(m map[string]int, where string) string {
	pos, has := m["thinking"]
	if !has || r.Data[pos] != '[' {
		return r.textOf(m, "thinking", where)
	}
	var text strings.Builder
	r.at(pos, func() {
		for range r.Elements {
			if inner, ok := r.object(where + "thinking"); ok {
				text.WriteString(r.textOf(inner, "text", where+"thinking."))
			}
		}
	})
	return text.String()
}

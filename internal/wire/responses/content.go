package responses

import (
	"encoding/base64"
	"net/url"
	"path"
	"strconv"
	"strings"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
	"fairlead/internal/wire/show"
)

// content decodes a string or a list of parts. An empty text becomes no part.
func (r *requestReader) content(param string, v rawjson.Value) []llm.Part {
	if v.Kind == rawjson.Text {
		if text := v.String(); text != "" {
			return []llm.Part{{Kind: llm.TextPart, Text: text}}
		}
		return nil
	}
	if !r.is(param, v, "a text or a list of parts", rawjson.List) {
		return nil
	}
	var parts []llm.Part
	n := 0
	v.ForEach(func(_, entry rawjson.Value) bool {
		where := param + "[" + strconv.Itoa(n) + "]"
		n++
		if entry.Kind == rawjson.Null || !r.object(where, entry) {
			r.rejectNull(where, entry)
			return true
		}
		r.lookAlikes(where, entry, partNames)
		if part, ok := r.part(where, entry); ok {
			if entry.Get("prompt_cache_breakpoint").IsObject() {
				part.Cache = &llm.CacheMark{}
			}
			parts = append(parts, part)
		}
		return r.Context.Err() == nil
	})
	return parts
}

func (r *requestReader) part(param string, v rawjson.Value) (llm.Part, bool) {
	switch kind := r.text(param+".type", v.Get("type")); kind {
	case "input_text", "output_text", "text":
		return llm.Part{Kind: llm.TextPart, Text: r.text(param+".text", v.Get("text"))}, true
	case "refusal":
		return llm.Part{Kind: llm.RefusalPart, Text: r.text(param+".refusal", v.Get("refusal"))}, true
	case "input_image":
		return llm.Part{Kind: llm.ImagePart, Media: r.image(param, v)}, true
	case "input_file":
		return llm.Part{Kind: llm.FilePart, Media: r.file(param, v)}, true
	case "input_audio":
		sound := v.Get("input_audio")
		r.lookAlikes(param+".input_audio", sound, audioNames)
		return llm.Part{Kind: llm.AudioPart, Media: &llm.Media{
			Type: audioType(r.text(param+".input_audio.format", sound.Get("format"))),
			Data: r.base64(param+".input_audio.data", r.text(param+".input_audio.data", sound.Get("data"))),
		}}, true
	default:
		r.Problem(param+".type", "The part type %s is not supported. Send input_text, input_image or input_file.", show.Quote(kind))
		return llm.Part{}, false
	}
}

func (r *requestReader) image(param string, v rawjson.Value) *llm.Media {
	media := r.media(param+".image_url", r.text(param+".image_url", v.Get("image_url")))
	media.FileID = r.text(param+".file_id", v.Get("file_id"))
	media.Detail = r.text(param+".detail", v.Get("detail"))
	if *media == (llm.Media{Detail: media.Detail}) {
		r.Problem(param+".image_url", "%s.image_url is missing. Send a URL or a data URL.", param)
	}
	return media
}

func (r *requestReader) file(param string, v rawjson.Value) *llm.Media {
	media := &llm.Media{URL: r.text(param+".file_url", v.Get("file_url"))}
	switch data := r.text(param+".file_data", v.Get("file_data")); {
	case isDataURL(data):
		media = r.media(param+".file_data", data)
	case data != "":
		media.Data = r.base64(param+".file_data", data)
	}
	media.FileID = r.text(param+".file_id", v.Get("file_id"))
	media.Name = r.text(param+".filename", v.Get("filename"))
	if media.Type == "" && strings.EqualFold(path.Ext(media.Name), ".pdf") {
		media.Type = "application/pdf"
	}
	if media.URL == "" && media.Data == "" && media.FileID == "" {
		r.Problem(param, "%s has no file. Send file_data or file_url.", param)
	}
	return media
}

// media decodes a URL, which may be a data URL.
func (r *requestReader) media(param, address string) *llm.Media {
	if !isDataURL(address) {
		return &llm.Media{URL: address}
	}
	head, data, _ := strings.Cut(address[len("data:"):], ",")
	kind, parameters, _ := strings.Cut(head, ";")
	media := &llm.Media{Type: strings.ToLower(strings.TrimSpace(kind))}
	if strings.HasSuffix(";"+strings.ToLower(parameters), ";base64") {
		media.Data = r.base64(param, data)
		return media
	}
	plain, err := url.PathUnescape(data)
	if err != nil || plain == "" {
		r.Problem(param, "%s is an invalid data URL. Send data:TYPE;base64,DATA.", param)
	}
	media.Data = base64.StdEncoding.EncodeToString([]byte(plain))
	r.req.ImageBytes -= len(media.Data) // describe adds the bytes of Data, which are not in the body
	return media
}

// base64 returns base64 data in the standard alphabet with padding.
func (r *requestReader) base64(param, data string) string {
	clean := strings.NewReplacer("-", "+", "_", "/", " ", "", "\n", "", "\r", "", "\t", "").Replace(data)
	decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(clean, "="))
	if err != nil || len(decoded) == 0 {
		r.Problem(param, "%s must be base64.", param)
		return ""
	}
	if padded := clean + strings.Repeat("=", (4-len(clean)%4)%4); len(padded) == base64.StdEncoding.EncodedLen(len(decoded)) {
		return padded
	}
	return base64.StdEncoding.EncodeToString(decoded)
}

func isDataURL(s string) bool { return len(s) >= 5 && strings.EqualFold(s[:5], "data:") }

// audioType returns the media type of the formats wav and mp3.
func audioType(format string) string {
	switch format {
	case "":
		return ""
	case "mp3":
		return "audio/mpeg"
	}
	return "audio/" + format
}

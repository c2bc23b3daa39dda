package responses

import (
	"encoding/base64"
	"net/url"
	"path"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
)

// content holds the decoded content of a message or a tool result.
type content struct {
	parts  []llm.Part
	speaks bool           // whether the content has text or a refusal
	calls  bool           // whether the content has a tool call
	first  rawjson.String // first text
	found  bool           // whether a text was found; the text may be empty
}

// addText adds text or a refusal.
func (r *requestReader) addText(c *content, kind llm.PartKind, v value, cache *llm.CacheMark) {
	c.speaks = true
	if kind == llm.TextPart && !c.found {
		c.first, c.found = v.text, true
	}
	c.parts = append(c.parts, llm.Part{Kind: kind, Text: v.String(), Cache: cache})
	r.count(v)
}

// contentOf decodes the content of an item if it was not decoded while the item was read. This is the case for a string, and for a list of
// parts that precedes the type of the item. An empty string produces no part.
func (r *requestReader) contentOf(o *object, name string) (c content) {
	v := o.get(name)
	switch {
	case v.Kind == rawjson.Text && !v.text.Empty():
		r.addText(&c, llm.TextPart, v, nil)
	case v.Kind == rawjson.Text:
	case r.is(o.at.member(name), v.Value, "a string or a list of parts", rawjson.List):
		r.reread(v.Value, func() { c = r.parts(place{list: o.at.list, n: o.at.n, inner: name}) })
	}
	return c
}

// parts decodes the next value, which is a list of parts.
func (r *requestReader) parts(at place) (c content) {
	for m := range r.Elements {
		at.m = m
		if r.Kind() != '{' {
			r.SkipWrongType(at.String(), "an object")
			continue
		}
		r.part(at, &c)
	}
	return c
}

// part decodes one part and adds it to the content.
func (r *requestReader) part(at place, c *content) {
	o, from := object{at: at, names: partNames}, r.Pos
	for key := range r.Members {
		r.member(&o, key)
	}
	if r.Err != nil {
		return
	}
	var cache *llm.CacheMark
	if o.get("prompt_cache_breakpoint").IsObject() {
		cache = &llm.CacheMark{}
	}
	switch kind := r.str(&o, "type"); kind {
	case "input_text", "output_text", "text":
		r.addText(c, llm.TextPart, r.textOf(&o, "text"), cache)
	case "refusal":
		r.addText(c, llm.RefusalPart, r.textOf(&o, "refusal"), cache)
	default:
		p, ok := r.mediaPart(kind, at.String(), rawjson.Value{Kind: rawjson.Object, Raw: r.source[from:r.Pos], Index: from})
		if p.Cache = cache; ok {
			c.parts = append(c.parts, p)
			r.describeMedia(p)
			if p.Media.FileID != "" {
				r.req.AddStoredFile(p.Media.FileID, at.member("file_id"))
			}
		}
	}
}

// mediaPart decodes a part that is not text.
func (r *requestReader) mediaPart(kind, param string, v rawjson.Value) (llm.Part, bool) {
	switch kind {
	case "input_image":
		media := r.media(param+".image_url", r.text(param+".image_url", v.Get("image_url")))
		media.FileID = r.text(param+".file_id", v.Get("file_id"))
		media.Detail = r.text(param+".detail", v.Get("detail"))
		if *media == (llm.Media{Detail: media.Detail}) {
			r.Problem(param+".image_url", "%s.image_url is missing. Send a URL or a data URL.", param)
		}
		return llm.Part{Kind: llm.ImagePart, Media: media}, true
	case "input_file":
		return llm.Part{Kind: llm.FilePart, Media: r.file(param, v)}, true
	case "input_audio":
		sound := v.Get("input_audio")
		r.lookAlikes(param+".input_audio", sound, "format", "data")
		media := &llm.Media{}
		switch format := r.text(param+".input_audio.format", sound.Get("format")); format {
		case "":
		case "mp3":
			media.Type = "audio/mpeg"
		default:
			media.Type = "audio/" + format
		}
		media.Data = r.base64(param+".input_audio.data", r.text(param+".input_audio.data", sound.Get("data")))
		return llm.Part{Kind: llm.AudioPart, Media: media}, true
	default:
		r.Problem(param+".type", "The part type %s is not supported. Send input_text, input_image or input_file.", show.Quote(kind))
		return llm.Part{}, false
	}
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
	r.req.ImageBytes -= len(media.Data) // describeMedia adds the length of Data, but the body does not contain this base64
	return media
}

// base64 returns base64 data in the standard alphabet with padding.
func (r *requestReader) base64(param, data string) string {
	standard, ok := llm.StandardBase64(data)
	if !ok || standard == "" {
		r.Problem(param, "%s must be base64.", param)
		return ""
	}
	return standard
}

func isDataURL(s string) bool { return len(s) >= 5 && strings.EqualFold(s[:5], "data:") }

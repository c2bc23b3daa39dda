package media

import (
	"cmp"
	"io"
	"mime"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/fault"
	"fairlead.dev/internal/wire/upstream"
)

// defaultMaxResponse is the default of ReadOptions.MaxResponse.
const defaultMaxResponse = 64 << 20

// ReadOptions holds the settings for reading a provider's response.
type ReadOptions struct {
	Model       string // model name that the client sees
	ContentType string
	MaxResponse int64 // maximum size of the response in bytes; 0 for 64 MiB
}

func renderJSON(p *llm.Payload, model string) []byte {
	w := rawjson.Writer{Out: make([]byte, 0, len(p.Body)+len(model))}
	w.Open()
	for _, f := range p.Fields {
		switch f.Name {
		case "models", "provider", "session_id":
		case "model":
			w.Str(f.Name, model)
		default:
			w.Raw(f.Name, p.Body[f.Value:f.End])
		}
	}
	w.Close()
	return w.Out
}

// Read reads a provider's 2xx response. It validates JSON and replaces the model name. It returns other content unchanged.
func Read(r io.Reader, o ReadOptions) (llm.Event, error) {
	data, err := upstream.ReadAll(r, nil, cmp.Or(o.MaxResponse, defaultMaxResponse), 0)
	if err != nil {
		return llm.Event{}, err
	}
	if len(data) == 0 {
		return llm.Event{}, llm.Errorf(llm.UpstreamMalformed, "The provider sent an empty response.")
	}
	ev := llm.Event{Data: data, Own: true, Content: true, Type: ContentType(o.ContentType)}
	if ev.Type != "" {
		return ev, nil
	}
	v := rawjson.Parse(data)
	if !v.IsObject() || !rawjson.Valid(data) {
		return llm.Event{}, llm.Errorf(llm.UpstreamMalformed, "The provider's response is not a JSON object.")
	}
	if e := v.Get("error"); e.IsObject() {
		return llm.Event{}, fault.Inside(data)
	}
	ev.Usage = usageOf(v)
	if name := v.Get("model"); name.Kind == rawjson.Text {
		ev.Model = name.String()
		ev.Data = slices.Concat(data[:name.Index], rawjson.AppendString(nil, o.Model), data[name.Index+len(name.Raw):])
	}
	return ev, nil
}

// ContentType returns the content type for the client, given the type that the provider sent. It returns an empty string for JSON, and it
// keeps audio types, plain text and subtitles. All other types become application/octet-stream, because a browser could execute them.
func ContentType(sent string) string {
	kind, params, err := mime.ParseMediaType(sent)
	switch {
	case err != nil:
		return "application/octet-stream"
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return ""
	case strings.HasPrefix(kind, "audio/"), slices.Contains([]string{"text/plain", "text/vtt", "application/x-subrip"}, kind):
		return mime.FormatMediaType(kind, params)
	}
	return "application/octet-stream"
}

// usageOf returns the usage of a response, or nil if the response reports no input tokens. Some providers report only the total, which
// counts as input.
func usageOf(v rawjson.Value) *llm.Usage {
	u := v.Get("usage")
	first := func(names ...string) int64 {
		for _, name := range names {
			if n := u.Get(name); n.Kind == rawjson.Number {
				return n.Int()
			}
		}
		return 0
	}
	used := llm.Usage{Input: first("input_tokens", "prompt_tokens"), Output: first("output_tokens", "completion_tokens")}
	if used.Input == 0 && used.Output == 0 {
		used.Input = first("total_tokens")
	}
	used.AudioInput = min(used.Input, max(0, u.Get("input_token_details.audio_tokens").Int()))
	if used.Input <= 0 || used.Output < 0 {
		return nil
	}
	return &used
}

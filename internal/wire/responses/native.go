package responses

import (
	"bytes"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Effort returns the reasoning effort of a request, or an empty string if the request does not set it.
func Effort(p *llm.Payload) string {
	for _, f := range p.Fields {
		if f.Name == "reasoning" {
			return rawjson.Get(p.Body[f.Value:f.End], "effort").String()
		}
	}
	return ""
}

// WithEffort returns the reasoning settings with the given effort. reasoning may be nil or null.
func WithEffort(reasoning []byte, effort string) []byte {
	var w rawjson.Writer
	w.Open()
	w.Str("effort", effort)
	rawjson.Parse(reasoning).ForEach(func(key, value rawjson.Value) bool {
		if key.String() != "effort" {
			w.Raw(key.String(), []byte(value.Raw))
		}
		return true
	})
	w.Close()
	return w.Out
}

// NativeInput returns the input member for a provider of the same format, or nil if the client's input can be sent unchanged. It removes
// the reasoning items that the gateway created from another provider's response, because the provider cannot decrypt them. For a model that
// does not reason (reasons is false), it removes all reasoning items.
func NativeInput(req *llm.Request, reasons bool) []byte {
	part := `"` + signaturePrefix
	if req.Plain && reasons {
		return nil
	}
	if !reasons {
		part = `"reasoning"`
	}
	for _, f := range req.Fields {
		raw := req.Body[f.Value:f.End]
		if f.Name != "input" || !bytes.Contains(raw, []byte(part)) {
			continue
		}
		w := rawjson.Writer{Out: []byte{'['}}
		rawjson.Parse(raw).ForEach(func(_, item rawjson.Value) bool {
			if item.Get("type").String() == "reasoning" {
				if _, ours := unwrapSignature(item.Get("encrypted_content").String()); ours || !reasons {
					return true
				}
			}
			w.Element([]byte(item.Raw))
			return true
		})
		w.CloseList()
		return w.Out
	}
	return nil
}

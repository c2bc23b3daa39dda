package responses

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
)

// WithEffort returns the reasoning settings with the given effort. settings may be nil or null.
func WithEffort(settings []byte, effort string) []byte {
	var r reasoning
	if settings != nil {
		_ = unmarshal(settings, &r) // a member of a valid request
	}
	r.Effort = effort
	return encode(r)
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
		var kept []jsontext.Value
		for _, element := range elements(raw) {
			var it item
			if unmarshal(element, &it) == nil && it.Type == reasoningItem {
				if _, ours := unwrapSignature(it.Encrypted); ours || !reasons {
					continue
				}
			}
			kept = append(kept, element)
		}
		return encode(kept)
	}
	return nil
}

package responses

import (
	"bytes"

	"fairlead/internal/llm"
	"fairlead/internal/rawjson"
)

// Effort returns the reasoning effort of a request, or an empty string.
func Effort(req *llm.Request) string {
	for _, f := range req.Fields {
		if f.Name == "reasoning" {
			return rawjson.Get(req.Body[f.Value:f.End], "effort").String()
		}
	}
	return ""
}

// NativeInput returns the input for a provider of the same format when it must differ from the client's: without the reasoning
// items that the gateway made from another provider's response, which the provider cannot decrypt. It returns nil when the
// client's input can be sent unchanged.
func NativeInput(req *llm.Request) []byte {
	for _, f := range req.Fields {
		raw := req.Body[f.Value:f.End]
		if f.Name != "input" || !bytes.Contains(raw, []byte(`"`+signaturePrefix)) {
			continue
		}
		w := rawjson.Writer{Out: []byte{'['}}
		rawjson.Parse(raw).ForEach(func(_, item rawjson.Value) bool {
			if item.Get("type").String() == "reasoning" {
				if _, ours := unwrapSignature(item.Get("encrypted_content").String()); ours {
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

package openai

import (
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// rewrite returns data with the client's model name. It removes an error member that is null and, if cutUsage is true, the usage.
func (a *responseReader) rewrite(data []byte, cutUsage bool) []byte {
	fields := a.c.fields
	if len(fields) == 0 {
		return data
	}
	out := slices.Grow(a.c.out[:0], len(data)+len(`"model":,`)+len(a.model))
	out = append(out, data[:fields[0].KeyStart]...)
	written := false
	if !a.c.hasModel && len(a.model) > 0 {
		out = append(append(out, `"model":`...), a.model...)
		written = true
	}
	for i, f := range fields {
		if f.Name == "error" || f.Name == "usage" && cutUsage || f.Name == "model" && !a.c.hasModel && len(a.model) > 0 {
			continue
		}
		switch {
		case written && i > 0:
			out = append(out, data[fields[i-1].End:f.KeyStart]...)
		case written:
			out = append(out, ',')
		}
		written = true
		if f.Name == "model" && len(a.model) > 0 {
			out = append(append(out, data[f.KeyStart:f.Value]...), a.model...)
			continue
		}
		out = append(out, data[f.KeyStart:f.End]...)
	}
	out = append(out, data[fields[len(fields)-1].End:]...)
	a.c.out = out
	return out
}

// parseUsage returns the usage that the scan found, or nil when it is missing or implausible.
func (a *responseReader) parseUsage() *llm.Usage {
	if a.c.usage == nil {
		return nil
	}
	usage, ok := parseUsage(a.c.usage, a.o.ReasoningOnTop)
	if !ok {
		a.warn("ignored an implausible usage object")
		return nil
	}
	usage.ServiceTier = a.tier
	return &usage
}

// appendChunk appends a chunk to dst. The chunk consists of the members that all chunks share, followed by the JSON text in parts and
// value.
func (a *responseReader) appendChunk(dst []byte, parts string, value []byte) []byte {
	id, object := `"chatcmpl-0"`, "chat.completion.chunk"
	if a.o.Bare {
		id, object = `"cmpl-0"`, bareObject
	}
	dst = append(dst, `{"id":`...)
	dst = append(dst, or(a.id, id)...)
	dst = append(dst, `,"object":"`...)
	dst = append(dst, object...)
	dst = append(dst, `","created":`...)
	dst = append(dst, or(a.created, "0")...)
	dst = append(dst, `,"model":`...)
	if len(a.model) > 0 {
		dst = append(dst, a.model...)
	} else {
		dst = rawjson.AppendString(dst, a.reported)
	}
	dst = append(dst, ',')
	dst = append(dst, parts...)
	dst = append(dst, value...)
	return append(dst, '}')
}

func or(raw []byte, otherwise string) []byte {
	if raw == nil {
		return []byte(otherwise)
	}
	return raw
}

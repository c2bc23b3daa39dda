package geminiapi

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
)

// LimitOutput implements wire.OutputLimiter.
func (Format) LimitOutput(req *llm.Request, limit int64) []byte {
	return req.Replace(func(name string, value []byte) []byte {
		if canonical(name) != "generationConfig" {
			return nil
		}
		return edited(rawjson.Parse(value), edits{set: map[string][]byte{"maxOutputTokens": strconv.AppendInt(nil, limit, 10)}})
	})
}

// Prefill implements wire.Resumer.
func (f Format) Prefill(ctx context.Context, req *llm.Request, text string, maxOutput int64) (*llm.Request, error) {
	var content rawjson.Writer
	content.Open()
	content.Str("role", "model")
	content.OpenList("parts")
	writeText(&content, plainText, text)
	content.CloseList()
	content.Close()
	next := *req
	if maxOutput > 0 && req.MaxOutput > 0 {
		limited, err := f.DecodeRequest(ctx, req.Op, f.LimitOutput(req, maxOutput))
		if err != nil {
			return nil, err
		}
		next = *limited
	}
	return f.DecodeRequest(ctx, req.Op, next.Replace(func(name string, value []byte) []byte {
		if name != "contents" {
			return nil
		}
		end := bytes.LastIndexByte(value, ']')
		return slices.Concat(bytes.TrimRight(value[:end], " \t\r\n"), []byte{','}, content.Out, value[end:])
	}))
}

// Resume implements wire.Resumer. A stream can be continued if it contains only text.
func (Format) Resume(req *llm.Request, sent []byte) (wire.Continuation, bool) {
	e := newEncoder(req, "")
	var collected strings.Builder
	for line := range bytes.Lines(sent) {
		v := rawjson.Parse(line)
		if id := v.Get("responseId").String(); id != "" {
			e.id, e.began = id, true
		}
		if model := v.Get("modelVersion").String(); model != "" {
			e.model = model
		}
		if !replay(v.Get("candidates"), &collected) {
			return wire.Continuation{}, false
		}
	}
	if collected.Len() == 0 {
		return wire.Continuation{}, false
	}
	e.choices = []*choice{{}}
	return wire.Continuation{Text: collected.String(), Encode: e.write}, true
}

// replay appends the text of a previously sent event to collected. It returns false if a stream with this event cannot be continued.
func replay(candidates rawjson.Value, collected *strings.Builder) bool {
	ok := true
	candidates.ForEach(func(_, c rawjson.Value) bool {
		ok = c.Get("index").Int() == 0 && !c.Get("finishReason").Exists()
		list(c.Get("content.parts"), func(p rawjson.Value) bool {
			text := p.Get("text")
			if ok = ok && text.Kind == rawjson.Text && !p.Get("thought").Bool() && !p.Get("thoughtSignature").Exists(); ok {
				collected.WriteString(text.String())
			}
			return ok
		})
		return ok
	})
	return ok
}

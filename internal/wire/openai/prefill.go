package openai

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
)

var _ wire.Resumer = Format{}

// Prefill implements wire.Resumer.
func (f Format) Prefill(ctx context.Context, req *llm.Request, text string, maxOutput int64) (*llm.Request, error) {
	var message rawjson.Writer
	message.Open()
	message.Str("role", "assistant")
	message.Str("content", text)
	message.Close()
	return f.DecodeRequest(ctx, req.Op, req.Replace(func(name string, value []byte) []byte {
		switch {
		case name == "messages":
			end := bytes.LastIndexByte(value, ']')
			return slices.Concat(bytes.TrimRight(value[:end], " \t\r\n"), []byte{','}, message.Out, value[end:])
		case (name == "max_tokens" || name == "max_completion_tokens") && maxOutput > 0 && string(value) != "null":
			return strconv.AppendInt(nil, maxOutput, 10)
		}
		return nil
	}))
}

// Resume implements wire.Resumer.
func (f Format) Resume(req *llm.Request, sent []byte) (wire.Continuation, bool) {
	return resume(req, f.Now, sent)
}

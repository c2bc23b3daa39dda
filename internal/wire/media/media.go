// Package media implements the OpenAI endpoints for audio, images and reranking. It forwards the bodies of requests,
// but replaces the model name and removes the gateway's own members. A transcription is a multipart form; all other
// requests are JSON.
package media

import (
	"context"
	"io"
	"iter"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/validate"
)

// Format implements wire.Format for these endpoints. Responses are not streamed.
type Format struct{}

var _ wire.Format = Format{}

// Name implements wire.Format. The endpoints belong to the same API as chat completions.
func (Format) Name() string { return "chat" }

// Framing implements wire.Format.
func (Format) Framing() wire.Framing { return framing{} }

type framing struct{}

func (framing) WriteEvent(w io.Writer, ev llm.Event) error { return sse.WriteData(w, ev.Data) }

func (framing) WriteEnd(io.Writer) error { return nil }

func (framing) WriteError(w io.Writer, body []byte, _ int) error { return sse.WriteData(w, body) }

// errNotChat returns the error for conversions to or from a conversation, which these endpoints do not support. The gateway never requests
// them.
func errNotChat() error { return llm.Errorf(llm.Untranslatable, "This request cannot be translated.") }

// EncodeResponse implements wire.Format.
func (Format) EncodeResponse(*llm.Request, string, iter.Seq2[llm.Delta, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) { yield(llm.Event{}, errNotChat()) }
}

// decoder validates one request.
type decoder struct {
	validate.Reader
	req    *llm.Request
	prompt bool // whether the member that the operation requires is present
}

// DecodeRequest implements wire.Format.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	d := decoder{req: &llm.Request{Op: op, Payload: llm.Payload{Format: Format{}.Name(), Body: body}, ResponseOptions: llm.ResponseOptions{Choices: 1}}}
	required := map[llm.Op]string{llm.Transcribe: "file", llm.Speech: "input", llm.GenerateImages: "prompt", llm.Rerank: "documents"}[op]
	if required == "" {
		return nil, strict.Reject(strict.Problem{Message: "The endpoint does not support the operation " + string(op) + "."})
	}
	if op == llm.Transcribe {
		if err := d.form(body); err != nil {
			return nil, err
		}
	} else {
		fields, err := strict.Object(ctx, body)
		if err != nil {
			return nil, err
		}
		d.req.Fields = fields
		d.Scanner = rawjson.Scanner{Data: body, Context: ctx}
		d.members(required)
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	d.Require("model", d.req.Model != "", "Name a model.")
	d.Require(required, d.prompt, "Send it.")
	if strings.HasPrefix(d.req.Model, "auto") && (d.req.Model == "auto" || d.req.Model[len("auto")] == ':') {
		d.Problem("model", "This endpoint cannot select a model automatically. Name a model.")
	}
	if err := d.Reject(); err != nil {
		return nil, err
	}
	return d.req, nil
}

// members reads the members of a JSON request and records whether the required member is present.
func (d *decoder) members(required string) {
	for _, f := range d.req.Fields {
		d.Pos = f.Value
		name := requestFields.ReadMember(&d.Reader, []byte(f.Name), d)
		if name == required && d.req.Body[f.Value] != 'n' {
			d.prompt = true
		}
	}
}

func requestOf(d *decoder) *llm.Request { return d.req }

var requestFields = validate.NewObject(append(validate.Controls(requestOf),
	validate.Text("input", (*decoder).text),
	validate.Text("prompt", (*decoder).text),
	validate.Text("query", (*decoder).text),
	validate.Value("documents", (*decoder).documents),
	validate.Int("n", 1, 10, func(d *decoder, n int64) { d.req.Choices = int(n) }),
	validate.Label("user", func(d *decoder, s string) { d.req.EndUser = s }),
	validate.Bool("stream", func(d *decoder, b bool) {
		if b {
			d.Problem("stream", "This endpoint does not support streaming. Send the request without stream.")
		}
	}),
)...)

// documents adds the text of the documents to be ranked to the prompt size.
func (d *decoder) documents(v rawjson.Value) {
	if !d.IsKind("documents", v, "a list", rawjson.List) {
		return
	}
	v.ForEach(func(_, one rawjson.Value) bool {
		if one.IsObject() {
			one = one.Get("text")
		}
		d.text(one.String())
		return d.Context.Err() == nil
	})
}

// text adds a string to the prompt size. The first string with a preview becomes the preview of the request.
func (d *decoder) text(s string) {
	ascii := 0
	for i := range len(s) {
		if s[i] < 0x80 {
			ascii++
		}
	}
	d.req.ASCIIBytes += ascii
	d.req.NonASCIIBytes += len(s) - ascii
	d.req.Text.Add(s)
	if d.req.Preview == "" {
		d.req.Preview = show.Preview(s, llm.PreviewBytes)
	}
}

// Package media implements the OpenAI endpoints for audio, images and reranking. It forwards the bodies of requests,
// but replaces the model name and removes the gateway's own members. A transcription is a multipart form; all other
// requests are JSON.
package media

import (
	"context"
	"io"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/sse"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/upstream"
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

// request is a request in JSON.
type request struct {
	strict.Controls
	Input     string           `json:"input"`
	Prompt    string           `json:"prompt"`
	Query     string           `json:"query"`
	Documents []jsontext.Value `json:"documents"`
	N         strict.Whole     `json:"n"`
	User      strict.Label     `json:"user"`
	Stream    bool             `json:"stream"`
}

// DecodeRequest implements wire.Format.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	req := &llm.Request{Op: op, Payload: llm.Payload{Format: Format{}.Name(), Body: body}, ResponseOptions: llm.ResponseOptions{Choices: 1}}
	required := map[llm.Op]string{llm.Transcribe: "file", llm.Speech: "input", llm.GenerateImages: "prompt", llm.Rerank: "documents"}[op]
	if required == "" {
		return nil, strict.Reject(strict.Problem{Message: "The endpoint does not support the operation " + string(op) + "."})
	}
	d := decoder{doc: &strict.Document{Body: body}, req: req}
	if op == llm.Transcribe {
		if err := d.form(body); err != nil {
			return nil, err
		}
	} else {
		if err := d.json(ctx, body); err != nil {
			return nil, err
		}
		d.given = d.doc.Given(required)
	}
	d.doc.Require("model", req.Model != "", "Name a model.")
	d.doc.Require(required, d.given, "Send it.")
	if strings.HasPrefix(req.Model, "auto") && (req.Model == "auto" || req.Model[len("auto")] == ':') {
		d.doc.Problem("model", "This endpoint cannot select a model automatically. Name a model.")
	}
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	if err := d.doc.Finish(req, nil); err != nil {
		return nil, err
	}
	return req, nil
}

// decoder validates one request.
type decoder struct {
	doc   *strict.Document
	req   *llm.Request
	given bool // whether the member that the operation requires is present
}

// json reads a JSON request.
func (d *decoder) json(ctx context.Context, body []byte) error {
	var in request
	doc, err := strict.Decode(ctx, body, &in, strict.Rules{})
	if err != nil {
		return err
	}
	d.doc = doc
	doc.RejectUnknownLookAlikes(&in)
	in.Apply(doc, d.req)
	d.req.EndUser = string(in.User)
	d.req.Choices = int(max(doc.Int("n", in.N, 1, 10), 1))
	if in.Stream {
		d.rejectStream()
	}
	d.addText(in.Input)
	d.addText(in.Prompt)
	d.addText(in.Query)
	for _, raw := range in.Documents {
		var object struct {
			Text string `json:"text"`
		}
		if raw.Kind() == '{' && upstream.Decode(raw, &object) == nil {
			d.addText(object.Text)
		} else if text, err := jsontext.AppendUnquote(nil, raw); err == nil {
			d.addText(string(text))
		}
		if ctx.Err() != nil {
			return llm.Cancelled(ctx)
		}
	}
	return nil
}

func (d *decoder) rejectStream() {
	d.doc.Problem("stream", "This endpoint does not support streaming. Send the request without stream.")
}

// addText adds a text to the prompt size. The first text with a preview becomes the preview of the request.
func (d *decoder) addText(s string) {
	d.req.CountText(s)
	if d.req.Preview == "" {
		d.req.Preview = show.Preview(s, llm.PreviewBytes)
	}
}

// Package transcript joins stored streams into responses and translates stored bodies into the chat format.
package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
	"fairlead.dev/internal/wire/upstream"
)

// AssembleResponse joins the stored events of a stream into one response in the caller's format. It runs outside the
// request path. If the events cannot be joined, they are kept unchanged.
func AssembleResponse(e *requestlog.Entry) {
	if !e.Body.Streamed {
		return
	}
	e.Body.Unfold()
	var whole []byte
	var err error
	switch events := e.Body.Response; e.Format {
	case anthropic.Name:
		err = openai.ErrNoChunks
		for ev, failed := range (anthropic.Format{}).EncodeResponse(&llm.Request{}, "", messagesPieces(events, true)) {
			whole, err = ev.Data, failed
			break
		}
	case responses.Name:
		whole, err = responses.Assemble(events)
	case gemini.Name:
		whole, err = gemini.Assemble(events)
	default:
		whole, err = openai.Assemble(events)
	}
	if err == nil {
		e.Body.Response, e.Body.Streamed = whole, false
	}
}

// messagesPieces decodes a stored response in the messages format. A streamed response has one event per line.
func messagesPieces(stored []byte, streamed bool) iter.Seq2[llm.Delta, error] {
	options := anthropic.DeltaOptions{Reading: upstream.Reading{Stream: streamed}}
	if !streamed {
		return anthropic.Deltas(bytes.NewReader(stored), options)
	}
	var wired bytes.Buffer
	wired.Grow(len(stored) + 8*(1+bytes.Count(stored, []byte("\n"))))
	for line := range bytes.Lines(stored) {
		wired.WriteString("data: ")
		wired.Write(bytes.TrimSpace(line))
		wired.WriteString("\n\n")
	}
	return anthropic.Deltas(&wired, options)
}

// AsChat returns a stored request and its assembled response in the chat format. A request or response that cannot be converted is
// returned unchanged.
func AsChat(format string, body requestlog.Body) (request, response []byte) {
	e := requestlog.Entry{Call: requestlog.Call{Format: format}, Body: body}
	AssembleResponse(&e)
	request, response = ToChat(format, e.Body)
	if request == nil {
		request = e.Body.Request
	}
	if response == nil {
		response = e.Body.Response
	}
	return request, response
}

// ToChat converts a stored request and its response to the chat format. The results are nil for bodies that are already
// in the chat format or cannot be converted.
func ToChat(format string, body requestlog.Body) (request, response []byte) {
	switch format {
	case anthropic.Name:
		return asChat(anthropic.Format{}, body.Request), answerOf(messagesPieces(body.Response, body.Streamed))
	case gemini.Name:
		return asChat(gemini.Format{Model: "auto"}, body.Request), answerOf(gemini.Stored(body.Response))
	case responses.Name:
		return asChat(responses.Format{}, body.Request), responsesAnswer(body)
	}
	return nil, nil
}

// RequestToChat converts a request of another format to the chat format. It returns nil when the request is invalid.
func RequestToChat(format string, body []byte) []byte {
	request, _ := ToChat(format, requestlog.Body{Request: body})
	return request
}

// asChat encodes a request of another format in the chat format.
func asChat(f wire.Format, body []byte) []byte {
	req, err := f.DecodeRequest(context.Background(), llm.Chat, body)
	if err != nil {
		return nil
	}
	conv, err := req.Translate()
	if err != nil {
		return nil
	}
	everything := openai.Accepts{Thinking: true, Reasoning: true, CacheMarks: true, AllowedTools: true, TopK: true}
	text, _ := openai.EncodeRequest(conv, openai.EncodeOptions{Model: req.Model, Stream: req.Stream, Accepts: everything})
	return text
}

// answerOf encodes a response in the chat format. It is encoded as a stream, because the stored response may be an incomplete stream.
func answerOf(deltas iter.Seq2[llm.Delta, error]) []byte {
	var chunks bytes.Buffer
	for ev, err := range (openai.Format{}).EncodeResponse(&llm.Request{ResponseOptions: llm.ResponseOptions{Stream: true}}, "", deltas) {
		if err != nil {
			break
		}
		chunks.Write(ev.Data)
		chunks.WriteByte('\n')
	}
	whole, err := openai.Assemble(chunks.Bytes())
	if err != nil {
		return nil
	}
	return whole
}

// responsesAnswer converts a stored response in the Responses format to the chat format. It decodes the output as the input of
// the next turn, because clients send the output back in that form.
func responsesAnswer(body requestlog.Body) []byte {
	stored, err := responses.Assemble(body.Response)
	if err != nil {
		return nil
	}
	answer := rawjson.Parse(stored)
	turn, err := json.Marshal(map[string]json.RawMessage{"model": []byte(`"m"`), "input": []byte(answer.Get("output").Raw)})
	if err != nil {
		return nil
	}
	message := rawjson.Get(asChat(responses.Format{}, turn), "messages.0")
	if !message.Exists() {
		return nil
	}
	model := `""`
	if value := answer.Get("model"); value.Kind == rawjson.Text {
		model = value.Raw
	}
	return fmt.Appendf(nil, `{"object":"chat.completion","model":%s,"choices":[{"index":0,"message":%s,"finish_reason":%s}]}`,
		model, message.Raw, finishOf(answer, message))
}

// finishOf returns the finish reason in the chat format; null for an incomplete response.
func finishOf(answer, message rawjson.Value) string {
	switch answer.Get("status").String() {
	case "completed":
		if message.Get("tool_calls").Exists() {
			return `"tool_calls"`
		}
		return `"stop"`
	case "incomplete":
		if answer.Get("incomplete_details.reason").String() == "content_filter" {
			return `"content_filter"`
		}
		return `"length"`
	}
	return "null"
}

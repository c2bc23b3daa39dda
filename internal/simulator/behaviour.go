package simulator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"fairlead.dev/internal/simulator/inprocess"
	"fairlead.dev/internal/simulator/openai"
)

// Behaviour is the script of one call. The zero value responds like OpenAI with "Hello from MODEL." Fields can be combined: Body or
// Events replace the response, and the other fields change how it is sent. To delay a call, tests wait for a channel in Before or
// BeforeEvent, or set Gate.
type Behaviour struct {
	Handler http.Handler // serves the call when set; the call is still recorded

	Status int               // 200 when zero; statuses from 400 send an OpenAI error object unless Body is set
	Header map[string]string // additional response headers; may replace the content type
	Body   []byte            // complete body, sent unchanged
	Events []string          // data of the stream's events, in order, instead of generated ones
	Text   []string          // pieces of the generated text
	Model  string            // model name in the response; the requested one when empty
	Usage  string            // JSON for the `usage` field, sent unchanged; "none" omits the field
	Echo   bool              // whether the text is a JSON object with the received path, header and body

	Before      func(*Call)      // runs before the status is sent
	BeforeEvent func(*Call, int) // runs before each event of a stream, counted from 0
	Gate        <-chan struct{}  // the mock receives from Gate before it sends each event, so that the test controls the pace

	Silent      bool // whether to wait until the client disconnects without responding
	Reset       bool // whether to reset the connection instead of responding
	CutAfter    int  // number of events (or body bytes) after which the connection breaks; 0 for never
	SilentAfter int  // number of events after which nothing is sent; 0 for never

	OneByte      bool // whether each byte is written and flushed separately
	CRLF         bool // whether lines end in CR LF
	NoSpace      bool // whether to write "data:{" without the space
	Comments     bool // whether to write a comment, an event field and an id field before the data of each event
	Unterminated bool // whether to omit the final newlines and [DONE]
	NoDone       bool // whether to end the stream cleanly without [DONE]
}

// Fail responds with a status and an OpenAI error object. Headers are given as name, value, name, value.
func Fail(status int, headers ...string) Behaviour {
	b := Behaviour{Status: status, Header: map[string]string{}}
	for i := 0; i+1 < len(headers); i += 2 {
		b.Header[headers[i]] = headers[i+1]
	}
	return b
}

// serve executes the script. It reports whether it sent the response as scripted.
func (b Behaviour) serve(w http.ResponseWriter, r *http.Request, call *Call) bool {
	if b.Before != nil {
		b.Before(call)
	}
	switch {
	case b.Handler != nil:
		r.Body = io.NopCloser(bytes.NewReader(call.Body))
		b.Handler.ServeHTTP(w, r)
		return r.Context().Err() == nil
	case b.Silent:
		<-r.Context().Done()
		return false
	case b.Reset:
		inprocess.Reset(w)
		return true
	}
	streams := call.Stream && b.Status < http.StatusBadRequest && b.Body == nil
	w.Header().Set("Content-Type", openai.ContentType(streams))
	for name, value := range b.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(max(b.Status, http.StatusOK))
	if streams {
		return b.stream(w, r, call)
	}
	body := b.body(call)
	if b.CutAfter > 0 && b.CutAfter < len(body) {
		b.write(w, body[:b.CutAfter])
		panic(http.ErrAbortHandler)
	}
	return b.write(w, body)
}

func (b Behaviour) stream(w http.ResponseWriter, r *http.Request, call *Call) bool {
	_ = http.NewResponseController(w).Flush()
	events := b.Events
	if events == nil {
		events = b.chunks(call)
	}
	if !b.NoDone && !b.Unterminated {
		events = append(events[:len(events):len(events)], "[DONE]")
	}
	for i, data := range events {
		if b.BeforeEvent != nil {
			b.BeforeEvent(call, i)
		}
		if b.CutAfter > 0 && i == b.CutAfter {
			panic(http.ErrAbortHandler)
		}
		if b.SilentAfter > 0 && i == b.SilentAfter {
			<-r.Context().Done()
			return false
		}
		if b.Gate != nil {
			select {
			case <-b.Gate:
			case <-r.Context().Done():
				return false
			}
		}
		if !b.write(w, b.frame(data, i == len(events)-1)) {
			return false
		}
	}
	if b.CutAfter > 0 && b.CutAfter == len(events) {
		panic(http.ErrAbortHandler)
	}
	return true
}

// frame formats one event according to the script.
func (b Behaviour) frame(data string, last bool) []byte {
	out := "data: " + data + "\n\n"
	if b.NoSpace {
		out = "data:" + data + "\n\n"
	}
	if b.Comments {
		out = ": keep-alive\n\nevent: message\nid: 1\n" + out
	}
	if last && b.Unterminated {
		out = strings.TrimRight(out, "\n")
	}
	if b.CRLF {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	return []byte(out)
}

// write sends the bytes in one piece or one by one, and flushes. It reports whether the client is still connected.
func (b Behaviour) write(w http.ResponseWriter, data []byte) bool {
	step := len(data)
	if b.OneByte {
		step = 1
	}
	flusher := http.NewResponseController(w)
	for len(data) > 0 {
		if _, err := w.Write(data[:step]); err != nil {
			return false
		}
		if flusher.Flush() != nil {
			return false
		}
		data = data[step:]
	}
	return true
}

// chunks returns the stream events in OpenAI's format.
func (b Behaviour) chunks(call *Call) []string {
	if forPrompts(call.Path) {
		return b.promptChunks(call)
	}
	a := openai.Response{ID: fmt.Sprintf("chatcmpl-mock%d", call.Number), Created: 1_790_000_000, Model: b.model(call)}
	a.Choices = []openai.Choice{{Text: b.text(call), Finish: "stop"}}
	events := []string{}
	for _, part := range a.Deltas() {
		events = append(events, string(openai.Encode(a.Chunk(part))))
	}
	if used := b.usage(); call.usage && used != nil {
		events = append(events, string(openai.Encode(struct {
			openai.Chunk
			Usage json.RawMessage `json:"usage"`
		}{a.Chunk(), used})))
	}
	return events
}

func (b Behaviour) body(call *Call) []byte {
	switch {
	case b.Body != nil:
		return b.Body
	case b.Status >= http.StatusBadRequest:
		return openai.Encode(map[string]any{"error": openai.Error{Message: fmt.Sprintf("mock failure %d", b.Status), Type: "mock_error"}})
	case strings.HasSuffix(call.Path, "/embeddings"):
		return b.embeddings(call)
	case strings.HasSuffix(call.Path, "/moderations"):
		return b.moderations(call)
	case forPrompts(call.Path):
		return openai.Encode(struct {
			openai.TextCompletion
			Usage json.RawMessage `json:"usage,omitempty"`
		}{b.prompted(call).TextCompletion(), b.usage()})
	}
	a := openai.Response{ID: fmt.Sprintf("chatcmpl-mock%d", call.Number), Created: 1_790_000_000, Model: b.model(call)}
	a.Choices = []openai.Choice{{Text: b.text(call), Finish: "stop"}}
	return openai.Encode(struct {
		openai.Completion
		Usage json.RawMessage `json:"usage,omitempty"`
	}{a.Completion(), b.usage()})
}

// embeddings returns the same short vector for each input.
func (b Behaviour) embeddings(call *Call) []byte {
	var q struct {
		Input          json.RawMessage `json:"input"`
		EncodingFormat string          `json:"encoding_format"`
	}
	_ = json.Unmarshal(call.Body, &q)
	inputs, err := openai.ParseInputs(q.Input)
	if err != nil {
		inputs = make([]openai.Input, 1)
	}
	data := []openai.Embedding{}
	for i := range inputs {
		var value any = []float32{0.6, 0.8}
		if q.EncodingFormat == "base64" {
			value = openai.EncodeVector([]float32{0.6, 0.8})
		}
		data = append(data, openai.Embedding{Object: "embedding", Index: i, Embedding: value})
	}
	answer := map[string]any{"object": "list", "model": b.model(call), "data": data}
	if used := b.usage(); used != nil {
		answer["usage"] = used
	}
	return openai.Encode(answer)
}

// prompted returns the response of the legacy completions endpoint.
func (b Behaviour) prompted(call *Call) openai.Response {
	return openai.Response{
		ID: "cmpl-mock" + strconv.Itoa(call.Number), Created: 1_790_000_000, Model: b.model(call),
		Choices: []openai.Choice{{Text: b.text(call), Finish: "stop"}},
	}
}

func (b Behaviour) promptChunks(call *Call) []string {
	a := b.prompted(call)
	events := a.TextEvents()
	if used := b.usage(); call.usage && used != nil {
		events = append(events, string(openai.Encode(struct {
			openai.TextCompletion
			Usage json.RawMessage `json:"usage"`
		}{a.TextChunk(), used})))
	}
	return events
}

// moderations returns a response that flags no input. As at OpenAI, the response has no usage unless the script sets one.
func (b Behaviour) moderations(call *Call) []byte {
	var q struct {
		Input json.RawMessage `json:"input"`
	}
	_ = json.Unmarshal(call.Body, &q)
	inputs, err := openai.ParseModerationInputs(q.Input)
	if err != nil {
		inputs = make([]openai.Content, 1)
	}
	results := []openai.ModerationResult{}
	for range inputs {
		results = append(results, openai.Moderate(openai.Content{}))
	}
	answer := map[string]any{"id": fmt.Sprintf("modr-mock%d", call.Number), "model": b.model(call), "results": results}
	if used := b.usage(); b.Usage != "" && used != nil {
		answer["usage"] = used
	}
	return openai.Encode(answer)
}

func (b Behaviour) model(call *Call) string {
	if b.Model != "" {
		return b.Model
	}
	return call.Model
}

func (b Behaviour) text(call *Call) []string {
	switch {
	case b.Echo:
		return []string{string(openai.Encode(map[string]any{"path": call.Path, "header": call.Header, "body": string(call.Body)}))}
	case b.Text != nil:
		return b.Text
	}
	return []string{"Hello", " from ", call.Model, "."}
}

func (b Behaviour) usage() json.RawMessage {
	switch b.Usage {
	case "":
		return json.RawMessage(`{"prompt_tokens":11,"completion_tokens":4,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}`)
	case "none":
		return nil
	}
	return json.RawMessage(b.Usage)
}

// forPrompts reports whether a path is the legacy completions endpoint.
func forPrompts(path string) bool {
	return strings.HasSuffix(path, "/completions") && !strings.HasSuffix(path, "/chat/completions")
}

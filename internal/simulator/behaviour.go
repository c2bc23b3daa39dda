package simulator

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Behaviour is the script of one call. The zero value responds in the format of the call with "Hello from MODEL." Fields can be combined:
// Body or Events replace the response, and the other fields change how it is sent. To delay a call, tests wait for a channel in Before or
// BeforeEvent.
type Behaviour struct {
	Handler http.Handler // serves the call when set; the call is still recorded

	Status  int               // 200 when zero; statuses from 400 send an error of the format unless Body is set
	Message string            // message of the error
	Code    string            // code of the error, in formats that have one
	Header  map[string]string // additional response headers; may replace the content type
	Body    []byte            // complete body, sent unchanged
	Events  []string          // data of the stream's events, in order, instead of generated ones
	Text    []string          // pieces of the generated text
	Model   string            // model name in the response; the requested one when empty
	Usage   string            // JSON for the usage member, sent unchanged; "none" omits the member
	Echo    bool              // whether the text is a JSON object with the received path, header and body

	Reply      func(*Call) *Reply // composes the response in place of Text
	Dimensions int                // size of embeddings; 0 for the vector (0.6, 0.8)

	Before      func(*Call)      // runs before the status is sent
	BeforeEvent func(*Call, int) // runs before each event of a stream, counted from 0
	First       time.Duration    // delay of the response
	Gap         time.Duration    // delay between the events of a stream

	Silent      bool // whether to wait until the client disconnects without responding
	Reset       bool // whether to reset the connection instead of responding
	CutAfter    int  // number of events (or body bytes) after which the connection breaks; 0 for never
	SilentAfter int  // number of events after which nothing is sent; 0 for never
	ErrorAfter  int  // number of events after which the stream ends with an error; 0 for never
	NoDone      bool // whether to end the stream cleanly without [DONE]
}

// Fail responds with a status and an error of the format. Headers are given as name, value, name, value.
func Fail(status int, headers ...string) Behaviour {
	b := Behaviour{Status: status, Header: map[string]string{}}
	for i := 0; i+1 < len(headers); i += 2 {
		b.Header[headers[i]] = headers[i+1]
	}
	return b
}

// unscripted reports whether the script does not replace the response.
func (b Behaviour) unscripted() bool { return b.Handler == nil && b.Body == nil && b.Status == 0 }

// serve executes the script. It reports whether it sent the response as scripted.
func (b Behaviour) serve(w http.ResponseWriter, r *http.Request, call *Call) bool {
	if b.Before != nil {
		b.Before(call)
	}
	if !pause(r.Context(), b.First) {
		return false
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
		Reset(w)
		return true
	}
	if call.Stream && b.Status < http.StatusBadRequest && b.Body == nil {
		return b.stream(w, r, call)
	}
	contentType, body := b.body(call)
	w.Header().Set("Content-Type", contentType)
	if b.Status >= http.StatusBadRequest && formatOf(call.Path) == converseFormat {
		w.Header().Set("X-Amzn-Errortype", converseErrorType(b.Status))
	}
	b.writeHeader(w)
	if b.CutAfter > 0 && b.CutAfter < len(body) {
		write(w, body[:b.CutAfter])
		panic(http.ErrAbortHandler)
	}
	return write(w, body)
}

func (b Behaviour) writeHeader(w http.ResponseWriter) {
	for name, value := range b.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(max(b.Status, http.StatusOK))
}

func (b Behaviour) stream(w http.ResponseWriter, r *http.Request, call *Call) bool {
	f := formatOf(call.Path)
	w.Header().Set("Content-Type", f.stream)
	b.writeHeader(w)
	_ = http.NewResponseController(w).Flush()
	frames := b.frames(call, f)
	for i, frame := range frames {
		if b.BeforeEvent != nil {
			b.BeforeEvent(call, i)
		}
		switch {
		case b.CutAfter > 0 && i == b.CutAfter:
			panic(http.ErrAbortHandler)
		case b.ErrorAfter > 0 && i == b.ErrorAfter:
			return write(w, sseEvent("", f.fail(http.StatusInternalServerError, faultMessage, "")))
		case b.SilentAfter > 0 && i == b.SilentAfter:
			<-r.Context().Done()
			return false
		case i > 0 && !pause(r.Context(), b.Gap):
			return false
		}
		if !write(w, frame) {
			return false
		}
	}
	if b.CutAfter > 0 && b.CutAfter == len(frames) {
		panic(http.ErrAbortHandler)
	}
	return true
}

// frames returns the encoded events of a stream.
func (b Behaviour) frames(call *Call, f *format) [][]byte {
	const done = "data: [DONE]\n\n"
	var list [][]byte
	if b.Events == nil {
		list = f.frames(call, f.read(call), b.reply(call))
	} else {
		for _, data := range b.Events {
			list = append(list, []byte("data: "+data+"\n\n"))
		}
		list = append(list, []byte(done))
	}
	if n := len(list) - 1; b.NoDone && string(list[n]) == done {
		list = list[:n]
	}
	return list
}

// write sends bytes and flushes. It reports whether the client is still connected.
func write(w http.ResponseWriter, data []byte) bool {
	if _, err := w.Write(data); err != nil {
		return false
	}
	return http.NewResponseController(w).Flush() == nil
}

// pause waits and reports whether the client is still connected.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (b Behaviour) body(call *Call) (contentType string, body []byte) {
	const plain = "application/json"
	f := formatOf(call.Path)
	switch {
	case b.Body != nil:
		return plain, b.Body
	case b.Status >= http.StatusBadRequest:
		return plain, Encode(f.fail(b.Status, cmp.Or(b.Message, fmt.Sprintf("mock failure %d", b.Status)), b.Code))
	}
	if contentType, body = b.other(call); body != nil {
		return contentType, body
	}
	return plain, Encode(f.body(call, f.read(call), b.reply(call)))
}

// reply returns the scripted reply.
func (b Behaviour) reply(call *Call) *Reply {
	var r *Reply
	if b.Reply != nil {
		r = b.Reply(call)
	} else {
		text := b.text(call)
		r = &Reply{
			ID: fmt.Sprintf("mock%d", call.Number), Usage: Usage{Input: 11, Output: 4},
			Parts: []Part{{Kind: TextPart, Text: strings.Join(text, ""), Pieces: text}},
		}
	}
	r.model, r.usageJSON = cmp.Or(b.Model, call.Model), b.Usage
	return r
}

func (b Behaviour) text(call *Call) []string {
	switch {
	case b.Echo:
		return []string{string(Encode(Object{"path": call.Path, "header": call.Header, "body": string(call.Body)}))}
	case b.Text != nil:
		return b.Text
	}
	return []string{"Hello", " from ", call.Model, "."}
}

package simulator

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Pace describes how Fixed streams a response.
type Pace struct {
	First  time.Duration // time before the first event
	Gap    time.Duration // time between events with text
	Chunks int           // number of events with text
	Format string        // last element of the path of the client format, such as messages
}

// paceMark delimits a pace. Prompts without a pace must not contain it.
const paceMark = "~"

// String returns the text that a prompt must contain to get a response with this pace.
func (p Pace) String() string {
	return fmt.Sprintf("%s%d %d %d %s%[1]s ", paceMark, p.First, p.Gap, p.Chunks, p.Format)
}

// parsePace finds the pace in a request. Without a pace, the response is not streamed.
func parsePace(body []byte) (p Pace, found bool) {
	_, rest, _ := bytes.Cut(body, []byte(paceMark))
	text, _, _ := bytes.Cut(rest, []byte(paceMark))
	n, _ := fmt.Sscanf(string(text), "%d %d %d %s", &p.First, &p.Gap, &p.Chunks, &p.Format)
	return p, n == 4
}

// Fixed is a provider for measurements. Its responses are prepared in advance, and it reads only the pace from a request.
type Fixed struct {
	whole   []byte
	streams map[string]fixedStream
}

// fixedStream is a stream: its events before the text, one event with text, and the events after it.
type fixedStream struct{ opening, chunk, ending []byte }

// NewFixed returns a provider whose responses have a typical size: one and a half kilobytes, or a few words in each event.
func NewFixed() *Fixed {
	const words = " and the fox" // one piece in every format
	f := &Fixed{streams: map[string]fixedStream{}}
	call := &Call{usage: true, document: func() node { return node{} }}
	answer := func(text string) *Reply {
		return &Reply{ID: "0", model: "fixed", Usage: Usage{Input: 256, Output: 240}, Parts: []Part{{Kind: TextPart, Text: text, Pieces: []string{text}}}}
	}
	f.whole = Encode(chatBody(call, &Conversation{}, answer(strings.Repeat("A proxy is worth what it does, less what it costs:\nso \"measure\" both. ", 15))))
	for name, format := range map[string]*format{"completions": chatFormat, "messages": messagesFormat, "responses": responsesFormat} {
		var s fixedStream
		for _, frame := range format.frames(call, &Conversation{}, answer(words)) {
			switch {
			case s.chunk == nil && bytes.Contains(frame, []byte(words)):
				s.chunk = append(s.chunk, frame...)
			case s.chunk == nil:
				s.opening = append(s.opening, frame...)
			default:
				s.ending = append(s.ending, frame...)
			}
		}
		f.streams[name] = s
	}
	return f
}

// ServeHTTP implements http.Handler.
func (f *Fixed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client disconnected while sending
	}
	p, found := parsePace(body)
	s, known := f.streams[p.Format]
	if !found || !known {
		writeBody(w, http.StatusOK, "application/json", f.whole)
		return
	}
	w.Header().Set("Content-Type", eventStream)
	if !pause(r.Context(), p.First) || !write(w, s.opening) {
		return
	}
	for i := range p.Chunks {
		if i > 0 && !pause(r.Context(), p.Gap) || !write(w, s.chunk) {
			return
		}
	}
	write(w, s.ending)
}

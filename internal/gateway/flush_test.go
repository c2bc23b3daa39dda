package gateway_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// flushingSink is a client that counts the flushes of the response.
type flushingSink struct {
	sink
	written, flushed strings.Builder
	flushes          int
}

func (s *flushingSink) Write(p []byte) (int, error) { return s.written.Write(p) }

func (s *flushingSink) FlushError() error {
	s.flushes++
	s.flushed.Reset()
	s.flushed.WriteString(s.written.String())
	return nil
}

// packets is a provider whose response arrives in several packets. It records the number of flushes before each read, including the read
// that returns io.EOF.
type packets struct {
	parts   []string
	to      *flushingSink
	flushes []int
}

func (p *packets) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := canned{"", "text/event-stream"}.RoundTrip(req)
	resp.Body = io.NopCloser(p)
	return resp, err
}

func (p *packets) Read(b []byte) (int, error) {
	p.flushes = append(p.flushes, p.to.flushes)
	if len(p.parts) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.parts[0])
	p.parts = p.parts[1:]
	return n, nil
}

const ayeChunk = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Aye. "},"finish_reason":null}]}` + "\n\n"

// streamPackets requests a stream from a provider that responds with the packets.
func streamPackets(t *testing.T, parts ...string) (*packets, *flushingSink) {
	t.Helper()
	w := &flushingSink{sink: sink{header: http.Header{}}}
	from := &packets{to: w, parts: parts}
	k := newKit(t, func(k *kit) { k.inside = true })
	alpha, _ := k.snapshot.Provider("alpha")
	k.only(alpha, from)
	k.gateway.ServeHTTP(w, k.request(http.MethodPost, "/chat/completions", streaming("large")))
	return from, w
}

func TestEventsThatArriveTogetherAreSentTogether(t *testing.T) {
	t.Parallel()
	from, w := streamPackets(t, ayeChunk, ayeChunk+ayeChunk+": a comment does not delay the events before it\n\n", ayeChunk,
		strings.Replace(ayeChunk, "null", `"stop"`, 1)+"data: [DONE]\n\n")
	if want := []int{0, 1, 2, 3, 4}; !slices.Equal(from.flushes, want) || w.flushes != 4 {
		t.Errorf("flushes before each read: %v, want %v; %d in total, want 4", from.flushes, want, w.flushes)
	}
	if sent := w.flushed.String(); strings.Count(sent, "Aye.") != 5 || !strings.HasSuffix(sent, "data: [DONE]\n\n") {
		t.Errorf("the client received %q", sent)
	}
}

func TestEventsBeforeAnInterruptionAreSent(t *testing.T) {
	t.Parallel()
	if _, w := streamPackets(t, ayeChunk+ayeChunk+"data: {broken\n\n"); strings.Count(w.flushed.String(), "Aye.") != 2 {
		t.Errorf("the client received %q, want 2 deltas", w.flushed.String())
	}
}

// sink is a client that discards the response.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) FlushError() error           { return nil }

func (s *sink) SetWriteDeadline(time.Time) error { return nil }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }

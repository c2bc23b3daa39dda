package gateway

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"fairlead/internal/bill"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
	"fairlead/internal/response"
	"fairlead/internal/upload"
	"fairlead/internal/wire"
	"fairlead/internal/wire/chat"
)

// discardConn is a client connection without cost.
type discardConn struct{ header http.Header }

func (d discardConn) Header() http.Header            { return d.header }
func (discardConn) Write(p []byte) (int, error)      { return len(p), nil }
func (discardConn) WriteHeader(int)                  {}
func (discardConn) FlushError() error                { return nil }
func (discardConn) SetWriteDeadline(time.Time) error { return nil }

// discarding returns the delivery of a stream to a client without cost.
func discarding(t testing.TB) *delivery {
	t.Helper()
	out := response.NewWriter(discardConn{http.Header{}}, chat.Format{}.Framing(), time.Minute, false)
	out.StartStream(time.Hour, time.Hour)
	t.Cleanup(func() { out.StopKeepAlive() })
	req := &llm.Request{Op: llm.Chat, Stream: true}
	rec := &recorder{
		entry: &requestlog.Entry{BodyState: requestlog.BodyStored}, start: time.Now(), out: out, req: req, settings: &Settings{},
		buffer: response.Buffer{Limit: 1 << 30},
	}
	return &delivery{plan: plan{prompt: &prompt{req: req}}, rec: rec, out: out}
}

// waitedStream is a stream of a few events whose reader must wait for each of them.
type waitedStream struct {
	t      *testing.T
	left   int
	waited bool
	frames int // maximum stack depth while waiting
}

func (s *waitedStream) Wait() {
	s.waited = true
	s.frames = max(s.frames, runtime.Callers(2, make([]uintptr, 64)))
}

func (s *waitedStream) Next() (llm.Event, bool, error) {
	if !s.waited {
		s.t.Error("an event was read without waiting for it")
	}
	s.waited = false
	s.left--
	return llm.Event{Data: []byte(`{}`), Content: true}, s.left >= 0, nil
}

// Very many streams wait at the same time, each with the stack frames between its handler and the wait.
func TestOpenStreamWaitsNearItsHandler(t *testing.T) {
	t.Parallel()
	d, stream := discarding(t), &waitedStream{t: t, left: 3}
	outside := runtime.Callers(1, make([]uintptr, 64))
	if err := d.deliver(stream, &bill.UsageCounter{}); err != nil {
		t.Fatal(err)
	}
	if inside := stream.frames - outside; inside > 1 { // deliver
		t.Errorf("an open stream has %d more calls on its stack", inside)
	}
}

// BenchmarkSend delivers one event of a stream and stores it for the log.
func BenchmarkSend(b *testing.B) {
	d := discarding(b)
	ev := llm.Event{Content: true, Data: []byte(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Aye. "},"finish_reason":null}]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.send(&ev); err != nil {
			b.Fatal(err)
		}
		if d.rec.buffer.Size() > 8<<10 {
			d.rec.buffer.Reset()
		}
	}
}

// undecodable is a format whose requests must not be decoded.
type undecodable struct {
	wire.Format
	t *testing.T
}

func (u undecodable) DecodeRequest(context.Context, llm.Op, []byte) (*llm.Request, error) {
	u.t.Error("the request of a disconnected client was decoded")
	return &llm.Request{}, nil
}

func TestRequestOfADisconnectedClientIsNotDecoded(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	leave()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	in := &incoming{http: r, route: Route{Format: undecodable{t: t}}}
	_, err = (&Gateway{}).decodeBody(in, "", &upload.Body{Bytes: make([]byte, upload.Large)})
	if err == nil || llm.AsError(err).Kind != llm.ClientCancelled {
		t.Errorf("got %v", err)
	}
}

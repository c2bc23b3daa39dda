package gateway

import (
	"context"
	"net/http"
	"testing"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/modelapi"
	"fairlead.dev/internal/recording"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/upload"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/chat"
)

// discardConn is a client connection that discards all data.
type discardConn struct{ header http.Header }

func (d discardConn) Header() http.Header            { return d.header }
func (discardConn) Write(p []byte) (int, error)      { return len(p), nil }
func (discardConn) WriteHeader(int)                  {}
func (discardConn) FlushError() error                { return nil }
func (discardConn) SetWriteDeadline(time.Time) error { return nil }

// discarding returns the delivery of a stream to a client that discards all data.
func discarding(t testing.TB) *delivery {
	t.Helper()
	out := response.NewWriter(discardConn{http.Header{}}, chat.Format{}.Framing(), time.Minute, false)
	out.StartStream(time.Hour, time.Hour)
	t.Cleanup(func() { out.StopKeepAlive() })
	req := &llm.Request{Op: llm.Chat, ResponseOptions: llm.ResponseOptions{Stream: true}}
	in := &modelapi.Request{HTTP: &http.Request{}, Route: modelapi.Route{Format: chat.Format{}}, Start: time.Now(), Settings: &modelapi.Settings{}}
	rec := recording.New(in, out)
	rec.Entry.BodyState, rec.Req, rec.Buffer.Limit = requestlog.BodyStored, req, 1<<30
	return &delivery{in: &incoming{Request: *in}, plan: plan{prompt: &prompt{req: req}}, rec: rec, out: out}
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
		if d.rec.Buffer.Size() > 8<<10 {
			d.rec.Buffer.Reset()
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
	in := &incoming{Request: modelapi.Request{HTTP: r, Route: modelapi.Route{Format: undecodable{t: t}}}}
	_, err = (&Gateway{}).decodeBody(in, "", &upload.Body{Bytes: make([]byte, upload.Large)})
	if err == nil || llm.AsError(err).Kind != llm.ClientCancelled {
		t.Errorf("got %v, want ClientCancelled", err)
	}
}

package gateway

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/llm"
	"fairlead/internal/requestlog"
	"fairlead/internal/wire/chat"
)

// nowhere is a client's connection that costs nothing.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header            { return n.header }
func (nowhere) Write(p []byte) (int, error)      { return len(p), nil }
func (nowhere) WriteHeader(int)                  {}
func (nowhere) FlushError() error                { return nil }
func (nowhere) SetWriteDeadline(time.Time) error { return nil }
func (nowhere) SetReadDeadline(time.Time) error  { return nil }

// stepping is an exchange to try single steps with.
func stepping(stream bool) *exchange {
	to := nowhere{http.Header{}}
	return &exchange{
		op: llm.Chat, req: &llm.Request{Stream: stream}, start: time.Now(),
		settings: &Settings{BodyLimit: 1 << 30, MaxBody: 1 << 20, MaxBuffered: 8 << 20, BodyPause: time.Minute},
		grant:    &account.Grant{Key: &account.Key{}, Workspace: &account.Workspace{ID: "w"}},
		entry:    &requestlog.Entry{BodyState: requestlog.BodyStored},
		w:        &client{w: to, rc: http.NewResponseController(to), format: chat.Format{}, stream: stream, patient: time.Minute},
	}
}

// BenchmarkReadBody is the step that reads a request of 1 KB.
func BenchmarkReadBody(b *testing.B) {
	g, x, text := &Gateway{}, stepping(false), bytes.Repeat([]byte("x"), 1<<10)
	x.r = &http.Request{Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(text))}
	b.ReportAllocs()
	for b.Loop() {
		x.r.Body = io.NopCloser(bytes.NewReader(text))
		_, release, err := g.readBody(x)
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}

// BenchmarkDeliver is the step that passes one chunk of a stream on and keeps it for the log.
func BenchmarkDeliver(b *testing.B) {
	x := stepping(true)
	ev := llm.Event{Content: true, Data: []byte(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Aye. "},"finish_reason":null}]}`)}
	b.ReportAllocs()
	for b.Loop() {
		if err := x.deliver(&ev); err != nil {
			b.Fatal(err)
		}
		if x.kept.size > 8<<10 {
			x.kept = scroll{}
		}
	}
}

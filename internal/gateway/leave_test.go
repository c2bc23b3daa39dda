package gateway_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire/strict"
)

// leaver is a client that disconnects before the last bytes are written.
type leaver struct {
	*httptest.ResponseRecorder
	last []byte
}

func (l *leaver) Write(data []byte) (int, error) {
	if bytes.Contains(data, l.last) {
		return 0, syscall.EPIPE
	}
	return l.ResponseRecorder.Write(data)
}

// The entry is on disk before the last byte is sent. A later disconnect neither changes the entry nor adds a second entry.
func TestDisconnectDuringTheLastBytesLeavesOneEntry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, last string }{
		"whole":    {hello, `"choices"`},
		"streamed": {streaming("large"), "[DONE]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			w := &leaver{httptest.NewRecorder(), []byte(c.last)}

			k.gateway.ServeHTTP(w, k.request(http.MethodPost, "/chat/completions", c.body))

			if e := k.entry(); e.Outcome != requestlog.OK || e.Error != nil {
				t.Errorf("recorded as %s, %+v", e.Outcome, e.Error)
			}
			if n := len(k.log.ended); n != 0 {
				t.Errorf("%d more entries were recorded, want 0", n)
			}
		})
	}
}

// endingContext is a context that is cancelled after the given number of calls to Err.
type endingContext struct {
	context.Context
	checks atomic.Int64
}

func (c *endingContext) Err() error {
	if c.checks.Add(-1) >= 0 {
		return nil
	}
	return context.Canceled
}

// TestDisconnectDuringDecodingIsRecordedAsCancelled ends the context of a large request at every check until the
// request is served. The entry must not report an invalid request.
func TestDisconnectDuringDecodingIsRecordedAsCancelled(t *testing.T) {
	t.Parallel()
	message := `{"role":"user","content":"` + strings.Repeat("text ", 2000) + `"}`
	list := "[" + strings.Repeat(message+",", 79) + message + "]"
	for path, body := range map[string]string{
		"/chat/completions": `{"model":"large","messages":` + list + `}`,
		"/messages":         `{"model":"large","max_tokens":9,"messages":` + list + `}`,
		"/responses":        `{"model":"large","input":` + list + `}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			k := newKit(t)
			cancelled := 0
			for n := int64(0); ; n++ {
				r := k.request(http.MethodPost, path, body)
				ctx := &endingContext{Context: r.Context()}
				ctx.checks.Store(n)
				k.gateway.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
				e := k.entry()
				if e.Outcome == requestlog.OK {
					break
				}
				if e.Outcome != requestlog.Cancelled || len(e.Attempts) > 0 {
					t.Fatalf("after %d checks: recorded as %s with %d attempts: %+v", n, e.Outcome, len(e.Attempts), e.Error)
				}
				cancelled++
			}
			if least := len(body) / strict.PollBytes; cancelled < least {
				t.Errorf("the context was checked %d times, want at least %d", cancelled, least)
			}
		})
	}
}

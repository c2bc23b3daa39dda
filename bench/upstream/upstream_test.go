package upstream

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// serve starts an upstream and returns a function that sends requests to it.
func serve(t *testing.T) (ask func(body string) (*http.Response, string)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- Serve(ctx, ln) }()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t)
	})
	return func(body string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+ln.Addr().String()+"/v1/chat/completions", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, string(text)
	}
}

func TestResponsesAreWellFormed(t *testing.T) {
	ask := serve(t)
	for range 2 { // the second request uses the same connection
		resp, whole := ask(`{"messages":[{"content":"hello"}]}`)
		if resp.StatusCode != http.StatusOK || !json.Valid([]byte(whole)) || len(whole) < 1400 || len(whole) > 1800 {
			t.Errorf("got status %s and %d bytes, want 200 OK and 1400 to 1800 bytes of JSON: %s", resp.Status, len(whole), whole)
		}
	}
	resp, stream := ask(`{"messages":[{"content":"` + Pace{First: time.Microsecond, Gap: time.Microsecond, Chunks: 7}.String() + `hello"}]}`)
	events := strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n")
	if resp.Header.Get("Content-Type") != "text/event-stream" || len(events) != 1+7+3 || events[10] != "data: [DONE]" {
		t.Errorf("got the headers %v and the events %q, want an event stream of 11 events with [DONE] at the end", resp.Header, events)
	}
	for _, e := range events[:10] {
		if data, ok := strings.CutPrefix(e, "data: "); !ok || !json.Valid([]byte(data)) {
			t.Errorf("event %q is not JSON data", e)
		}
	}
}

func TestPaceIsFoundInASplitBody(t *testing.T) {
	t.Parallel()
	want := Pace{First: 50 * time.Millisecond, Gap: time.Second, Chunks: 12, Format: "chat"}
	body := `{"content":"` + want.String() + `and a prompt"}`
	for i := range body {
		for j := i; j < len(body); j++ {
			var w paceReader
			for _, part := range []string{body[:i], body[i:j], body[j:]} {
				w.read([]byte(part))
			}
			if got, streams := w.pace(); got != want || !streams {
				t.Fatalf("body cut at %d and %d: pace() = %+v, %v, want %+v, true", i, j, got, streams, want)
			}
		}
	}
	var none paceReader
	none.read([]byte(`{"content":"1 2 3"}`))
	if got, streams := none.pace(); streams {
		t.Errorf("pace() = %+v, true for a prompt without a pace, want false", got)
	}
}

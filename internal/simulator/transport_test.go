package simulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

func TestTransportStopsTheHandler(t *testing.T) {
	t.Parallel()
	ways := map[string]func(cancel context.CancelFunc, resp *http.Response){
		"cancelled": func(cancel context.CancelFunc, _ *http.Response) { cancel() },
		"closed":    func(_ context.CancelFunc, resp *http.Response) { _ = resp.Body.Close() },
	}
	handlers := map[string]func(w http.ResponseWriter, r *http.Request){
		"waiting": func(w http.ResponseWriter, r *http.Request) { write(w, nil); <-r.Context().Done() },
		"writing": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := io.WriteString(w, "more"); err != nil {
					return
				}
			}
		},
	}
	for way, leave := range ways {
		for what, handler := range handlers {
			t.Run(way+" while "+what, func(t *testing.T) {
				t.Parallel()
				ended := make(chan struct{})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://mock.test/", strings.NewReader("x"))
				resp, err := Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(ended)
					_, _ = io.Copy(io.Discard, r.Body) // a server detects a disconnect after it has read the body
					handler(w, r)
				})).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				leave(cancel, resp)
				await(t, ended)
				if _, err := io.Copy(io.Discard, resp.Body); err == nil {
					t.Error("the stopped body ended without an error")
				}
			})
		}
	}
}

// A call that a provider breaks off fails like a call over the network.
func TestTransportFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    error
	}{
		"reset":             {func(w http.ResponseWriter, _ *http.Request) { Reset(w) }, syscall.ECONNRESET},
		"abort in the body": {func(w http.ResponseWriter, _ *http.Request) { write(w, []byte("begun")); panic(http.ErrAbortHandler) }, io.ErrUnexpectedEOF},
		"panic":             {func(http.ResponseWriter, *http.Request) { panic("boom") }, io.EOF},
	} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mock.test/", strings.NewReader("x"))
		resp, err := Transport(c.handler).RoundTrip(req)
		if err == nil {
			_, err = readAll(resp)
		}
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error = %v, want %v", name, err, c.want)
		}
	}
}

package simulator

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"syscall"
	"testing"
)

func TestTransportMatchesARealServer(t *testing.T) {
	t.Parallel()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Answer", r.Header.Get("X-Question"))
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, r.Method+" "+r.URL.Path+"?"+r.URL.RawQuery+" "+string(body))
		w.Header().Set("X-Late", "ignored")
		w.WriteHeader(http.StatusOK) // the call comes too late and has no effect
	})
	server := httptest.NewUnstartedServer(h)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	ask := func(rt http.RoundTripper) string {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/a/b?c=d", strings.NewReader("body"))
		req.Header.Set("X-Question", "why")
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := readAll(resp)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join([]string{resp.Status, resp.Header.Get("X-Answer"), resp.Header.Get("X-Late"), resp.Header.Get("Content-Type"), body}, "|")
	}
	over := &http.Transport{}
	defer over.CloseIdleConnections()
	if got, want := ask(Transport(h)), ask(over); got != want {
		t.Errorf("in-process response %q, over the network %q", got, want)
	}
}

func TestTransportStreams(t *testing.T) {
	t.Parallel()
	step := make(chan struct{})
	resp := post(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		for range 2 {
			<-step
			_, _ = io.WriteString(w, "tick")
		}
	}), "/", "")
	defer func() { _ = resp.Body.Close() }()
	for range 2 { // each piece arrives before the handler may write the next one
		step <- struct{}{}
		if _, err := io.ReadFull(resp.Body, make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := resp.Body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("read at the end = %d bytes, %v; want 0, io.EOF", n, err)
	}
}

func TestTransportStopsTheHandler(t *testing.T) {
	t.Parallel()
	ways := map[string]func(cancel context.CancelFunc, resp *http.Response){
		"cancelled": func(cancel context.CancelFunc, _ *http.Response) { cancel() },
		"closed":    func(_ context.CancelFunc, resp *http.Response) { _ = resp.Body.Close() },
	}
	handlers := map[string]func(w http.ResponseWriter, r *http.Request){
		"waiting": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusOK); <-r.Context().Done() },
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
					handler(w, r)
				})).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = resp.Body.Close() }()
				leave(cancel, resp)
				await(t, ended)
				if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
					t.Error("a read from the stopped body returned no error")
				}
			})
		}
	}
}

func TestTransportCancelledBeforeTheStatus(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://mock.test/", strings.NewReader("x"))
	_, err := Transport(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		defer close(ended)
		cancel()
		<-r.Context().Done()
	})).RoundTrip(req)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want context.Canceled", err)
	}
	await(t, ended)
}

func TestTransportPanics(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		value   any
		started bool
		want    error
		words   string
	}{
		{"abort before the status", http.ErrAbortHandler, false, syscall.ECONNRESET, ""},
		{"abort in the body", http.ErrAbortHandler, true, io.ErrUnexpectedEOF, ""},
		{"panic before the status", "boom", false, nil, "boom"},
		{"panic in the body", "boom", true, nil, "boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://mock.test/", http.NoBody)
			resp, err := Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tt.started {
					_, _ = io.WriteString(w, "begun")
				}
				panic(tt.value)
			})).RoundTrip(req)
			if tt.started {
				if err != nil {
					t.Fatal(err)
				}
				_, err = readAll(resp)
			}
			if err == nil || (tt.want != nil && !errors.Is(err, tt.want)) || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("error = %v, want %v with %q", err, tt.want, tt.words)
			}
		})
	}
}

func TestTransportTraces(t *testing.T) {
	t.Parallel()
	steps := ""
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GotConn:              func(httptrace.GotConnInfo) { steps += "connected " },
		GotFirstResponseByte: func() { steps += "answered" },
	})
	req, _ := http.NewRequestWithContext(ctx, http.MethodHead, "http://mock.test/", http.NoBody)
	resp, err := Transport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "no body for HEAD") })).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if body, err := readAll(resp); body != "" || err != nil {
		t.Errorf("HEAD: body %q, error %v; want no body", body, err)
	}
	if steps != "connected answered" {
		t.Errorf("trace = %q, want connected answered", steps)
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// streamEvents is how many pieces a streamed answer has.
const streamEvents = 50

// serveUpstream is a provider that costs next to nothing: the same answer to everybody.
func serveUpstream(ctx context.Context, out io.Writer) error {
	text := strings.Repeat("Aye, aye. ", 120)
	whole := fmt.Appendf(nil, `{"id":"chatcmpl-bench","object":"chat.completion","created":1,"model":"bench","choices":[{"index":0,`+
		`"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":250,"completion_tokens":300,"total_tokens":550}}`, text)
	events := streamed()
	return serve(ctx, out, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if !bytes.Contains(body[:min(len(body), 200)], []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(whole) // a caller that is gone is not measured
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		for _, event := range events {
			if _, err := w.Write(event); err != nil {
				return
			}
			if err := rc.Flush(); err != nil {
				return
			}
		}
	}))
}

func streamed() [][]byte {
	const chunk = `data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":{"content":"Aye, aye. "},"finish_reason":%s}]}` + "\n\n"
	var events [][]byte
	for range streamEvents - 1 {
		events = append(events, fmt.Appendf(nil, chunk, "null"))
	}
	return append(events, fmt.Appendf(nil, chunk, `"stop"`),
		[]byte(`data: {"id":"chatcmpl-bench","object":"chat.completion.chunk","created":1,"model":"bench","choices":[],"usage":{"prompt_tokens":250,"completion_tokens":150,"total_tokens":400}}`+"\n\n"),
		[]byte("data: [DONE]\n\n"))
}

// serveFloor is the reference: a key check, the body read whole, and the standard library's reverse proxy.
func serveFloor(ctx context.Context, args []string, out io.Writer) error {
	if len(args) != 1 {
		return errors.New("floor needs the address of the upstream")
	}
	target := &url.URL{Scheme: "http", Host: args[0]}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // callers leave when their time is up
	}
	return serve(ctx, out, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer bench" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		// Answering while the body still arrives makes net/http close it under the transport and lose short streams.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
}

// serve prints the address and answers until ctx ends.
func serve(ctx context.Context, out io.Writer, h http.Handler) error {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Fprintln(out, ln.Addr())
	server := &http.Server{Handler: h}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

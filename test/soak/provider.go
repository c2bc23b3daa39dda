package soak

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

const (
	step   = 50 * time.Millisecond // time until a response, and between two events
	events = 600                   // events per stream: half a minute
)

const (
	usage = `"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`
	whole = `{"id":"x","object":"chat.completion","model":"steady","choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],` + usage + `}`
	event = `data: {"id":"x","object":"chat.completion.chunk","model":"steady","choices":[{"index":0,"delta":{"content":"word "}}]}` + "\n\n"
	last  = `data: {"id":"x","object":"chat.completion.chunk","model":"steady","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" +
		`data: {"id":"x","object":"chat.completion.chunk","model":"steady","choices":[],` + usage + "}\n\ndata: [DONE]\n\n"
)

// provider responds to a non-streamed request after one step, and sends a stream event with each step.
type provider struct{}

func (provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Stream bool }
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		return
	}
	if !asked.Stream {
		if pause(r.Context(), step) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, whole) // a disconnected client does not read it
		}
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for range events {
		if _, err := io.WriteString(w, event); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush() // the next write detects a disconnect
		if !pause(r.Context(), step) {
			return
		}
	}
	_, _ = io.WriteString(w, last)
}

// pause waits for d. It returns false if the context is done first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

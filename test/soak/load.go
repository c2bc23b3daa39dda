package soak

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// limit is the timeout of one request. A stream of words takes half a minute.
const (
	limit      = 2 * time.Minute
	words      = 600
	streamTime = words * 50 * time.Millisecond
)

// load is traffic at a constant rate, independent of response times.
type load struct {
	gateway *harness.Gateway
	key     string
	client  *http.Client
	running sync.WaitGroup

	mu                         sync.Mutex
	requests, streamed, failed int64
	first                      string // the first failure
}

func newLoad(g *harness.Gateway, key string) *load {
	// Idle connections are closed soon. Otherwise, connections that were opened during a slow moment would count as growth.
	transport := &http.Transport{MaxIdleConnsPerHost: 1000, IdleConnTimeout: 5 * time.Second, DisableCompression: true}
	return &load{gateway: g, key: key, client: &http.Client{Transport: transport}}
}

// start sends requests in the background until the context is done. Then open streams are closed, and other requests in flight continue.
func (l *load) start(ctx context.Context, rate, streams int) {
	l.running.Go(func() {
		tick := time.NewTicker(time.Second / time.Duration(rate))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				l.running.Go(func() {
					l.send(context.WithoutCancel(ctx), &l.requests, scenario.Chat("plain"), `"finish_reason":"stop"`)
				})
			}
		}
	})
	for i := range streams {
		l.running.Go(func() {
			// Streams that start together would always end together, so the first stream of each client ends after a
			// different time.
			first, leave := context.WithTimeout(ctx, time.Duration(i)*streamTime/time.Duration(streams))
			l.send(first, &l.streamed, scenario.Chat("plain", scenario.Streaming), "data: [DONE]")
			leave()
			for ctx.Err() == nil {
				l.send(ctx, &l.streamed, scenario.Chat("plain", scenario.Streaming), "data: [DONE]")
			}
		})
	}
}

// send sends a request and counts it. The response must contain want, unless ctx is done first.
func (l *load) send(ctx context.Context, count *int64, body, want string) {
	text, err := l.read(ctx, body)
	if ctx.Err() != nil {
		return
	}
	if err == nil && !strings.Contains(text, want) {
		err = fmt.Errorf("incomplete response: …%s", text[max(0, len(text)-200):])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if *count++; err != nil {
		if l.failed++; l.failed == 1 {
			l.first = err.Error()
		}
	}
}

func (l *load) read(ctx context.Context, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := scenario.Post(ctx, l.gateway, l.key, body)
	if err != nil {
		return "", err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", resp.StatusCode, data)
	}
	return string(data), err
}

// end waits for requests in flight.
func (l *load) end() {
	l.running.Wait()
	l.client.CloseIdleConnections()
}

package soak

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fairlead.dev/test/harness"
)

// limit is the timeout of one request. A stream takes slightly more than thirty seconds.
const limit = 2 * time.Minute

// Traffic summarises the load.
type Traffic struct {
	Took     time.Duration
	Requests int64 // non-streamed requests
	Streamed int64 // completed streams
	Failed   int64
	First    string // the first failure
	P50, P99 time.Duration
}

// Rate returns the number of non-streamed requests per second.
func (t Traffic) Rate() float64 { return float64(t.Requests) / t.Took.Seconds() }

// String returns a summary of the traffic.
func (t Traffic) String() string {
	return fmt.Sprintf("%d requests and %d streams, %d failed, p50 %s, p99 %s", t.Requests, t.Streamed, t.Failed,
		t.P50.Round(100*time.Microsecond), t.P99.Round(100*time.Microsecond))
}

// load is traffic at a constant rate, independent of response times.
type load struct {
	gateway *harness.Gateway
	key     string
	client  *http.Client
	running sync.WaitGroup

	streamed atomic.Int64
	mu       sync.Mutex
	times    []time.Duration
	failed   int64
	first    string
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
				l.running.Go(l.plain)
			}
		}
	})
	for i := range streams {
		l.running.Go(func() {
			// Streams that start together would always end together, so the first stream of each client ends after a
			// different time.
			first, leave := context.WithTimeout(ctx, time.Duration(i)*step*events/time.Duration(streams))
			l.stream(first)
			leave()
			for ctx.Err() == nil {
				l.stream(ctx)
			}
		})
	}
}

func (l *load) plain() {
	began := time.Now()
	data, err := l.send(context.Background(), `{"model":"steady","messages":[{"role":"user","content":"Hello"}]}`)
	if err == nil && !bytes.Contains(data, []byte(`"finish_reason":"stop"`)) {
		err = fmt.Errorf("incomplete response: %.200s", data)
	}
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = append(l.times, took)
	l.note(err)
}

// stream reads one stream to its end, or closes it when the context is cancelled.
func (l *load) stream(ctx context.Context) {
	data, err := l.send(ctx, `{"model":"steady","stream":true,"messages":[{"role":"user","content":"Hello"}]}`)
	if ctx.Err() != nil {
		return
	}
	if err == nil && !bytes.HasSuffix(data, []byte("data: [DONE]\n\n")) {
		err = fmt.Errorf("incomplete stream: …%s", data[max(0, len(data)-200):])
	}
	l.streamed.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note(err)
}

func (l *load) note(err error) {
	if err == nil {
		return
	}
	if l.failed == 0 {
		l.first = err.Error()
	}
	l.failed++
}

func (l *load) send(ctx context.Context, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.gateway.BaseURL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+l.key)
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %.200s", resp.StatusCode, data)
	}
	return data, err
}

// end waits for requests in flight.
func (l *load) end() {
	l.running.Wait()
	l.client.CloseIdleConnections()
}

func (l *load) traffic(took time.Duration) Traffic {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Traffic{Took: took, Requests: int64(len(l.times)), Streamed: l.streamed.Load(), Failed: l.failed, First: l.first}
	if n := len(l.times); n > 0 {
		slices.Sort(l.times)
		t.P50, t.P99 = l.times[n/2], l.times[min(n-1, n*99/100)]
	}
	return t
}

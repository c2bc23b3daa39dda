package harness

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client has no timeout. Calls end when the test's context is done.
var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, DisableCompression: true}}

// Request is one call to the gateway.
type Request struct {
	Method string // HTTP method; default POST
	Path   string // path from the root; the default of a POST is chat completions
	Key    string // sent as a bearer token when not empty
	Body   string
	Host   string      // Host header; the gateway's address when empty
	Header http.Header // headers that are added last
}

// Answer is a complete response.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Call sends a request and reads the complete response.
func (g *Gateway) Call(t testing.TB, r Request) Answer {
	t.Helper()
	resp := g.Open(t, r)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the response of %s: %v", r.Path, err)
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// Open sends a request and returns the response as soon as its headers arrive. It is used for streams. Closing the body disconnects
// the client.
func (g *Gateway) Open(t testing.TB, r Request) *http.Response {
	t.Helper()
	path := cmp.Or(r.Path, "/proxy/v1/chat/completions")
	req, err := http.NewRequestWithContext(t.Context(), cmp.Or(r.Method, http.MethodPost), g.URL()+path, strings.NewReader(r.Body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if r.Key != "" {
		req.Header.Set("Authorization", "Bearer "+r.Key)
	}
	maps.Copy(req.Header, r.Header)
	req.Host = cmp.Or(r.Host, req.Host)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", req.Method, path, err)
	}
	return resp
}

// Decode reads JSON into v.
func Decode(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("decode JSON: %v\n%s", err, data)
	}
}

// Eventually polls the condition until it holds. It fails the test after a time limit.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out after %s waiting until %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond) // another process cannot be watched with a fake clock
	}
}

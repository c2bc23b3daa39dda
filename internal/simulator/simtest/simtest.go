// Package simtest sends requests to in-process providers and decodes their responses, for tests.
package simtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"
	"time"

	"fairlead.dev/internal/simulator/inprocess"
	"fairlead.dev/internal/simulator/openai"
)

// Post sends a body to a handler in the same process.
func Post(t *testing.T, h http.Handler, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mock.test"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := inprocess.Transport(h).RoundTrip(req)
	if err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
	return resp
}

// ReadAll reads the body to its end and closes it. It returns the text read before an error together with the error.
func ReadAll(resp *http.Response) (string, error) {
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// Error sends a request that must fail, and decodes the error.
func Error(t *testing.T, h http.Handler, path, body string) (status int, e openai.Error) {
	t.Helper()
	resp := Post(t, h, path, body)
	defer resp.Body.Close()
	text, err := ReadAll(resp)
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ Error openai.Error }
	if err := json.Unmarshal([]byte(text), &object); err != nil || object.Error.Message == "" {
		t.Fatalf("body %q is not an error object: %v", text, err)
	}
	return resp.StatusCode, object.Error
}

// EventData returns the data of each event of a stream.
func EventData(stream string) []string {
	list := []string{}
	lines := bufio.NewScanner(bytes.NewReader([]byte(stream)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			list = append(list, strings.TrimPrefix(data, " "))
		}
	}
	return list
}

// Wait waits until event is closed or receives a value. It fails the test after 10 seconds.
func Wait(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(10 * time.Second):
		t.Fatal("timed out after 10 s")
	}
}

// UserPrompt returns the body of a chat request with one user message. more holds further members, each preceded by a comma.
func UserPrompt(model, prompt, more string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":` + string(openai.Encode(prompt)) + `}]` + more + `}`
}

// QuietLogger returns a logger that discards net/http's messages about errors that tests cause deliberately.
func QuietLogger() *log.Logger { return log.New(io.Discard, "", 0) }

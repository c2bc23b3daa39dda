package mockprovider

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call sends a body to a handler in the process.
func call(t *testing.T, h http.Handler, path, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://mock.test"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := Transport(h).RoundTrip(req)
	if err != nil {
		t.Fatalf("POST %s: %v", path, err)
	}
	return resp
}

// readAll returns the whole body and what ended it.
func readAll(resp *http.Response) (string, error) {
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// chat sends a chat request and decodes the whole answer.
func chat(t *testing.T, h http.Handler, body string) completion {
	t.Helper()
	resp := call(t, h, "/v1/chat/completions", body)
	text, err := readAll(resp)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d, error %v, body %s", resp.StatusCode, err, text)
	}
	var whole completion
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return whole
}

// refused sends a request that must fail, and decodes the error.
func refused(t *testing.T, h http.Handler, path, body string) (status int, e apiError) {
	t.Helper()
	resp := call(t, h, path, body)
	text, err := readAll(resp)
	if err != nil {
		t.Fatal(err)
	}
	var object struct{ Error apiError }
	if err := json.Unmarshal([]byte(text), &object); err != nil || object.Error.Message == "" {
		t.Fatalf("body %q is no error object: %v", text, err)
	}
	return resp.StatusCode, object.Error
}

// chunks sends a streamed chat request and decodes its events; done says whether [DONE] came.
func chunks(t *testing.T, h http.Handler, body string) (list []chunk, done bool) {
	t.Helper()
	resp := call(t, h, "/v1/chat/completions", body)
	text, err := readAll(resp)
	if err != nil || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("type %s, error %v, body %s", resp.Header.Get("Content-Type"), err, text)
	}
	for _, data := range eventData(text) {
		if data == "[DONE]" {
			return list, true
		}
		var c chunk
		if err := json.Unmarshal([]byte(data), &c); err != nil {
			t.Fatalf("decode %s: %v", data, err)
		}
		list = append(list, c)
	}
	return list, false
}

func eventData(stream string) []string {
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

func wait(t *testing.T, event <-chan struct{}) {
	t.Helper()
	select {
	case <-event:
	case <-time.After(10 * time.Second):
		t.Fatal("waited 10 s in vain")
	}
}

func user(model, prompt, more string) string {
	return `{"model":"` + model + `","messages":[{"role":"user","content":` + string(encode(prompt)) + `}]` + more + `}`
}

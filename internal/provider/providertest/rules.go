package providertest

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// plainCall returns a call with the simplest request that the provider supports.
func (s *suite) plainCall(t *testing.T) (provider.Exchange, *provider.Call) {
	t.Helper()
	for _, name := range []string{"plain", "embed_float"} {
		if exchange, call, ok := s.call(t, name); ok {
			return exchange, call
		}
	}
	t.Fatal("the provider supports no operation")
	return nil, nil
}

// classifiesStatuses checks that a failure is classified as caused by the provider or the request, never by the gateway,
// and keeps its status.
func (s *suite) classifiesStatuses(t *testing.T) {
	t.Parallel()
	exchange, call := s.plainCall(t)
	want := map[int]llm.Kind{
		401: llm.UpstreamAuth, 402: llm.UpstreamAuth, 403: llm.UpstreamDenied, 404: llm.UpstreamNotFound, 429: llm.UpstreamRateLimited,
		500: llm.UpstreamServer, 502: llm.UpstreamServer, 503: llm.UpstreamOverloaded, 529: llm.UpstreamOverloaded, 400: llm.UpstreamRejected, 422: llm.UpstreamRejected,
	}
	for status := 300; status < 600; status++ {
		for _, body := range []string{"", "{}", "<html>no</html>", `{"error":` + strings.Repeat("[", 100), "null", `{"error":"the key ` + secret + ` is wrong"}`} {
			failure := failureOf(exchange, call, status, body)
			if failure == nil || failure.UpstreamStatus != status || !failure.Kind.FromUpstream() {
				t.Fatalf("status %d with body %.20q: error %+v, want an upstream error with the status", status, body, failure)
			}
			if kind, known := want[status]; known && failure.Kind != kind {
				t.Errorf("status %d with body %.20q: kind %q, want %q", status, body, failure.Kind, kind)
			}
			if failure.Message == "" {
				t.Errorf("status %d with body %.20q: the error has no message", status, body)
			}
			if strings.Contains(string(line(explain(failure))), secret) {
				t.Errorf("status %d: the error contains the secret", status)
			}
		}
	}
}

// rejectsInvalidResponses checks that an invalid 2xx response is an error, never a normal end.
func (s *suite) rejectsInvalidResponses(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"plain", "stream", "embed_float"} {
		for _, body := range []string{"", "null", "[]", "{}", "<html>ok</html>", "data: [DONE]\n\n", `{"choices":`, `"text"`, ": nothing\n\n"} {
			exchange, call, ok := s.call(t, name)
			if !ok {
				continue
			}
			content, failed := read(exchange, call, body)
			if content {
				t.Errorf("%s: the invalid body %q gave content", name, body)
			}
			if !failed {
				t.Errorf("%s: the invalid body %q gave no error", name, body)
			}
		}
	}
}

func failureOf(exchange provider.Exchange, call *provider.Call, status int, body string) *llm.Error {
	resp := answer(status, body)
	defer resp.Body.Close()
	return exchange.Failure(call, resp)
}

// read reports whether a 2xx response with the given body has content, and whether it ends with an error.
func read(exchange provider.Exchange, call *provider.Call, body string) (content, failed bool) {
	resp := answer(http.StatusOK, body)
	defer resp.Body.Close()
	for ev, err := range llm.All(exchange.Events(call, resp)) {
		content = content || ev.Content
		failed = failed || err != nil
	}
	return content, failed
}

func answer(status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

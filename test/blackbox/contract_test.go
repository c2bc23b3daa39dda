package blackbox

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"fairlead.dev/internal/simulator"
	"fairlead.dev/test/harness"
)

func TestModelAPIRejectsInvalidRequests(t *testing.T) {
	t.Parallel()
	g, mock := serve(t, "limits: {body: 4KiB}")
	k := g.Key(t)
	const completions = "/proxy/v1/chat/completions"
	tests := []struct {
		name   string
		req    harness.Request
		status int
		code   string
		param  string
	}{
		{"no key", harness.Request{Body: chat(small)}, 401, "MISSING_API_KEY", ""},
		{"a key of another vendor", harness.Request{Key: "sk-1234567890", Body: chat(small)}, 401, "INVALID_API_KEY", ""},
		{"a mistyped key", harness.Request{Key: k[:len(k)-1] + "!", Body: chat(small)}, 401, "INVALID_API_KEY", ""},
		{"another scheme", harness.Request{Body: chat(small), Header: http.Header{"Authorization": {"Basic " + k}}}, 401, "MISSING_API_KEY", ""},
		{"an unknown path", harness.Request{Path: "/proxy/v1/audio/translations", Key: k, Body: "{}"}, 404, "NOT_FOUND", ""},
		{"no prompt", harness.Request{Path: "/proxy/v1/completions", Key: k, Body: `{"model":"small"}`}, 400, "INVALID_REQUEST", "prompt"},
		{"no input to moderate", harness.Request{Path: "/proxy/v1/moderations", Key: k, Body: "{}"}, 400, "INVALID_REQUEST", "input"},
		{"an unknown path without a key", harness.Request{Path: "/proxy/v1/audio/translations", Body: "{}"}, 404, "NOT_FOUND", ""},
		{"another version", harness.Request{Path: "/proxy/v2/chat/completions", Key: k, Body: chat(small)}, 404, "NOT_FOUND", ""},
		{"the wrong method", harness.Request{Method: "GET", Key: k, Path: completions}, 405, "METHOD_NOT_ALLOWED", ""},
		{"an unknown method", harness.Request{Method: "BREW", Key: k, Path: "/proxy/v1/models"}, 405, "METHOD_NOT_ALLOWED", ""},
		{"a preflight", harness.Request{Method: "OPTIONS", Path: completions, Header: http.Header{"Origin": {"https://page.example"}, "Access-Control-Request-Method": {"POST"}}}, 403, "BROWSER_NOT_ALLOWED", ""},
		{"a call from a web page", harness.Request{Key: k, Body: chat(small), Header: http.Header{"Origin": {"https://page.example"}}}, 403, "BROWSER_NOT_ALLOWED", ""},
		{"a fetch", harness.Request{Key: k, Body: chat(small), Header: http.Header{"Sec-Fetch-Mode": {"cors"}}}, 403, "BROWSER_NOT_ALLOWED", ""},
		{"a form", harness.Request{Key: k, Body: "model=small", Header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"no content type", harness.Request{Key: k, Body: chat(small), Header: http.Header{"Content-Type": nil}}, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"a compressed body", harness.Request{Key: k, Body: "\x1f\x8b", Header: http.Header{"Content-Encoding": {"gzip"}}}, 415, "UNSUPPORTED_MEDIA_TYPE", ""},
		{"a large body", harness.Request{Key: k, Body: chat(small, `"x":"`+strings.Repeat("a", 5000)+`"`)}, 413, "PAYLOAD_TOO_LARGE", ""},
		{"no body", harness.Request{Key: k}, 400, "INVALID_JSON", ""},
		{"broken JSON", harness.Request{Key: k, Body: `{"model":`}, 400, "INVALID_JSON", ""},
		{"trailing data", harness.Request{Key: k, Body: chat(small) + "{}"}, 400, "INVALID_JSON", ""},
		{"a repeated member", harness.Request{Key: k, Body: chat(small, `"model":"large"`)}, 400, "INVALID_REQUEST", "model"},
		{"no messages", harness.Request{Key: k, Body: `{"model":"small"}`}, 400, "INVALID_REQUEST", "messages"},
		{"no model", harness.Request{Key: k, Body: `{"messages":[{"role":"user","content":"x"}]}`}, 400, "INVALID_REQUEST", "model"},
		{"a wrong type", harness.Request{Key: k, Body: chat(small, `"stream":"yes"`)}, 400, "INVALID_REQUEST", "stream"},
		{"an unknown model", harness.Request{Key: k, Body: chat("smal")}, 404, "MODEL_NOT_FOUND", "model"},
		{"an unknown objective", harness.Request{Key: k, Body: chat("auto:beauty")}, 400, "INVALID_REQUEST", "model"},
		{"an impossible trade-off", harness.Request{Key: k, Body: chat("auto"), Header: http.Header{"X-Fairlead-Tradeoff": {"2"}}}, 400, "INVALID_REQUEST", "x-fairlead-tradeoff"},
		{"an unknown provider", harness.Request{Key: k, Body: chat("auto", `"provider":{"only":["nobody"]}`)}, 400, "NO_ROUTE", ""},
		{"max_tokens above every context window", harness.Request{Key: k, Body: chat("auto", `"max_tokens":900000`)}, 400, "CONTEXT_TOO_LONG", ""},
		{"a chat model asked to embed", harness.Request{Path: "/proxy/v1/embeddings", Key: k, Body: `{"model":"small","input":"x"}`}, 400, "NO_ROUTE", ""},
		{"details of an unknown model", harness.Request{Method: "GET", Path: "/proxy/v1/models/none", Key: k}, 404, "MODEL_NOT_FOUND", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer := g.Call(t, tt.req)
			f := wantError(t, answer, tt.status, tt.code)
			if tt.param != "" && f.Details["param"] != tt.param {
				t.Errorf("details.param is %v, want %q", f.Details["param"], tt.param)
			}
			if tt.code == "METHOD_NOT_ALLOWED" && answer.Header.Get("Allow") == "" {
				t.Error("the 405 response has no Allow header")
			}
			noCORS(t, answer.Header)
		})
	}
	if n := len(mock.Calls()); n != 0 {
		t.Errorf("%d rejected requests reached the provider, want 0", n)
	}
}

func noCORS(t *testing.T, h http.Header) {
	t.Helper()
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("the response has the header %s, want no CORS headers", name)
		}
	}
}

func TestOtherPathsReturnTheErrorObject(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := g.Key(t, "--scopes", "manage")
	tests := []struct {
		method, path string
		key          string
		status       int
		code         string
	}{
		{"GET", "/proxy", "", 404, "NOT_FOUND"},
		{"GET", "/proxy/v1", "", 404, "NOT_FOUND"},
		{"POST", "/proxy/v3/x", "", 404, "NOT_FOUND"},
		{"GET", "/api", "", 404, "NOT_FOUND"},
		{"GET", "/api/v1/nothing", k, 404, "NOT_FOUND"},
		{"GET", "/api/v2/requests", k, 404, "NOT_FOUND"},
		{"PUT", "/api/v1/requests", k, 405, "METHOD_NOT_ALLOWED"},
		{"GET", "/api/v1/requests", "", 401, "SIGN_IN_REQUIRED"},
		{"GET", "/api/v1/requests?colour=red", k, 400, "INVALID_REQUEST"},
		{"POST", "/api/v1/keys", k, 400, "INVALID_REQUEST"},
		{"POST", "/health", "", 405, "METHOD_NOT_ALLOWED"},
		{"DELETE", "/readyz", "", 405, "METHOD_NOT_ALLOWED"},
		{"GET", "/metrics", "", 401, "MISSING_API_KEY"},
		{"GET", "/metrics", "fl_nonsense", 401, "INVALID_API_KEY"},
		{"GET", "/assets/none.js", "", 404, "NOT_FOUND"},
		{"GET", "/debug/pprof/", "", 404, "NOT_FOUND"},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			wantError(t, g.Call(t, harness.Request{Method: tt.method, Path: tt.path, Key: tt.key}), tt.status, tt.code)
		})
	}
}

func TestWrongModelAPIPathsAreExplained(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	for _, path := range []string{"/v1/chat/completions", "/chat/completions", "/proxy/chat/completions"} {
		a := g.Call(t, harness.Request{Method: "POST", Path: path, Body: "{}"})
		wantError(t, a, 404, "NOT_FOUND")
		if !strings.Contains(string(a.Body), "below /proxy/v1.") {
			t.Errorf("POST %s: got %s, want the message to mention /proxy/v1", path, a.Body)
		}
	}
}

func TestProviderErrorsAreMapped(t *testing.T) {
	t.Parallel()
	g, mock := serve(t, "retries: {attempts: 1}", "breaker: {failures: 100}")
	k := g.Key(t)
	tests := []struct {
		name      string
		behaviour simulator.Behaviour
		status    int
		code      string
		origin    string
	}{
		{"an unprocessable request", simulator.Fail(422), 422, "PROVIDER_UPSTREAM_ERROR", "client"},
		{"a bad request", simulator.Fail(400), 400, "PROVIDER_UPSTREAM_ERROR", "client"},
		{"a server error", simulator.Fail(500), 502, "PROVIDER_UPSTREAM_ERROR", "provider"},
		{"overload", simulator.Fail(503), 502, "PROVIDER_UPSTREAM_ERROR", "provider"},
		{"a rejected credential", simulator.Fail(401), 502, "PROVIDER_UPSTREAM_ERROR", "provider"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mock.Then(tt.behaviour)
			f := wantError(t, g.Call(t, harness.Request{Key: k, Body: chat(small)}), tt.status, tt.code)
			if f.Details["origin"] != tt.origin || f.Details["attempts"] == nil {
				t.Errorf("details are %v, want the origin %q and attempts", f.Details, tt.origin)
			}
		})
	}
}

func TestNestedErrorsForClientsThatNeedThem(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := g.Key(t)
	for name, h := range map[string]http.Header{
		"requested by a header": {"X-Fairlead-Error-Format": {"openai"}},
		"a newer Go SDK":        {"User-Agent": {"OpenAI/Go 3.53.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			answer := g.Call(t, harness.Request{Key: k, Body: chat("none"), Header: h})
			var body struct {
				Error   struct{ Message, Type, Param, Code string }
				Code    string
				Details map[string]any
			}
			harness.Decode(t, answer.Body, &body)
			if body.Error.Message == "" || body.Error.Type == "" || body.Error.Code != "MODEL_NOT_FOUND" || body.Code != "MODEL_NOT_FOUND" || body.Details["request_id"] == nil {
				t.Errorf("got %s, want a nested error with MODEL_NOT_FOUND, and the code and request_id of the gateway", answer.Body)
			}
		})
	}
	old := g.Call(t, harness.Request{Key: k, Body: chat("none"), Header: http.Header{"User-Agent": {"OpenAI/Go 1.12.0"}}})
	wantError(t, old, http.StatusNotFound, "MODEL_NOT_FOUND")
}

var amount = regexp.MustCompile(`^\d+(\.\d{1,9})?$`)

func TestResponseHeaders(t *testing.T) {
	t.Parallel()
	g, mock := serve(t, "default_model: large")
	k := g.Key(t)
	for name, body := range map[string]string{"whole": chat("auto"), "stream": chat("auto", streaming)} {
		t.Run(name, func(t *testing.T) {
			h := wantOK(t, g.Call(t, harness.Request{Key: k, Body: body})).Header
			for header, want := range map[string]string{
				"X-Fairlead-Decision": "expected", "X-Fairlead-Model": small, "X-Fairlead-Provider": "alpha",
				"X-Fairlead-Attempts": "1", "X-Fairlead-Baseline-Model": large,
			} {
				if got := h.Get(header); got != want {
					t.Errorf("%s is %q, want %q", header, got, want)
				}
			}
			if us, err := strconv.Atoi(h.Get("X-Fairlead-Overhead-Us")); err != nil || us < 0 {
				t.Errorf("X-Fairlead-Overhead-Us is %q, want a number of at least 0", h.Get("X-Fairlead-Overhead-Us"))
			}
			if name == "whole" && (!amount.MatchString(h.Get("X-Fairlead-Cost")) || !amount.MatchString(h.Get("X-Fairlead-Baseline-Cost"))) {
				t.Errorf("X-Fairlead-Cost is %q and X-Fairlead-Baseline-Cost %q, want amounts",
					h.Get("X-Fairlead-Cost"), h.Get("X-Fairlead-Baseline-Cost"))
			}
			if !requestID.MatchString(h.Get("X-Request-Id")) {
				t.Errorf("X-Request-Id is %q, want a request ID", h.Get("X-Request-Id"))
			}
			noCORS(t, h)
		})
	}
	// Error responses also follow the contract. wantError checks their headers.
	mock.Always(simulator.Fail(500))
	failed := g.Call(t, harness.Request{Key: k, Body: chat("auto")})
	wantError(t, failed, http.StatusBadGateway, "PROVIDER_UPSTREAM_ERROR")
}

func TestTraceIsIncludedOnRequest(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := g.Key(t)
	full := http.Header{"X-Fairlead-Trace": {"full"}}
	type traced struct {
		Fairlead struct {
			RequestID string `json:"request_id"`
			Model     string
			Cost      string `json:"cost_usd"`
			Trace     struct{ Candidates []any }
		}
	}

	whole := wantOK(t, g.Call(t, harness.Request{Key: k, Body: chat("auto"), Header: full}))
	var got traced
	harness.Decode(t, whole.Body, &got)
	if got.Fairlead.RequestID != whole.Header.Get("X-Request-Id") || got.Fairlead.Model != small || got.Fairlead.Cost != "0.0000108" || len(got.Fairlead.Trace.Candidates) == 0 {
		t.Errorf("got %s, want a trace with candidates, the request ID, the model small and the cost 0.0000108", whole.Body)
	}

	events := open(t, g, harness.Request{Key: k, Body: chat("auto", streaming), Header: full}).rest()
	got = traced{}
	harness.Decode(t, []byte(events[len(events)-2]), &got)
	if got.Fairlead.Cost != "0.0000108" || events[len(events)-1] != "[DONE]" || texts(t, events) != "Hello from small." {
		t.Errorf("the stream is %q and ends with %v, want the response, a trace with the cost 0.0000108 and [DONE]",
			texts(t, events), events[len(events)-2:])
	}

	refused := g.Call(t, harness.Request{Key: k, Body: chat("auto", `"provider":{"only":["nobody"]}`), Header: full})
	got = traced{}
	harness.Decode(t, refused.Body, &got)
	if len(got.Fairlead.Trace.Candidates) == 0 {
		t.Errorf("the error response has no candidates in its trace: %s", refused.Body)
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	g, _ := serve(t)
	k := g.Key(t)
	var list struct {
		Object string
		Data   []struct{ ID, Object string }
	}
	harness.Decode(t, wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models", Key: k})).Body, &list)
	var names []string
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	if got := strings.Join(names, " "); list.Object != "list" || !strings.HasPrefix(got, "auto auto:cost auto:quality auto:speed ") || !strings.Contains(got, small) {
		t.Errorf("object is %q, models are %s; want list, and the auto models before the others", list.Object, got)
	}
	for _, name := range []string{"auto", small, "embed"} {
		var one struct{ ID, Object string }
		harness.Decode(t, wantOK(t, g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models/" + name, Key: k})).Body, &one)
		if one.ID != name || one.Object != "model" {
			t.Errorf("GET /models/%s returned %+v", name, one)
		}
	}
	wantError(t, g.Call(t, harness.Request{Method: "GET", Path: "/proxy/v1/models"}), http.StatusUnauthorized, "MISSING_API_KEY")
}

func TestEmbeddings(t *testing.T) {
	t.Parallel()
	g, mock := serve(t)
	k := g.Key(t)
	for _, model := range []string{"embed", "auto"} {
		answer := wantOK(t, g.Call(t, harness.Request{Path: "/proxy/v1/embeddings", Key: k, Body: `{"model":"` + model + `","input":["a","b"]}`}))
		var body struct {
			Model string
			Data  []struct{ Embedding []float64 }
		}
		harness.Decode(t, answer.Body, &body)
		if body.Model != "embed" || len(body.Data) != 2 || len(body.Data[0].Embedding) != 2 {
			t.Errorf("got %s, want two embeddings of two numbers by the model embed", answer.Body)
		}
	}
	if n := len(mock.Calls()); n != 2 || mock.Calls()[0].Path != "/v1/embeddings" {
		t.Errorf("the provider got %d calls, want 2 to /v1/embeddings", n)
	}
}

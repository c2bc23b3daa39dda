package gateway_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/account"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/compatible"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire/responses"
)

// storedIDs are the ids of stored responses in tests.
var storedIDs = func() responses.StoredIDs {
	ids, err := responses.NewStoredIDs(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		panic(err)
	}
	return ids
}()

// responsesServer is a provider with the Responses API. It records the calls as "METHOD path?query key".
type responsesServer struct {
	mu     sync.Mutex
	calls  []string
	bodies []string
	answer http.HandlerFunc
}

func (s *responsesServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	s.mu.Lock()
	s.calls = append(s.calls, fmt.Sprintf("%s %s %s", r.Method, r.URL, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
	s.bodies = append(s.bodies, body.String())
	s.mu.Unlock()
	s.answer(w, r)
}

func (s *responsesServer) seen() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// respond returns a handler that sends a status and a body.
func respond(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// newResponsesKit returns a kit whose only provider, openai, has the Responses API and two credentials.
func newResponsesKit(t *testing.T, answer http.HandlerFunc, credentials ...string) (*kit, *responsesServer) {
	t.Helper()
	k := newKit(t)
	server := &responsesServer{answer: answer}
	upstream := httptest.NewServer(server)
	t.Cleanup(upstream.Close)
	k.useResponses(upstream.URL, credentials...)
	return k, server
}

func (k *kit) useResponses(url string, credentials ...string) {
	k.Helper()
	large := target("large", 2, 8)
	large.Provider = "openai"
	settings := provider.Settings{Name: "openai", BaseURL: url + "/v1", Targets: []*provider.Target{large}}
	for _, id := range credentials {
		settings.Credentials = append(settings.Credentials, provider.Credential{ID: id, Secret: "sk-secret-of-" + id, Source: "test"})
	}
	p := compatible.New(compatible.Row{Name: "openai", Title: "OpenAI", ChatPath: "/chat/completions", ResponsesPath: "/responses"}, settings)
	k.snapshot = route.NewSnapshot(defaultCatalog(k.T), []*provider.Provider{p}, nil)
	k.gateway.Update(k.settings, k.snapshot)
}

func sealed(credential, id string) string {
	return storedIDs.Seal(llm.StoredResponse{Workspace: "ws_1", Provider: "openai", Credential: credential, ID: id})
}

const storedResponse = `{"id":"resp_1","object":"response","status":"completed","model":"large-2026","previous_response_id":"resp_0","output":[],"usage":{"input_tokens":5,"output_tokens":7}}`

func TestStoredResponseIsReadFromItsAccount(t *testing.T) {
	t.Parallel()
	k, server := newResponsesKit(t, respond(200, storedResponse), "openai#1", "openai#2")
	got := k.do(k.request(http.MethodGet, "/responses/"+sealed("openai#2", "resp_1")+"?include[]=reasoning.encrypted_content", ""))
	want := strings.NewReplacer("resp_1", sealed("openai#2", "resp_1"), "resp_0", sealed("openai#2", "resp_0"), "large-2026", "large").Replace(storedResponse)
	if got.status != 200 || got.body != want || got.header.Get("X-Fairlead-Provider") != "openai" {
		t.Errorf("status %d from %q: %s", got.status, got.header.Get("X-Fairlead-Provider"), got.body)
	}
	if diff := cmp.Diff([]string{"GET /v1/responses/resp_1?include%5B%5D=reasoning.encrypted_content sk-secret-of-openai#2"}, server.seen()); diff != "" {
		t.Error(diff)
	}
}

func TestStoredOperationsReachTheProvider(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ method, path, answer, call, want string }{
		"delete":      {"DELETE", "", `{"id":"resp_1","object":"response","deleted":true}`, "DELETE /v1/responses/resp_1", `{"id":"ID","object":"response","deleted":true}`},
		"cancel":      {"POST", "/cancel", `{"id":"resp_1","status":"cancelled","model":"other","output":[]}`, "POST /v1/responses/resp_1/cancel", `{"id":"ID","status":"cancelled","model":"other","output":[]}`},
		"input items": {"GET", "/input_items?limit=2&order=asc", `{"object":"list","data":[{"id":"msg_1"}],"first_id":"msg_1","has_more":false}`, "GET /v1/responses/resp_1/input_items?limit=2&order=asc", `{"object":"list","data":[{"id":"msg_1"}],"first_id":"msg_1","has_more":false}`},
		"failed":      {"GET", "", `{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}`, "GET /v1/responses/resp_1", `{"id":"ID","status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}`},
		"in progress": {"GET", "/", `{"id":"resp_1","status":"queued","output":[],"usage":null}`, "GET /v1/responses/resp_1", `{"id":"ID","status":"queued","output":[],"usage":null}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, server := newResponsesKit(t, respond(200, c.answer), "openai#1")
			id := sealed("openai#1", "resp_1")
			got := k.do(k.request(c.method, "/responses/"+id+c.path, ""))
			if want := strings.Replace(c.want, "ID", id, 1); got.status != 200 || got.body != want {
				t.Errorf("status %d: %s, want %s", got.status, got.body, want)
			}
			if diff := cmp.Diff([]string{c.call + " sk-secret-of-openai#1"}, server.seen()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStoredResponseIsStreamed(t *testing.T) {
	t.Parallel()
	const events = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":4,\"delta\":\"Hi\"}\n\n" +
		"event: response.failed\ndata: {\"type\":\"response.failed\",\"sequence_number\":5,\"response\":{\"id\":\"resp_1\",\"model\":\"large-2026\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"oops\"}}}\n\n"
	k, server := newResponsesKit(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(events))
	}, "openai#1")
	id := sealed("openai#1", "resp_1")
	got := k.do(k.request(http.MethodGet, "/responses/"+id+"?stream=true&starting_after=3", ""))
	want := strings.NewReplacer("resp_1", id, "large-2026", "large").Replace(events)
	if got.status != 200 || got.body != want || !strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
		t.Errorf("status %d, %s: %s", got.status, got.header.Get("Content-Type"), got.body)
	}
	if diff := cmp.Diff([]string{"GET /v1/responses/resp_1?starting_after=3&stream=true sk-secret-of-openai#1"}, server.seen()); diff != "" {
		t.Error(diff)
	}
}

func TestEventsOfAStoredResponseAreSentImmediately(t *testing.T) {
	t.Parallel()
	const event = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\n"
	k, _ := newResponsesKit(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(event + event + "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"status\":\"completed\"}}\n\n"))
	}, "openai#1")
	w := &flushingSink{sink: sink{header: http.Header{}}}
	k.gateway.ServeHTTP(w, k.request(http.MethodGet, "/responses/"+sealed("openai#1", "resp_1")+"?stream=true", ""))
	if sent := w.flushed.String(); w.flushes < 3 || strings.Count(sent, "delta\":\"Hi") != 2 {
		t.Errorf("%d flushes for three events: %q", w.flushes, sent)
	}
}

func TestUnknownStoredResponsesAreNotFound(t *testing.T) {
	t.Parallel()
	k, server := newResponsesKit(t, respond(200, storedResponse), "openai#1")
	foreign := storedIDs.Seal(llm.StoredResponse{Workspace: "ws_2", Provider: "openai", Credential: "openai#1", ID: "resp_1"})
	for name, id := range map[string]string{
		"of the provider":      "resp_1",
		"of another workspace": foreign,
		"removed credential":   sealed("openai#9", "resp_1"),
		"removed provider":     storedIDs.Seal(llm.StoredResponse{Workspace: "ws_1", Provider: "removed", Credential: "openai#1", ID: "resp_1"}),
	} {
		for _, request := range []*http.Request{
			k.request(http.MethodGet, "/responses/"+id, ""),
			k.request(http.MethodDelete, "/responses/"+id, ""),
			k.request(http.MethodGet, "/responses/"+id+"/input_items", ""),
			k.request(http.MethodPost, "/responses/"+id+"/cancel", ""),
			k.request(http.MethodPost, "/responses", `{"model":"large","input":"more","previous_response_id":"`+id+`"}`),
		} {
			if got := k.do(request); got.status != 404 || got.code(t) != "NOT_FOUND" {
				t.Errorf("%s: %s %s: status %d: %s", name, request.Method, request.URL.Path, got.status, got.body)
			}
		}
	}
	if calls := server.seen(); len(calls) > 0 {
		t.Errorf("the provider was called: %q", calls)
	}
}

func TestStoredOperationsAreChecked(t *testing.T) {
	t.Parallel()
	k, server := newResponsesKit(t, respond(200, storedResponse), "openai#1")
	path := "/responses/" + sealed("openai#1", "resp_1")
	k.keys.others = map[string]*account.Grant{"reader": {Key: &account.Key{ID: "key_2", KeySettings: account.KeySettings{Name: "reader"}}, Workspace: k.keys.grant.Workspace}}
	for name, c := range map[string]struct {
		method, path, key string
		status            int
	}{
		"no key":           {"GET", path, "", 401},
		"wrong key":        {"GET", path, "bad", 401},
		"no scope":         {"GET", path, "reader", 403},
		"wrong method":     {"POST", path, "good", 405},
		"cancel by GET":    {"GET", path + "/cancel", "good", 405},
		"unknown resource": {"GET", path + "/output_items", "good", 404},
	} {
		request := k.request(c.method, c.path, "")
		request.Header.Set("Authorization", "Bearer "+c.key)
		if got := k.do(request); got.status != c.status || got.code(t) == "" {
			t.Errorf("%s: status %d: %s", name, got.status, got.body)
		}
	}
	if calls := server.seen(); len(calls) > 0 {
		t.Errorf("the provider was called: %q", calls)
	}
}

func TestStoredOperationsCountAgainstTheLimitsOfTheKey(t *testing.T) {
	t.Parallel()
	k, _ := newResponsesKit(t, respond(200, storedResponse), "openai#1")
	k.keys.grant.Key.Limits.RequestsPerMinute = 2
	var statuses []int
	for range 3 {
		statuses = append(statuses, k.do(k.request(http.MethodGet, "/responses/"+sealed("openai#1", "resp_1"), "")).status)
	}
	if diff := cmp.Diff([]int{200, 200, 429}, statuses); diff != "" {
		t.Error(diff)
	}
}

func TestFailuresOfStoredOperationsAreClassified(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		want   int
		code   string
	}{
		"expired":         {404, `{"error":{"message":"Response with id 'resp_1' not found.","type":"invalid_request_error"}}`, 404, "NOT_FOUND"},
		"not background":  {400, `{"error":{"message":"Cannot cancel a synchronous response.","type":"invalid_request_error"}}`, 400, "PROVIDER_UPSTREAM_ERROR"},
		"bad credential":  {401, `{"error":{"message":"Incorrect API key provided: sk-secret-of-openai#1.","code":"invalid_api_key"}}`, 502, "PROVIDER_UPSTREAM_ERROR"},
		"rate limit":      {429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, 429, "PROVIDER_RATE_LIMITED"},
		"server error":    {500, `oops`, 502, "PROVIDER_UPSTREAM_ERROR"},
		"not JSON":        {200, `<html>`, 502, "PROVIDER_UPSTREAM_ERROR"},
		"repeats its key": {200, `{"id":"resp_1","note":"sk-secret-of-openai#1"}`, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, server := newResponsesKit(t, respond(c.status, c.body), "openai#1", "openai#2")
			got := k.do(k.request(http.MethodPost, "/responses/"+sealed("openai#1", "resp_1")+"/cancel", ""))
			if got.status != c.want || got.code(t) != c.code || strings.Contains(got.body, "sk-secret-of") {
				t.Errorf("status %d: %s", got.status, got.body)
			}
			if calls := server.seen(); len(calls) != 1 {
				t.Errorf("calls %q, want 1", calls)
			}
		})
	}
}

// The account of the previous response is the only one that can serve the request: another credential must not be tried.
func TestContinuedResponseNeverUsesAnotherCredential(t *testing.T) {
	t.Parallel()
	for _, status := range []int{429, 401, 500} {
		k, server := newResponsesKit(t, respond(status, `{"error":{"message":"no"}}`), "openai#1", "openai#2", "openai#3")
		got := k.post("/responses", `{"model":"large","input":"more","previous_response_id":"`+sealed("openai#2", "resp_1")+`"}`)
		if got.status < 400 {
			t.Errorf("%d: status %d: %s", status, got.status, got.body)
		}
		calls := server.seen()
		for i, call := range calls {
			if call != "POST /v1/responses sk-secret-of-openai#2" {
				t.Errorf("%d: call %d is %s, want %s", status, i, call, "POST /v1/responses sk-secret-of-openai#2")
			}
		}
		if len(calls) == 0 || !strings.Contains(server.bodies[0], `"previous_response_id":"resp_1"`) {
			t.Errorf("%d: calls %q with %q", status, calls, server.bodies)
		}
	}
}

func TestContinuedResponseKeepsItsAccount(t *testing.T) {
	t.Parallel()
	k, server := newResponsesKit(t, respond(200, storedResponse), "openai#1", "openai#2")
	previous := sealed("openai#2", "resp_0")
	for range 4 {
		got := k.post("/responses", `{"model":"auto","input":"more","previous_response_id":"`+previous+`"}`)
		if v := got.json(t); got.status != 200 || v["id"] != sealed("openai#2", "resp_1") || v["previous_response_id"] != previous {
			t.Errorf("status %d: %s", got.status, got.body)
		}
	}
	for _, call := range server.seen() {
		if call != "POST /v1/responses sk-secret-of-openai#2" {
			t.Errorf("call %s, want one with the credential openai#2", call)
		}
	}
	got := k.post("/responses", `{"model":"auto","input":"more","previous_response_id":"`+previous+`","provider":{"only":["azure"]}}`)
	if got.status != 400 || !strings.Contains(got.body, "provider.only") {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestObjectsOfAnAccountNeedASingleAccount(t *testing.T) {
	t.Parallel()
	for _, members := range []string{`"conversation":"conv_1"`, `"input":[{"type":"item_reference","id":"msg_1"}]`} {
		body := `{"model":"large",` + members + `}`
		one, server := newResponsesKit(t, respond(200, storedResponse), "openai#1")
		if got := one.post("/responses", body); got.status != 200 || !strings.Contains(server.bodies[0], members) {
			t.Errorf("one account, %s: status %d: %s; sent %q", members, got.status, got.body, server.bodies)
		}
		two, server := newResponsesKit(t, respond(200, storedResponse), "openai#1", "openai#2")
		if got := two.post("/responses", body); got.status != 400 || !strings.Contains(got.body, "2 accounts") || len(server.seen()) > 0 {
			t.Errorf("two accounts, %s: status %d: %s", members, got.status, got.body)
		}
		previous := `,"previous_response_id":"` + sealed("openai#2", "resp_1") + `"}`
		if got := two.post("/responses", strings.TrimSuffix(body, "}")+previous); got.status != 200 || !strings.HasSuffix(server.seen()[0], "openai#2") {
			t.Errorf("previous response, %s: status %d: %s", members, got.status, got.body)
		}
		none := newKit(t)
		if got := none.post("/responses", body); got.status != 400 || got.code(t) != "NO_ROUTE" || !strings.Contains(got.body, "responses_api") {
			t.Errorf("no account, %s: status %d: %s", members, got.status, got.body)
		}
	}
}

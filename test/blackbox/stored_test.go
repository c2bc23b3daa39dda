package blackbox

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"fairlead.dev/test/harness"
)

// responsesProvider is a provider with the Responses API that stores responses for each API key.
type responsesProvider struct {
	mu     sync.Mutex
	stored map[string]string // API key by response id
	calls  []string          // "METHOD path key"
}

func (p *responsesProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.calls = append(p.calls, r.Method+" "+r.URL.Path+" "+key)
	w.Header().Set("Content-Type", "application/json")
	path, _ := strings.CutPrefix(r.URL.Path, "/v1/responses")
	id, part, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if id == "" {
		body, _ := io.ReadAll(r.Body) // the gateway sends complete bodies
		id = fmt.Sprintf("resp_%d", len(p.stored)+1)
		p.stored[id] = key
		status := "completed"
		if strings.Contains(string(body), `"background":true`) {
			status = "queued"
		}
		_, _ = io.WriteString(w, p.object(id, status))
		return
	}
	if p.stored[id] != key {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"Response with id '`+id+`' not found.","type":"invalid_request_error"}}`)
		return
	}
	switch {
	case part == "input_items":
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"msg_1","type":"message"}],"has_more":false}`)
	case part == "cancel":
		_, _ = io.WriteString(w, p.object(id, "cancelled"))
	case r.Method == http.MethodDelete:
		delete(p.stored, id)
		_, _ = io.WriteString(w, `{"id":"`+id+`","object":"response","deleted":true}`)
	default:

		_, _ = io.WriteString(w, p.object(id, "completed"))
	}
}

func (p *responsesProvider) object(id, status string) string {
	usage := "null"
	if status == "completed" {
		usage = `{"input_tokens":1000,"output_tokens":100,"total_tokens":1100}`
	}
	return `{"id":"` + id + `","object":"response","status":"` + status + `","model":"small","output":[],"usage":` + usage + `}`
}

// storedGateway starts a gateway whose only provider has the Responses API and two credentials.
func storedGateway(t *testing.T) (*harness.Gateway, *responsesProvider) {
	t.Helper()
	p := &responsesProvider{stored: map[string]string{}}
	url := harness.Serve(t, p) + "/v1"
	return harness.Start(t, harness.Options{Config: harness.Config(t, []harness.Provider{{
		Name: "alpha", Format: "responses", BaseURL: url, APIKeys: []string{"sk-alpha-0123456789", "sk-other-0123456789"},
		Models: []harness.Model{harness.Chat(small, 1, 10, 0.6)},
	}})}), p
}

func createResponse(t *testing.T, g *harness.Gateway, key string, more ...string) (id, requestID string) {
	t.Helper()
	members := append([]string{`"model":"small"`, `"input":"Hello"`}, more...)
	a := wantOK(t, g.Call(t, harness.Request{Key: key, Path: "/proxy/v1/responses", Body: "{" + strings.Join(members, ",") + "}"}))
	var response struct{ ID string }
	harness.Decode(t, a.Body, &response)
	if !strings.HasPrefix(response.ID, "resp_fl_") {
		t.Fatalf("the ID is %q, want the prefix resp_fl_", response.ID)
	}
	return response.ID, a.Header.Get("X-Request-Id")
}

func TestStoredResponsesAreFoundByID(t *testing.T) {
	t.Parallel()
	g, p := storedGateway(t)
	k := g.Key(t)
	call := func(method, path string) harness.Answer {
		return g.Call(t, harness.Request{Key: k, Method: method, Path: "/proxy/v1/responses/" + path})
	}
	for range 4 { // the gateway may use either credential
		id, _ := createResponse(t, g, k)
		if a := wantOK(t, call(http.MethodGet, id)); !strings.Contains(string(a.Body), `"id":"`+id+`"`) {
			t.Errorf("get the response: got %s, want the ID %s", a.Body, id)
		}
		if a := wantOK(t, call(http.MethodGet, id+"/input_items?limit=1")); !strings.Contains(string(a.Body), "msg_1") {
			t.Errorf("input items are %s, want msg_1", a.Body)
		}
		wantOK(t, call(http.MethodPost, id+"/cancel"))
		next, _ := createResponse(t, g, k, `"previous_response_id":"`+id+`"`)
		p.mu.Lock()
		last := p.calls[len(p.calls)-1]
		create := p.calls[len(p.calls)-5]
		p.mu.Unlock()
		if last != create {
			t.Errorf("the response was created with %q and continued with %q, want the same credential", create, last)
		}
		wantOK(t, call(http.MethodDelete, next))
		wantError(t, call(http.MethodGet, next), 404, "NOT_FOUND")
	}
	wantError(t, call(http.MethodGet, "resp_1"), 404, "NOT_FOUND")
	wantError(t, call(http.MethodPut, "resp_1"), 405, "METHOD_NOT_ALLOWED")
	id, _ := createResponse(t, g, k)
	g.Restart(t)
	wantOK(t, call(http.MethodGet, id))
	wantError(t, g.Call(t, harness.Request{Method: http.MethodGet, Path: "/proxy/v1/responses/" + id}), 401, "MISSING_API_KEY")
}

func TestBackgroundResponseIsChargedWithoutAReader(t *testing.T) {
	t.Parallel()
	g, _ := storedGateway(t)
	_, requestID := createResponse(t, g, g.Key(t), `"background":true`)
	if e := g.Entry(t, requestID); e.Cost == nil || *e.Cost != "0.002" {
		t.Errorf("the entry must have the cost 0.002: %s", e.Raw)
	}
}

// Package sessions holds the fault cases about agent sessions: kills, retention and loops.
package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"fairlead.dev/internal/outline/outlinetest"
	"fairlead.dev/test/faults/scenario"
	"fairlead.dev/test/harness"
)

// Cases lists the cases about sessions.
func Cases() []scenario.Case {
	return []scenario.Case{
		{ID: "F62", Name: "kill -9 in the middle of sessions", Run: killedSessions},
		{ID: "F64", Name: "retention of the first days of a session", Run: expiredDays},
		{ID: "F65", Name: "a loop of failing tool calls", Run: runawayLoop},
	}
}

// paths are the endpoints of the client formats.
var paths = map[string]string{"chat": "/chat/completions", "messages": "/messages", "responses": "/responses"}

// answering is a provider whose streamed answer contains a different marker for each call. The reported usage grows with the prompt.
type answering struct {
	calls atomic.Int64
	pause time.Duration // pause between two events
}

// marker matches the text that identifies an answer.
var marker = regexp.MustCompile(`answer-\d+-complete`)

// ServeHTTP implements http.Handler.
func (a *answering) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	text := fmt.Sprintf("answer-%d-complete", a.calls.Add(1))
	usage := fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, len(body)/4, answerTokens, len(body)/4+answerTokens)
	if !bytes.Contains(body, []byte(`"stream":true`)) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"x","object":"chat.completion","model":"plain","choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":%s}`, text, usage)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, piece := range []string{"The ", "tool ", "ran. ", text} {
		if _, err := fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"plain\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", piece); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush() // the next write detects a disconnect
		if !scenario.Wait(r.Context(), a.pause) {
			return
		}
	}
	_, _ = fmt.Fprintf(w, "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"plain\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"+
		"data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"model\":\"plain\",\"choices\":[],\"usage\":%s}\n\ndata: [DONE]\n\n", usage)
}

// answerTokens is the length of every answer.
const answerTokens = 20

// turn is a request of a session that was answered completely.
type turn struct {
	id     string // request id
	body   []byte // request body as sent
	marker string // marker of the answer as received
}

// agent sends the turns of one session.
type agent struct {
	gateway *harness.Gateway
	client  *http.Client
	key     string
	session string
	format  string
}

// reply is the result of one request of an agent.
type reply struct {
	turn
	status  int
	failure scenario.Failure
}

// send sends a turn. It returns an error if no complete response arrived.
func (a *agent) send(ctx context.Context, body []byte) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.gateway.BaseURL()+paths[a.format], bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + a.key, "X-Fairlead-Session": a.session} {
		req.Header.Set(name, value)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{turn: turn{resp.Header.Get("X-Request-Id"), body, marker.FindString(string(data))}, status: resp.StatusCode}
	if r.status != http.StatusOK {
		_ = json.Unmarshal(data, &r.failure) // an unreadable error has no code
	}
	return r, nil
}

// bodies returns the requests of a session for the model plain.
func bodies(s outlinetest.Session) [][]byte {
	var all [][]byte
	for _, t := range s.Make() {
		all = append(all, bytes.Replace(t.Body, []byte(`"model":"auto"`), []byte(`"model":"plain"`), 1))
	}
	return all
}

// turnPage is the list of turns in the admin API.
type turnPage struct {
	Turns []struct {
		ID     string `json:"id"`
		Number int    `json:"number"`
	} `json:"turns"`
	Gone  int     `json:"gone"`
	After *string `json:"after"`
}

// turnsOf reads all turns of a session from the admin API.
func turnsOf(t testing.TB, g *harness.Gateway, reader, session string) (all turnPage) {
	t.Helper()
	after := ""
	for {
		a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1/sessions/" + url.PathEscape(session) + "/turns?limit=100&after=" + after, Key: reader})
		if a.Status != http.StatusOK {
			t.Fatalf("list the turns of %s: status %d, want 200: %s", session, a.Status, scenario.Clip(a.Body))
		}
		var page turnPage
		harness.Decode(t, a.Body, &page)
		all.Turns, all.Gone = append(all.Turns, page.Turns...), all.Gone+page.Gone
		if page.After == nil {
			return all
		}
		after = *page.After
	}
}

// storedBody is a body in the admin API, of a request or of the new messages of a turn.
type storedBody struct {
	State    string `json:"state"`
	Missing  int    `json:"missing_parts"`
	Request  string `json:"request"`
	Response string `json:"response"`
	Known    int    `json:"known"`
	Previous string `json:"previous"`
}

// readBody reads a stored body from the admin API.
func readBody(t testing.TB, g *harness.Gateway, reader, path string) storedBody {
	t.Helper()
	a := g.Call(t, harness.Request{Method: http.MethodGet, Path: "/api/v1" + path, Key: reader})
	if a.Status != http.StatusOK {
		t.Fatalf("GET %s: status %d, want 200: %s", path, a.Status, scenario.Clip(a.Body))
	}
	var b storedBody
	harness.Decode(t, a.Body, &b)
	return b
}

// check fails the test if the log does not contain the turn exactly as it was sent and received.
func (d turn) check(t testing.TB, g *harness.Gateway, reader string) {
	t.Helper()
	b := readBody(t, g, reader, "/requests/"+d.id+"/body")
	if b.State != "stored" || b.Missing != 0 || b.Request != string(d.body) {
		t.Errorf("%s: the stored request is %s with %d bytes and %d missing parts, want the %d bytes that were sent",
			d.id, b.State, len(b.Request), b.Missing, len(d.body))
	}
	if d.marker == "" || !bytes.Contains([]byte(b.Response), []byte(d.marker)) {
		t.Errorf("%s: the stored response is %s, want one with %q, which the client received",
			d.id, scenario.Clip([]byte(b.Response)), d.marker)
	}
}

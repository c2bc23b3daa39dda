package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/provider/anthropic"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/simulator"
)

// script is a provider of the messages format that sends the events in frames. It then drops the connection, unless the
// last event is message_stop.
type script struct {
	frames []string
	status int
	asked  []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.asked = append(s.asked, string(body))
	if s.status != 0 {
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"This model does not support assistant message prefill."}}`)
		s.status = 0
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, data := range s.frames {
		_, _ = io.WriteString(w, "event: "+rawjson.ParseString(data).Get("type").String()+"\ndata: "+data+"\n\n")
		_ = http.NewResponseController(w).Flush()
	}
	if len(s.frames) == 0 || !strings.Contains(s.frames[len(s.frames)-1], "message_stop") {
		panic(http.ErrAbortHandler)
	}
}

const (
	started = `{"type":"message_start","message":{"id":"msg_first","type":"message","role":"assistant","model":"large","content":[],"stop_reason":null,"usage":{"input_tokens":5,"output_tokens":1}}}`
	another = `{"type":"message_start","message":{"id":"msg_second","type":"message","role":"assistant","model":"large","content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}}`
	pinged  = `{"type":"ping"}`
	opened  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	closed  = `{"type":"content_block_stop","index":0}`
	ended   = `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}`
	stopped = `{"type":"message_stop"}`
	flawed  = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
)

func delta(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`
}

// talking returns the events of a complete response with the given text.
func talking(text string) []string {
	return []string{another, opened, delta(text), closed, ended, stopped}
}

// newMessagesKit returns a kit with two providers of the messages format.
func newMessagesKit(t *testing.T, alpha, beta *script, prefills bool) *kit {
	t.Helper()
	k := newKit(t, func(k *kit) { k.inside = true })
	var all []*provider.Provider
	for name, s := range map[string]*script{"alpha": alpha, "beta": beta} {
		large := target("large", 2, 8)
		if large.Provider = name; name == "beta" {
			large = target("large", 3, 9)
			large.Provider = name
		}
		if prefills {
			large.Model.Abilities |= llm.Prefill
		}
		p := anthropic.Plain(name, name).New(provider.Settings{BaseURL: "http://" + name + ".invalid/v1", Targets: []*provider.Target{large}})
		p.Transport = simulator.Transport(s)
		all = append(all, p)
	}
	k.snapshot = route.NewSnapshot(defaultCatalog(t), all, nil)
	k.gateway.Update(k.settings, k.snapshot)
	return k
}

const wantsMessages = `{"model":"large","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hello"}]}`

func TestNothingIsSentBeforeTheFirstContent(t *testing.T) {
	t.Parallel()
	for name, frames := range map[string][]string{
		"a start":           {started},
		"a ping":            {started, pinged, pinged},
		"an empty block":    {started, opened},
		"an empty text":     {started, opened, delta("")},
		"an error in a 200": {flawed},
		"a start, an error": {started, opened, flawed},
		"nothing":           {},
	} {
		for format, c := range map[string]struct{ path, body string }{
			"messages":  {"/messages", wantsMessages},
			"chat":      {"/chat/completions", streaming("large")},
			"responses": {"/responses", `{"model":"large","stream":true,"input":"hello"}`},
		} {
			t.Run(name+" to "+format, func(t *testing.T) {
				t.Parallel()
				k := newMessagesKit(t, &script{frames: frames}, &script{frames: talking("from beta")}, false)

				got := k.post(c.path, c.body)

				if got.text() != "from beta" || !got.whole() || got.failed() || strings.Contains(got.body, "msg_first") {
					t.Errorf("status %d: %s", got.status, got.body)
				}
				if e := k.entry(); e.DecisionKind != route.Fallback || e.Outcome != requestlog.OK || len(e.Attempts) != 2 || len(e.Warnings) > 0 {
					t.Errorf("%s %s, attempts %v, warnings %q", e.DecisionKind, e.Outcome, classes(e), e.Warnings)
				}
			})
		}
	}
}

func TestMessagesStreamIsContinuedByAProviderOfTheSameFormat(t *testing.T) {
	t.Parallel()
	broken := []string{started, opened, pinged, delta("one "), delta("two ")}
	for name, c := range map[string]struct {
		frames   []string
		status   int
		prefills bool
		asked    int // number of messages in the last call
	}{
		"prefill":          {talking(" three"), 0, true, 2},
		"prefill rejected": {talking("one two three"), 400, true, 1},
		"restart":          {talking("one two three"), 0, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			beta := &script{frames: c.frames, status: c.status}
			k := newMessagesKit(t, &script{frames: broken}, beta, c.prefills)

			got := k.post("/messages", wantsMessages)

			if got.text() != "one two three" || !got.whole() || strings.Contains(got.body, "prefill") {
				t.Fatalf("status %d: %s", got.status, got.body)
			}
			var types []string
			for _, data := range got.data() {
				types = append(types, rawjson.ParseString(data).Get("type").String())
			}
			want := []string{
				"message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta", "content_block_delta",
				"content_block_stop", "message_delta", "message_stop",
			}
			if diff := cmp.Diff(want, types); diff != "" || strings.Contains(got.body, "msg_second") {
				t.Errorf("%s\n%s", diff, got.body)
			}
			last := beta.asked[len(beta.asked)-1]
			if n := len(rawjson.ParseString(last).Get("messages").List()); n != c.asked || rawjson.ParseString(last).Get("messages.1.content").String() != strings.Repeat("one two", c.asked-1) {
				t.Errorf("beta received %s, want %d messages", last, c.asked)
			}
			if e := k.entry(); e.Usage.Input != 7 || e.Usage.Output != 9 || e.Finish != "stop" {
				t.Errorf("usage %+v, finish %s", e.Usage, e.Finish)
			}
		})
	}
}

package simulator

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/rawjson"
)

// openSession opens a session with a simulated model. It returns a function that sends events and reads until an event of the given kind.
func openSession(t *testing.T, s *Simulator) func(until string, send ...string) []rawjson.Value {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "http://sim.test/v1/realtime?model=sim-realtime", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: Transport(s)}, Subprotocols: []string{"realtime"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(websocket.StatusNormalClosure, "") })
	return func(until string, send ...string) []rawjson.Value {
		t.Helper()
		for _, event := range send {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(event)); err != nil {
				t.Fatal(err)
			}
		}
		var events []rawjson.Value
		for {
			_, data, err := conn.Read(t.Context())
			if err != nil {
				t.Fatalf("waiting for %s after %d events: %v", until, len(events), err)
			}
			events = append(events, rawjson.Parse(data))
			if events[len(events)-1].Get("type").String() == until {
				return events
			}
		}
	}
}

const hello = `{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}}`

func TestRealtimeSessionResponds(t *testing.T) {
	t.Parallel()
	say := openSession(t, NewSimulator(Options{}))
	created := say("session.created")[0]
	if created.Get("session.model").String() != "sim-realtime" || created.Get("session.output_modalities.0").String() != "text" {
		t.Errorf("session.created: %s", created.Raw)
	}
	if e := say("session.updated", `{"type":"session.update","session":{"type":"realtime","instructions":"Be brief."}}`)[0]; e.Get("session.instructions").String() != "Be brief." {
		t.Errorf("session.updated: %s", e.Raw)
	}
	events := say("response.done", hello, `{"type":"response.create"}`)
	var kinds []string
	text := ""
	for _, e := range events {
		if kind := e.Get("type").String(); kind != "response.output_text.delta" {
			kinds = append(kinds, kind)
		}
		text += e.Get("delta").String()
	}
	want := []string{
		"conversation.item.added", "conversation.item.done", "response.created", "response.output_item.added", "response.content_part.added",
		"response.output_text.done", "response.content_part.done", "response.output_item.done", "response.done",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	done := events[len(events)-1].Get("response")
	if !strings.HasPrefix(text, "This is a simulated answer to “Hello”") || done.Get("output.0.content.0.text").String() != text || done.Get("status").String() != "completed" {
		t.Errorf("text %q, response %s", text, done.Raw)
	}
	u := done.Get("usage")
	if in, out := u.Get("input_tokens").Int(), u.Get("output_tokens").Int(); in < 4 || out < 20 || u.Get("total_tokens").Int() != in+out || u.Get("input_token_details.text_tokens").Int() != in {
		t.Errorf("usage %s", u.Raw)
	}
	// The first response counts as input of the second. The same conversation in another session gets the same response.
	again := say("response.done", `{"type":"response.create"}`)
	if more := again[len(again)-1].Get("response.usage.input_tokens").Int(); more < u.Get("output_tokens").Int() {
		t.Errorf("second response has %d input tokens, want at least the output tokens of the first one", more)
	}
	other := openSession(t, NewSimulator(Options{}))
	other("session.created")
	repeated := other("response.done", `{"type":"session.update","session":{"instructions":"Be brief."}}`, hello, `{"type":"response.create"}`)
	if got := repeated[len(repeated)-1].Get("response.output.0.content.0.text").String(); got != text {
		t.Errorf("response in another session = %q, want %q", got, text)
	}
}

func TestRealtimeResponseIsLimitedAndCancelled(t *testing.T) {
	t.Parallel()
	say := openSession(t, NewSimulator(Options{}))
	events := say("response.done", hello, `{"type":"response.create","response":{"max_output_tokens":5,"conversation":"none"}}`)
	done := events[len(events)-1].Get("response")
	if done.Get("status").String() != "incomplete" || done.Get("usage.output_tokens").Int() != 5 {
		t.Errorf("limited response = %s, want it incomplete with 5 output tokens", done.Raw)
	}
	slow := openSession(t, NewSimulator(Options{Latency: 1e6}))
	events = slow("response.done", hello, `{"type":"response.create"}`, `{"type":"response.create","event_id":"second"}`, `{"type":"response.cancel"}`)
	done = events[len(events)-1].Get("response")
	if done.Get("status").String() != "cancelled" || done.Get("usage.input_tokens").Int() == 0 || done.Get("output.0.status").String() != "incomplete" {
		t.Errorf("cancelled response = %s, want status cancelled with usage", done.Raw)
	}
	rejected := false
	for _, e := range events {
		rejected = rejected || e.Get("error.code").String() == "conversation_already_has_active_response" && e.Get("error.event_id").String() == "second"
	}
	if !rejected {
		t.Error("a second response during the first was not rejected")
	}
}

func TestRealtimeInvalidEventsGetAnError(t *testing.T) {
	t.Parallel()
	say := openSession(t, NewSimulator(Options{}))
	say("session.created")
	for event, code := range map[string]string{
		`{`:                  "invalid_value",
		`{"type":"no.such"}`: "invalid_value",
		`{"type":"session.update","session":{"output_modalities":["audio"]}}`:                                            "invalid_value",
		`{"type":"session.update","session":{"max_output_tokens":0}}`:                                                    "invalid_value",
		`{"type":"session.update","session":{"tools":[{"type":"function"}]}}`:                                            "invalid_value",
		`{"type":"input_audio_buffer.append","audio":"AAAA"}`:                                                            "invalid_value",
		`{"type":"conversation.item.create"}`:                                                                            "invalid_value",
		`{"type":"conversation.item.create","item":{"type":"function_call_output"}}`:                                     "invalid_value",
		`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_audio"}]}}`: "invalid_value",
		`{"type":"response.create"}`:                                                                                     "invalid_value",
		`{"type":"response.cancel"}`:                                                                                     "invalid_value",
	} {
		if e := say("error", event)[0]; e.Get("error.code").String() != code || !strings.HasPrefix(e.Get("error.message").String(), "SIMULATED") {
			t.Errorf("%.80s: error event %s, want code %s", event, e.Raw, code)
		}
	}
	say("response.done", hello, `{"type":"response.create"}`)
}

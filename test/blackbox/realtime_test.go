package blackbox

import (
	"net/http"
	"testing"

	"github.com/coder/websocket"

	"fairlead.dev/test/harness"
)

// TestRealtimeWithoutProviderKeys opens a session with the simulated model, which a gateway without providers offers.
func TestRealtimeWithoutProviderKeys(t *testing.T) {
	t.Parallel()
	g := harness.Start(t, harness.Options{})
	k := newKey(t, g, "--budget", "10")
	conn, resp, err := websocket.Dial(t.Context(), g.BaseURL()+"/realtime?model=sim-realtime", &websocket.DialOptions{
		HTTPHeader: http.Header{"Authorization": {"Bearer " + k.Text}}, Subprotocols: []string{"realtime"},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.CloseNow() }()
	type event struct {
		Type, Delta string
		Error       struct{ Code string }
		Response    struct {
			Usage struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			}
		}
	}
	read := func() (e event) {
		t.Helper()
		_, data, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		harness.Decode(t, data, &e)
		return e
	}
	send := func(text string) {
		t.Helper()
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if e := read(); e.Type != "session.created" {
		t.Fatalf("the first event is %+v, want session.created", e)
	}
	send(`{"type":"session.update","session":{"type":"realtime","output_modalities":["text"],"max_output_tokens":5}}`)
	if e := read(); e.Type != "session.updated" {
		t.Fatalf("the second event is %+v, want session.updated", e)
	}
	send(`{"type":"input_audio_buffer.append","audio":"AAAA"}`)
	if e := read(); e.Type != "error" || e.Error.Code != "invalid_value" {
		t.Fatalf("the event after audio is %+v, want the error invalid_value", e)
	}
	var input, output int64
	for range 2 {
		send(`{"type":"conversation.item.create","item":{"type":"message","role":"user","content":[{"type":"input_text","text":"Hello"}]}}`)
		send(`{"type":"response.create"}`)
		text := ""
		for {
			e := read()
			text += e.Delta
			if e.Type == "response.done" {
				input, output = input+e.Response.Usage.Input, output+e.Response.Usage.Output
				break
			}
		}
		if text != "This is a simulated " {
			t.Errorf("the response is %q, want the first five tokens of the simulated answer", text)
		}
	}
	if err := conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	e := g.Entry(t, resp.Header.Get("X-Request-Id"))
	if e.Endpoint != "realtime" || e.Outcome != "ok" || e.Model != "sim-realtime" || e.Provider != "simulator" || !e.Simulated || e.Finish != "client_closed" {
		t.Errorf("the entry must be of a simulated realtime session that the client closed: %s", e.Raw)
	}
	if output != 10 || e.Tokens.Input+e.Tokens.CacheRead != input || e.Tokens.Output != output || e.Cost == nil || *e.Cost == "0" {
		t.Errorf("the events have %d input and %d output tokens, want 10 output tokens and an entry with the same tokens and a cost: %s",
			input, output, e.Raw)
	}
}

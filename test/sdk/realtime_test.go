package sdk

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/tidwall/gjson"

	"fairlead.dev/test/harness"
)

// TestRealtimeClients holds a session with the official client of OpenAI.
func TestRealtimeClients(t *testing.T) {
	root := install(t)
	gateway := harness.Start(t, harness.Options{Config: `
providers:
  - name: voice
    format: chat
    base_url: ` + harness.Serve(t, http.HandlerFunc(serveVoice)) + `/v1
    api_keys: [upstream-secret]
    models:
      - {name: voice-model, kind: realtime, input_per_mtok: 4, output_per_mtok: 16, audio_input_per_mtok: 32, audio_output_per_mtok: 64, context: 32000, max_output: 4096}
`})
	cases := []string{"session", "refused"}
	s := suite{
		name: "realtime-python", dir: "python", command: []string{filepath.Join(root, ".cache", "sdk", "python", "bin", "python"), "realtime.py"},
		env: []string{"PYTHONDONTWRITEBYTECODE=1"},
	}
	check(t, run(t, s, []string{
		"SDK_NAME=" + s.name, "VENDOR_URL=" + gateway.URL() + "/proxy/v1", "VENDOR_KEY=" + gateway.Key(t), "VENDOR_MODEL=voice-model", "CASES=" + strings.Join(cases, ","),
	}), cases)
	if log := gateway.Log(); !strings.Contains(log, `"endpoint":"realtime","outcome":"ok"`) {
		t.Error("the log has no successful realtime session")
	}
}

// serveVoice serves a realtime session as a provider. Each response repeats the last text of the client.
func serveVoice(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer upstream-secret" || r.URL.RequestURI() != "/v1/realtime?model=voice-model" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	send := func(event map[string]any) {
		event["event_id"] = "event_1"
		data, _ := json.Marshal(event)
		_ = conn.Write(r.Context(), websocket.MessageText, data)
	}
	session := map[string]any{"type": "realtime", "model": "voice-model"}
	send(map[string]any{"type": "session.created", "session": session})
	text := ""
	for {
		_, data, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		switch event := gjson.ParseBytes(data); event.Get("type").String() {
		case "session.update":
			send(map[string]any{"type": "session.updated", "session": session})
		case "conversation.item.create":
			text = event.Get("item.content.0.text").String()
		case "response.create":
			send(map[string]any{"type": "response.created", "response": map[string]any{"id": "resp_1", "object": "realtime.response", "status": "in_progress"}})
			send(map[string]any{"type": "response.output_text.delta", "response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0, "delta": text})
			send(map[string]any{"type": "response.done", "response": map[string]any{
				"id": "resp_1", "object": "realtime.response", "status": "completed", "usage": map[string]any{"total_tokens": 150, "input_tokens": 100, "output_tokens": 50},
			}})
		}
	}
}

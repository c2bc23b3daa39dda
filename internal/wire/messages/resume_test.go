package messages

import (
	"testing"

	"fairlead.dev/internal/llm"
)

func TestOnlyPlainTextCanBeResumed(t *testing.T) {
	t.Parallel()
	const (
		start = `{"type":"message_start","message":{"id":"msg_1","model":"m"}}` + "\n"
		open  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n"
		text  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}` + "\n"
		stop  = `{"type":"content_block_stop","index":0}` + "\n"
	)
	if _, ok := (Format{}).Resume(nil, []byte(start+open+`{"type":"ping"}`+"\n"+text)); !ok {
		t.Error("Resume after a text = false, want true")
	}
	for name, sent := range map[string]string{
		"no content":              start + open,
		"a closed block":          start + open + text + stop,
		"thinking":                start + `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
		"a tool call":             start + open + text + stop + `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		"arguments":               start + open + text + `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
		"citations":               start + open + text + `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`,
		"a finish":                start + open + text + `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		"a truncated event":       start + open + text + `{"type":"content_bl`,
		"an unknown event":        start + open + text + `{"type":"news"}`,
		"a block without a start": start + text,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rest, ok := (Format{}).Resume(nil, []byte(sent)); ok {
				t.Errorf("Resume = %q, true; want false", rest.Text)
			}
		})
	}
}

func TestPrefillAppendsAnAssistantMessage(t *testing.T) {
	t.Parallel()
	req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"} ],"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}

	got, err := Format{}.Prefill(t.Context(), req, `so "far"`, 5)
	if err != nil {
		t.Fatal(err)
	}

	want := `{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"so \"far\""}],"stream":true}`
	if string(got.Body) != want || got.MaxOutput != 5 {
		t.Errorf("max output %d, body %s; want 5, %s", got.MaxOutput, got.Body, want)
	}
}

func FuzzResume(f *testing.F) {
	f.Add([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`))
	f.Add([]byte("\n{}\n[]\nnull"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		if rest, ok := (Format{}).Resume(nil, sent); ok && rest.Text == "" {
			t.Error("Resume without content = true, want false")
		}
	})
}

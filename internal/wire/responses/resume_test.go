package responses

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestOnlyPlainTextCanBeResumed(t *testing.T) {
	t.Parallel()
	const (
		start = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","created_at":7,"model":"m"}}` + "\n"
		item  = `{"type":"response.output_item.added","sequence_number":1,"item":{"id":"msg_1","type":"message"}}` + "\n"
		part  = `{"type":"response.content_part.added","sequence_number":2,"part":{"type":"output_text"}}` + "\n"
		text  = `{"type":"response.output_text.delta","sequence_number":3,"delta":"x"}` + "\n"
	)
	req := &llm.Request{Op: llm.Chat, ResponseOptions: llm.ResponseOptions{Stream: true}}
	if _, ok := (Format{}).Resume(req, []byte(start+item+part+text)); !ok {
		t.Error("Resume after a text = false, want true")
	}
	for name, sent := range map[string]string{
		"no content":          start + item + part,
		"reasoning":           start + `{"type":"response.output_item.added","item":{"id":"rs_1","type":"reasoning"}}`,
		"a tool call":         start + item + part + text + `{"type":"response.output_item.added","item":{"id":"fc_1","type":"function_call"}}`,
		"a refusal":           start + item + `{"type":"response.content_part.added","part":{"type":"refusal"}}`,
		"a closed text":       start + item + part + text + `{"type":"response.output_text.done","text":"x"}`,
		"a finish":            start + item + part + text + `{"type":"response.completed"}`,
		"a truncated event":   start + item + part + text + `{"type":"resp`,
		"text without a part": start + item + text,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rest, ok := (Format{}).Resume(req, []byte(sent)); ok {
				t.Errorf("Resume = %q, true; want false", rest.Text)
			}
		})
	}
}

func TestPrefillAppendsAnAssistantMessage(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a text":   `{"model":"m","input":"x","max_output_tokens":99}`,
		"a list":   `{"model":"m","input":[{"role":"user","content":"x"} ],"max_output_tokens":99}`,
		"no limit": `{"model":"m","input":"x","max_output_tokens":50}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Format{}.Prefill(t.Context(), req, "so \"far\"", 50)
			if err != nil {
				t.Fatal(err)
			}
			conv, err := Format{}.Conversation(t.Context(), got)
			want := []llm.Message{
				{Role: llm.User, Parts: []llm.Part{{Kind: llm.TextPart, Text: "x"}}},
				{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.TextPart, Text: "so \"far\""}}},
			}
			if diff := cmp.Diff(want, conv.Messages); err != nil || diff != "" || got.MaxOutput != 50 {
				t.Errorf("max output %[2]d, want 50, error %[1]v, messages (-want +got):\n%[3]s", err, got.MaxOutput, diff)
			}
		})
	}
}

func FuzzResume(f *testing.F) {
	f.Add([]byte(`{"type":"response.output_text.delta","sequence_number":3,"delta":"x"}`))
	f.Add([]byte("\n{}\n[]\nnull"))
	req := &llm.Request{Op: llm.Chat, ResponseOptions: llm.ResponseOptions{Stream: true}}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if rest, ok := (Format{}).Resume(req, sent); ok && rest.Text == "" {
			t.Error("Resume without content = true, want false")
		}
	})
}

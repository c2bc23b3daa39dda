package chat

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestOnlyPlainTextCanBeResumed(t *testing.T) {
	t.Parallel()
	const head = `{"id":"a","created":7,"model":"m","choices":[`
	plain := head + `{"index":0,"delta":{"content":"x"}}]}`
	for name, c := range map[string]struct {
		more string
		sent string
	}{
		"no content":        {"", head + `{"index":0,"delta":{"role":"assistant","content":""}}]}`},
		"reasoning":         {"", head + `{"index":0,"delta":{"reasoning_content":"hm"}}]}` + "\n" + plain},
		"a refusal":         {"", plain + "\n" + head + `{"index":0,"delta":{"refusal":"no"}}]}`},
		"a tool call":       {"", plain + "\n" + head + `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`},
		"a finish":          {"", plain + "\n" + head + `{"index":0,"delta":{},"finish_reason":"stop"}]}`},
		"another choice":    {"", plain + "\n" + head + `{"index":1,"delta":{"content":"y"}}]}`},
		"a truncated event": {"", plain + "\n" + head},
		"log probabilities": {`,"logprobs":true`, plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rest, ok := (Format{}).Resume(chatRequest(t, true, c.more), []byte(c.sent)); ok {
				t.Errorf("Resume = %q, true; want false", rest.Text)
			}
		})
	}
}

func TestPrefillAppendsAnAssistantMessage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more, want string
		most       int64
	}{
		"no limit": {"", `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"so\n\"far\""}],"stream":true}`, 5},
		"a limit": {
			`,"max_tokens":9,"max_completion_tokens":null`,
			`{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"so\n\"far\""}],"max_tokens":5,"max_completion_tokens":null,"stream":true}`, 5,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := chatRequest(t, true, c.more)
			before := string(req.Body)

			got, err := Format{}.Prefill(t.Context(), req, "so\n\"far\"", c.most)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got.Body)); diff != "" || string(req.Body) != before {
				t.Errorf("original body %s, prefilled (-want +got):\n%s", req.Body, diff)
			}
			if got.Answers != 1 || got.Messages != 2 {
				t.Errorf("%d messages, %d answers; want 2 and 1", got.Messages, got.Answers)
			}
		})
	}
}

func FuzzResume(f *testing.F) {
	f.Add([]byte(`{"id":"a","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"x"}}]}`))
	f.Add([]byte("\n{}\n[]\nnull"))
	req := &llm.Request{Op: llm.Chat, ResponseOptions: llm.ResponseOptions{Stream: true}}
	f.Fuzz(func(t *testing.T, sent []byte) {
		if rest, ok := (Format{}).Resume(req, sent); ok && rest.Text == "" {
			t.Error("Resume without content = true, want false")
		}
	})
}

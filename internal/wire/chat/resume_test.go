package chat

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
)

// sentLines joins the data of sent events with line breaks, in the form that Resume expects.
func sentLines(events []llm.Event) []byte {
	var lines [][]byte
	for _, ev := range events {
		lines = append(lines, ev.Data)
	}
	return bytes.Join(lines, []byte("\n"))
}

func TestResumedResponseEqualsAnUninterruptedOne(t *testing.T) {
	t.Parallel()
	req := chatRequest(t, true, "")
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.StringN(1, 10, -1), 1, 8).Draw(t, "texts")
		n := rapid.IntRange(1, len(texts)).Draw(t, "model-before-the-break")
		pieces := []llm.Delta{{Kind: llm.BeginDelta, ID: "msg_1", Model: "real"}}
		delivered := ""
		for i, text := range texts {
			pieces = append(pieces, llm.Delta{Kind: llm.TextDelta, Text: text})
			if i < n {
				delivered += text
			}
		}
		pieces = append(pieces,
			llm.Delta{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "call_1", Name: "look", Arguments: "{}"}},
			llm.Delta{Kind: llm.FinishDelta, Finish: "tool_calls"},
			llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 3, Output: 4}})
		whole, err := collect(dated.EncodeResponse(req, "m", sequence(pieces, nil)))
		if err != nil {
			t.Fatal(err)
		}
		before := whole[:n+1] // the first chunk has the role

		rest, ok := Format{}.Resume(req, sentLines(before))

		if !ok || rest.Text != delivered {
			t.Fatalf("Resume after %q = %q, %t", delivered, rest.Text, ok)
		}
		after := append([]llm.Delta{{Kind: llm.BeginDelta, ID: "another", Model: "real"}}, pieces[n+1:]...)
		got, err := collect(rest.Encode(sequence(after, nil)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole[n+1:], got); diff != "" {
			t.Error(diff)
		}
	})
}

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

func TestResumeKeepsTheProvidersIDAndModel(t *testing.T) {
	t.Parallel()
	sent := `{"id":"odd id","created":17,"model":"canon","choices":[{"index":0,"delta":{"content":"x"}}]}`

	rest, ok := dated.Resume(chatRequest(t, true, ""), []byte(sent))
	if !ok {
		t.Fatal("Resume = false, want true")
	}
	got, err := collect(rest.Encode(sequence([]llm.Delta{{Kind: llm.TextDelta, Text: "y"}, {Kind: llm.FinishDelta}}, nil)))

	want := `{"id":"odd id","object":"chat.completion.chunk","created":17,"model":"canon","choices":[{"index":0,"delta":{"content":"y"},"logprobs":null,"finish_reason":null}]}`
	if err != nil || string(got[0].Data) != want {
		t.Errorf("event %s (%v), want %s", got[0].Data, err, want)
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

func TestPrefixIsMarkedForVendorsThatRequireIt(t *testing.T) {
	t.Parallel()
	req, err := Format{}.Prefill(t.Context(), chatRequest(t, false, ""), "so", 0)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"so","prefix":true}]}`
	if got := string(Render(req, Edit{Prefix: true})); got != want {
		t.Errorf("Render = %s, want %s", got, want)
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

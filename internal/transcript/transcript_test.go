package transcript

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/responses"
)

// sampleDeltas returns a response with thinking, text and a tool call.
func sampleDeltas() []llm.Delta {
	return []llm.Delta{
		{Kind: llm.BeginDelta, ID: "a1"},
		{Kind: llm.ThinkingDelta, Text: "hm"},
		{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s1", Provider: "p"}},
		{Kind: llm.TextDelta, Text: "It is "},
		{Kind: llm.TextDelta, Text: "12 °C."},
		{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "c1", Name: "look", Arguments: `{"at":1}`}},
		{Kind: llm.FinishDelta, Finish: "tool_calls"},
		{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 3, Output: 9}},
	}
}

func each(pieces []llm.Delta) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
	}
}

// stored returns a stream in the form stored in the log: one event per line.
func stored(t *testing.T, f wire.Format, pieces []llm.Delta) []byte {
	t.Helper()
	var lines []string
	for ev, err := range f.EncodeResponse(&llm.Request{ResponseOptions: llm.ResponseOptions{Stream: true}}, "m", each(pieces)) {
		if err != nil {
			break // the stream is interrupted
		}
		if ev.Data != nil {
			lines = append(lines, string(ev.Data))
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// decodeAnswer is a decoded response in the chat format.
type decodeAnswer struct {
	Content string
	Calls   []string
	Finish  string
}

func readChat(t *testing.T, answer []byte) decodeAnswer {
	t.Helper()
	var whole struct {
		Choices []struct {
			FinishReason string `json:"finish_reason"`
			Message      struct {
				Content   string
				ToolCalls []struct {
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
		}
	}
	if err := json.Unmarshal(answer, &whole); err != nil || len(whole.Choices) != 1 {
		t.Fatalf("decode %s: %v", answer, err)
	}
	c := whole.Choices[0]
	h := decodeAnswer{Content: c.Message.Content, Finish: c.FinishReason}
	for _, call := range c.Message.ToolCalls {
		h.Calls = append(h.Calls, call.Function.Name+call.Function.Arguments)
	}
	return h
}

var foreign = map[string]struct {
	format  wire.Format
	request string
}{
	anthropic.Name: {anthropic.Format{}, `{"model":"m","max_tokens":9,"system":"be brief","messages":[{"role":"user","content":"how cold?"}]}`},
	gemini.Name:    {gemini.Format{}, `{"systemInstruction":{"parts":[{"text":"be brief"}]},"contents":[{"role":"user","parts":[{"text":"how cold?"}]}]}`},
	responses.Name: {responses.Format{}, `{"model":"m","instructions":"be brief","input":"how cold?"}`},
}

// fold folds the events of a response in the same way as the gateway does for the log.
func fold(b *requestlog.Body) {
	var f requestlog.Folder
	var folded []byte
	for event := range bytes.SplitSeq(b.Response, []byte("\n")) {
		head, news := f.Fold(event)
		folded = append(append(folded, head...), news...)
	}
	b.Response, b.Folded = folded, true
}

func TestTranscriptConvertsOtherFormatsToChat(t *testing.T) {
	t.Parallel()
	want := decodeAnswer{Content: "It is 12 °C.", Calls: []string{`look{"at":1}`}, Finish: "tool_calls"}
	for name, tc := range foreign {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := requestlog.Entry{Call: requestlog.Call{Format: name}, Body: requestlog.Body{
				Request: []byte(tc.request), Response: stored(t, tc.format, sampleDeltas()), Streamed: true,
			}}
			_, streamed := ToChat(name, e.Body)
			fold(&e.Body)
			AssembleResponse(&e)
			request, whole := ToChat(name, e.Body)

			if e.Body.Streamed {
				t.Error("a complete stream was not joined")
			}
			for kind, answer := range map[string][]byte{"stream": streamed, "whole": whole} {
				if diff := cmp.Diff(want, readChat(t, answer)); diff != "" {
					t.Errorf("%s: %s", kind, diff)
				}
			}
			var asked struct {
				Messages []struct{ Role, Content string }
			}
			if err := json.Unmarshal(request, &asked); err != nil || len(asked.Messages) != 2 || asked.Messages[1].Content != "how cold?" {
				t.Errorf("request converted to %s (%v), want two messages", request, err)
			}
		})
	}
}

func TestTranscriptOfAnInterruptedResponseIsPartial(t *testing.T) {
	t.Parallel()
	body := requestlog.Body{Request: []byte(foreign[anthropic.Name].request), Response: stored(t, anthropic.Format{}, sampleDeltas()[:4]), Streamed: true}

	_, answer := ToChat(anthropic.Name, body)

	if got := readChat(t, answer); !strings.HasPrefix(got.Content, "It is") || got.Finish != "" {
		t.Errorf("response %+v, want the beginning without a finish reason", got)
	}
}

func TestTranscriptOfAnInvalidBodyIsEmpty(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"chat", anthropic.Name, responses.Name, "unknown"} {
		request, response := ToChat(format, requestlog.Body{Request: []byte("{"), Response: []byte("<html>")})
		if request != nil || response != nil {
			t.Errorf("%s: request %q, response %q; want none", format, request, response)
		}
	}
}

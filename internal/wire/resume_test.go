package wire_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

// resumable lists the streaming formats with the events of an interrupted text, one per line, and streams that cannot be resumed.
var resumable = []struct {
	format   wire.Resumer
	text     string
	rejected map[string]string
}{
	{openai.Format{}, chatText, map[string]string{
		"no content":        chatHead + `{"index":0,"delta":{"role":"assistant","content":""}}]}`,
		"reasoning":         chatHead + `{"index":0,"delta":{"reasoning_content":"hm"}}]}` + "\n" + chatText,
		"a refusal":         chatText + "\n" + chatHead + `{"index":0,"delta":{"refusal":"no"}}]}`,
		"a tool call":       chatText + "\n" + chatHead + `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{"}}]}}]}`,
		"a finish":          chatText + "\n" + chatHead + `{"index":0,"delta":{},"finish_reason":"stop"}]}`,
		"another choice":    chatText + "\n" + chatHead + `{"index":1,"delta":{"content":"y"}}]}`,
		"a truncated event": chatText + "\n" + chatHead,
	}},
	{anthropic.Format{}, messagesStart + messagesOpen + `{"type":"ping"}` + "\n" + messagesText, map[string]string{
		"no content":              messagesStart + messagesOpen,
		"a closed block":          messagesStart + messagesOpen + messagesText + messagesStop,
		"thinking":                messagesStart + `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
		"a tool call":             messagesStart + messagesOpen + messagesText + messagesStop + `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}`,
		"arguments":               messagesStart + messagesOpen + messagesText + `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`,
		"citations":               messagesStart + messagesOpen + messagesText + `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{}}}`,
		"a finish":                messagesStart + messagesOpen + messagesText + `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
		"a truncated event":       messagesStart + messagesOpen + messagesText + `{"type":"content_bl`,
		"an unknown event":        messagesStart + messagesOpen + messagesText + `{"type":"news"}`,
		"a block without a start": messagesStart + messagesText,
	}},
	{responses.Format{}, responsesItem + responsesPart + responsesText, map[string]string{
		"no content":          responsesItem + responsesPart,
		"reasoning":           responsesStart + `{"type":"response.output_item.added","item":{"id":"rs_1","type":"reasoning"}}`,
		"a tool call":         responsesItem + responsesPart + responsesText + `{"type":"response.output_item.added","item":{"id":"fc_1","type":"function_call"}}`,
		"a refusal":           responsesItem + `{"type":"response.content_part.added","part":{"type":"refusal"}}`,
		"a closed text":       responsesItem + responsesPart + responsesText + `{"type":"response.output_text.done","text":"x"}`,
		"a finish":            responsesItem + responsesPart + responsesText + `{"type":"response.completed"}`,
		"a truncated event":   responsesItem + responsesPart + responsesText + `{"type":"resp`,
		"text without a part": responsesItem + responsesText,
	}},
	{gemini.Format{Model: "m", Stream: true}, geminiHead + `{"text":"x"}` + geminiTail, map[string]string{
		"a thought":   geminiHead + `{"text":"a","thought":true}` + geminiTail,
		"a tool call": geminiHead + `{"functionCall":{"name":"f"}}` + geminiTail,
		"signed text": geminiHead + `{"text":"a","thoughtSignature":"s"}` + geminiTail,
	}},
}

const (
	chatHead       = `{"id":"a","created":7,"model":"m","choices":[`
	chatText       = chatHead + `{"index":0,"delta":{"content":"x"}}]}`
	messagesStart  = `{"type":"message_start","message":{"id":"msg_1","model":"m"}}` + "\n"
	messagesOpen   = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n"
	messagesText   = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}` + "\n"
	messagesStop   = `{"type":"content_block_stop","index":0}` + "\n"
	responsesStart = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","created_at":7,"model":"m"}}` + "\n"
	responsesItem  = responsesStart + `{"type":"response.output_item.added","sequence_number":1,"item":{"id":"msg_1","type":"message"}}` + "\n"
	responsesPart  = `{"type":"response.content_part.added","sequence_number":2,"part":{"type":"output_text"}}` + "\n"
	responsesText  = `{"type":"response.output_text.delta","sequence_number":3,"delta":"x"}` + "\n"
	geminiHead     = `{"candidates":[{"content":{"parts":[`
	geminiTail     = `],"role":"model"},"index":0}],"modelVersion":"large","responseId":"r1"}`
)

var streaming = &llm.Request{Op: llm.Chat, ResponseOptions: llm.ResponseOptions{Stream: true}}

func TestOnlyPlainTextCanBeResumed(t *testing.T) {
	t.Parallel()
	for _, f := range resumable {
		if rest, ok := f.format.Resume(streaming, []byte(f.text)); !ok || rest.Text != "x" {
			t.Errorf("%T: Resume = %q, %t; want the text, true", f.format, rest.Text, ok)
		}
		for name, sent := range f.rejected {
			if rest, ok := f.format.Resume(streaming, []byte(sent)); ok {
				t.Errorf("%T, %s: Resume = %q, true; want false", f.format, name, rest.Text)
			}
		}
	}
	probabilities, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true,"logprobs":true}`))
	if err != nil {
		t.Fatal(err)
	}
	if rest, ok := (openai.Format{}).Resume(probabilities, []byte(chatText)); ok {
		t.Errorf("log probabilities: Resume = %q, true; want false", rest.Text)
	}
}

// An empty want means that only the decoded conversation is compared.
func TestPrefillAppendsAnAssistantMessage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		format     wire.Resumer
		body, want string
	}{
		{openai.Format{}, `{"model":"m","messages":[{"role":"user","content":"x"}],"stream":true}`, `{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"so\n\"far\""}],"stream":true}`},
		{
			openai.Format{},
			`{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":9,"max_completion_tokens":null,"stream":true}`,
			`{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"so\n\"far\""}],"max_tokens":5,"max_completion_tokens":null,"stream":true}`,
		},
		{
			anthropic.Format{},
			`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"} ],"stream":true}`,
			`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"so\n\"far\""}],"stream":true}`,
		},
		{responses.Format{}, `{"model":"m","input":"x","max_output_tokens":9}`, ""},
		{responses.Format{}, `{"model":"m","input":[{"role":"user","content":"x"} ],"max_output_tokens":9}`, ""},
		{responses.Format{}, `{"model":"m","input":"x","max_output_tokens":5}`, ""},
		{gemini.Format{Model: "m"}, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":9}}`, ""},
	} {
		format := tc.format.(wire.Format)
		req, err := format.DecodeRequest(t.Context(), llm.Chat, []byte(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := tc.format.Prefill(t.Context(), req, "so\n\"far\"", 5)
		if err != nil {
			t.Fatal(err)
		}
		if tc.want != "" && string(got.Body) != tc.want {
			t.Errorf("%s: prefilled body %s, want %s", tc.body, got.Body, tc.want)
		}
		conv, err := got.Translate()
		if err != nil {
			t.Fatal(err)
		}
		want := []llm.Message{
			{Role: llm.User, Parts: []llm.Part{{Kind: llm.TextPart, Text: "x"}}},
			{Role: llm.Assistant, Parts: []llm.Part{{Kind: llm.TextPart, Text: "so\n\"far\""}}},
		}
		aboveLimit := strings.Contains(tc.body, "max") && got.MaxOutput != 5
		if diff := cmp.Diff(want, conv.Messages); diff != "" || aboveLimit || got.Messages != 2 || got.Answers != 1 || string(req.Body) != tc.body {
			t.Errorf("%s: max output %d, %d messages, %d answers; messages (-want +got):\n%s", tc.body, got.MaxOutput, got.Messages, got.Answers, diff)
		}
	}
}

func FuzzResume(f *testing.F) {
	for i, format := range resumable {
		f.Add(uint8(i), []byte(format.text))
	}
	f.Add(uint8(0), []byte("\n{}\n[]\nnull"))
	f.Fuzz(func(t *testing.T, i uint8, sent []byte) {
		if rest, ok := resumable[int(i)%len(resumable)].format.Resume(streaming, sent); ok && rest.Text == "" {
			t.Error("Resume without content = true, want false")
		}
	})
}

package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
)

// invalidEvent checks that the data of an event is one JSON object with the canonical model and without an error member. It
// returns a description of the problem, or an empty string.
func invalidEvent(data []byte, model string) string {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Sprintf("%q is not a JSON object: %v", data, err)
	}
	var name string
	if err := json.Unmarshal(members["model"], &name); err != nil || name != model {
		return fmt.Sprintf("%q names the model %s", data, members["model"])
	}
	if _, ok := members["error"]; ok {
		return fmt.Sprintf("%q has an error member", data)
	}
	return ""
}

// drawMessage generates a delta or message with members in any order and in every form that providers send.
func drawMessage(t *rapid.T) string {
	text := rapid.SampledFrom([]string{`""`, `"Ahoy"`, `"grüße \" \u2028 \\"`, `"\ud83d"`, `null`, `7`})
	part := rapid.SampledFrom([]string{
		`{"type":"text","text":"a\"b"}`, `{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}`, `{"thinking":"x","type":"thinking"}`,
		`{"type":"reference","reference_ids":[1]}`, `"bare"`, `null`, `{"type":"text","text":null}`, `{"type":"thinking","thinking":[null,"y",{}]}`, `[]`,
	})
	var members []string
	if rapid.Bool().Draw(t, "content") {
		if rapid.Bool().Draw(t, "listed") {
			members = append(members, `"content": [`+strings.Join(rapid.SliceOfN(part, 0, 4).Draw(t, "parts"), " , ")+`]`)
		} else {
			members = append(members, `"content":`+text.Draw(t, "text"))
		}
	}
	for _, name := range []string{"role", "reasoning_content", "reasoning", "refusal"} {
		if rapid.Bool().Draw(t, name) {
			members = append(members, `"`+name+`":`+text.Draw(t, "text"))
		}
	}
	if rapid.Bool().Draw(t, "calls") {
		members = append(members, `"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{"}}]`)
	}
	return `{` + strings.Join(rapid.Permutation(members).Draw(t, "order"), `,`) + `}`
}

// drawAnswer generates a chunk or a complete response with messages from drawMessage.
func drawAnswer(t *rapid.T, says string) string {
	finish := rapid.SampledFrom([]string{`null`, `"stop"`, `"eos"`, `"end_turn"`, `"model_length"`, `"max_tokens"`, `"tool_calls"`, `"odd \"word"`})
	var choices []string
	for n := range rapid.IntRange(0, 3).Draw(t, "choices") {
		members := []string{fmt.Sprintf(`"index":%d`, n), fmt.Sprintf(`%q: %s`, says, drawMessage(t)), `"finish_reason" :` + finish.Draw(t, "finish")}
		choices = append(choices, `{`+strings.Join(rapid.Permutation(members).Draw(t, "order"), `, `)+`}`)
	}
	members := []string{`"choices":[` + strings.Join(choices, ",") + `]`}
	for _, m := range []struct {
		name   string
		values []string
	}{
		{"model", []string{`"up-1"`, `null`, `""`, `{"x":1}`}},
		{"error", []string{`null`}},
		{"id", []string{`"c1"`, `null`, `1`}},
		{"created", []string{`1700000000`, `null`}},
		{"usage", []string{`null`, `{"prompt_tokens":3,"completion_tokens":2,"total_tokens":9}`, `{"prompt_tokens":-1}`, `{"total_tokens":4}`}},
		{"x", []string{`{"error":1,"model":"no"}`}},
	} {
		if rapid.Bool().Draw(t, m.name) {
			members = append(members, fmt.Sprintf(`%q:%s`, m.name, rapid.SampledFrom(m.values).Draw(t, m.name)))
		}
	}
	return `{ ` + strings.Join(rapid.Permutation(members).Draw(t, "order"), ` ,`) + ` }`
}

func TestEveryEventIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := EventOptions{Stream: rapid.Bool().Draw(t, "stream"), Model: rapid.SampledFrom([]string{"canon", `q"uote\\ü`}).Draw(t, "canon")}
		o.Warn = func(what string) {
			if strings.Contains(what, "not a JSON object") {
				t.Fatalf("warning for a valid JSON response: %s", what)
			}
		}
		var body string
		if o.Stream && rapid.Bool().Draw(t, "in pieces") {
			for range rapid.IntRange(1, 5).Draw(t, "chunks") {
				body += "data: " + drawAnswer(t, "delta") + "\n\n"
			}
			body += "data: [DONE]\n\n"
		} else {
			body = drawAnswer(t, "message")
		}
		for ev, err := range llm.All(Read(strings.NewReader(body), o)) {
			if err != nil {
				if e, ok := errors.AsType[*llm.Error](err); !ok || strings.Contains(e.Message, "not a JSON object") {
					t.Fatalf("response %s\nended with %v", body, err)
				}
				break
			}
			if problem := invalidEvent(ev.Data, o.Model); problem != "" {
				t.Fatalf("response %s\nhas an invalid event: %s", body, problem)
			}
			if bytes.Contains(ev.Data, []byte(`"content": [`)) {
				t.Fatalf("response %s\nhas an event with a content list: %s", body, ev.Data)
			}
			for _, word := range []string{`"eos"`, `"end_turn"`, `"model_length"`, `"max_tokens"`} {
				if bytes.Contains(ev.Data, []byte(word)) {
					t.Fatalf("response %s\nhas the provider's finish reason %s: %s", body, word, ev.Data)
				}
			}
		}
	})
}

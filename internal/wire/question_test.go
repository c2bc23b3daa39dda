package wire_test

import (
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

func TestLastQuestionIsFound(t *testing.T) {
	t.Parallel()
	const turns = `{"role":"user","content":"First"},{"role":"assistant","content":"One"},{"role":"user","content":[{"type":"KIND","text":"Second\nline"}]},{"role":"assistant","content":"Two"}]}`
	for body, format := range map[string]wire.Format{
		`{"model":"auto","messages":[{"role":"system","content":"Be \"brief\"."},` + turns: openai.Format{},
		`{"model":"auto","max_tokens":9,"system":"Be \"brief\".","messages":[` + turns:     anthropic.Format{},
		`{"model":"auto","instructions":"Be \"brief\".","input":[` + turns:                 responses.Format{},
	} {
		kind := "text"
		if format.Name() == "responses" {
			kind = "input_text"
		}
		req, err := format.DecodeRequest(t.Context(), llm.Chat, []byte(strings.Replace(body, "KIND", kind, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := [...]any{req.Asked, req.Answers}; got != [...]any{"Second\nline", 2} {
			t.Errorf("%s: question and answers %q", format.Name(), got)
		}
	}
}

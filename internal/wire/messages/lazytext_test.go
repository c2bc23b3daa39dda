package messages

import (
	"testing"

	"fairlead.dev/internal/llm"
)

func TestLazyTextReturnsPromptAndInstructions(t *testing.T) {
	t.Parallel()
	req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"auto","max_tokens":9,"system":"Be \"brief\".","messages":[{"role":"user","content":"First"},{"role":"assistant","content":"One"},{"role":"user","content":[{"type":"text","text":"Second\nline"}]},{"role":"assistant","content":"Two"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := req.Asked.Text(100), "Second\nline"; got != want {
		t.Errorf("Asked = %q, want %q", got, want)
	}
	if got, want := req.Instructed.Text(100), `Be "brief".`; got != want {
		t.Errorf("Instructed = %q, want %q", got, want)
	}
	if req.Answers != 2 {
		t.Errorf("Answers = %d, want 2", req.Answers)
	}
}

package responses

import (
	"strings"
	"testing"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/strict"
)

func TestDecodeRejectsTooManyItems(t *testing.T) {
	t.Parallel()
	for name, item := range map[string]string{
		"messages": `{"role":"user","content":"x"},`,
		"numbers":  `1,`,
	} {
		body := `{"model":"m","input":[` + strings.Repeat(item, strict.MaxElements+1) + `1]}`
		_, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
		if e := llm.AsError(err); err == nil || e.Kind != llm.InvalidRequest || e.Param != "input" || !strings.Contains(e.Message, "more than") {
			t.Errorf("%s: %v, want InvalidRequest for input", name, err)
		}
	}
}

package predict_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/wire/chat"
)

// FuzzRead checks that any valid request can be read, with the same result every time.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"auto","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"a","arguments":"{"}}]},{"role":"tool","tool_call_id":"1","content":"Error"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := chat.Format{}.DecodeRequest(context.Background(), llm.Chat, body)
		if err != nil || !json.Valid(body) {
			return
		}
		if diff := cmp.Diff(predict.Read(req), predict.Read(req)); diff != "" {
			t.Error(diff)
		}
	})
}

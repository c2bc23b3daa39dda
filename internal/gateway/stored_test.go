package gateway_test

import (
	"strings"
	"testing"

	"fairlead/internal/llm"
	"fairlead/internal/wire/responses"
)

func TestStoredResponseOfARemovedAccountIsNotFound(t *testing.T) {
	t.Parallel()
	k := newKit(t, func(k *kit) { k.inside = true })
	for _, stored := range []llm.StoredResponse{
		{Provider: "removed", Credential: "removed#1", ID: "resp_1"},
		{Provider: "alpha", Credential: "alpha#9", ID: "resp_1"},
	} {
		got := k.post("/responses", `{"model":"auto","input":"more","previous_response_id":"`+responses.StoredID(stored)+`"}`)
		if got.status != 404 || !strings.Contains(got.body, "no longer available") {
			t.Errorf("%s: status %d: %s", stored.Credential, got.status, got.body)
		}
	}
}

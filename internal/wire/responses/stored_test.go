package responses

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/llm"
)

func TestStoredIDsNameTheAccount(t *testing.T) {
	t.Parallel()
	want := llm.StoredResponse{Provider: "openai", Credential: "openai#2", ID: "resp_68a1"}
	body := `{"model":"auto","input":"more","previous_response_id":"` + StoredID(want) + `","provider":{"ignore":["azure"]}}`
	req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, req.Stored); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"openai"}, req.Controls.Provider.Only); diff != "" {
		t.Error(diff)
	}
	if !req.Needs.Has(llm.ResponsesAPI) || !req.Hosted {
		t.Errorf("needs %s, hosted %t", req.Needs, req.Hosted)
	}
	_, err = Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(strings.Replace(body, "ignore", "only", 1)))
	if e := llm.AsError(err); e == nil || e.Kind != llm.InvalidRequest {
		t.Errorf("another provider is required: got %v", err)
	}
	for _, id := range []string{"resp_68a1", storedPrefix, storedPrefix + "!!", storedPrefix + "YQ", strings.TrimSuffix(StoredID(llm.StoredResponse{Provider: "a", ID: "b"}), "Yg") + "AA"} {
		_, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m","input":"x","previous_response_id":"`+id+`"}`))
		if e := llm.AsError(err); e == nil || e.Kind != llm.InvalidRequest {
			t.Errorf("%s: got %v", id, err)
		}
	}
}

func TestResponsesAreStoredUnlessTheClientDeclines(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"model":"m","input":"x"}`:               true,
		`{"model":"m","input":"x","store":null}`:  true,
		`{"model":"m","input":"x","store":true}`:  true,
		`{"model":"m","input":"x","store":false}`: false,
	} {
		req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := Stores(req); got != want {
			t.Errorf("%s is stored: %t, want %t", body, got, want)
		}
	}
}

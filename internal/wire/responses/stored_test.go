package responses

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func newStoredIDs(t *testing.T, key byte) StoredIDs {
	t.Helper()
	ids, err := NewStoredIDs(bytes.Repeat([]byte{key}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestStoredIDsNameTheAccount(t *testing.T) {
	t.Parallel()
	ids := newStoredIDs(t, 1)
	want := llm.StoredResponse{Workspace: "ws_1", Provider: "openai", Credential: "openai#2", ID: "resp_68a1"}
	id := ids.Seal(want)
	if other := newStoredIDs(t, 1).Seal(want); other != id {
		t.Errorf("another replica seals the ID as %[2]s, want %[1]s", id, other)
	}
	got, ok := ids.Open("ws_1", id)
	if !ok {
		t.Fatal("Open of a sealed ID = false")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestForgedStoredIDsAreUnknown(t *testing.T) {
	t.Parallel()
	ids := newStoredIDs(t, 1)
	stored := llm.StoredResponse{Workspace: "ws_1", Provider: "openai", Credential: "openai#2", ID: "resp_1"}
	id := ids.Seal(stored)
	forged := map[string]string{
		"of the provider":    "resp_68a1",
		"empty":              "",
		"prefix":             storedPrefix,
		"not base64":         storedPrefix + "!!",
		"short":              storedPrefix + "YQ",
		"of another key":     newStoredIDs(t, 2).Seal(stored),
		"of another account": id[:len(id)-4] + "AAAA",
		"extended":           id + "AAAA",
	}
	stored.Workspace = "ws_2"
	forged["of another workspace"] = ids.Seal(stored)
	for i := len(storedPrefix); i < len(id); i++ {
		changed := []byte(id)
		changed[i] = 'A' + (changed[i]-'A'+1)%26
		forged["changed at "+string(rune('0'+i))] = string(changed)
	}
	for name, id := range forged {
		if got, ok := ids.Open("ws_1", id); ok {
			t.Errorf("Open of an ID %s = %+v, want false", name, got)
		}
	}
}

func TestStoredObjectsNeedTheResponsesAPI(t *testing.T) {
	t.Parallel()
	type facts struct {
		Previous, Account string
		Hosted            bool // whether the prompt length is unknown, because the provider adds text
		Unsized           int
	}
	for members, want := range map[string]facts{
		`"previous_response_id":"resp_fl_1"`:                           {Previous: "resp_fl_1", Hosted: true},
		`"conversation":"conv_1"`:                                      {Account: "conversation", Hosted: true},
		`"conversation":{"id":"conv_1"}`:                               {Account: "conversation", Hosted: true},
		`"prompt":{"id":"pmpt_1","version":"2","variables":{"a":"b"}}`: {Hosted: true},
		`"input":[{"type":"item_reference","id":"msg_1"}]`:             {Account: "input[0]", Hosted: true},
		`"input":[{"type":"computer_call_output","call_id":"c"}]`:      {Unsized: 1},
		`"input":[{"type":"mcp_approval_response","approve":true}]`:    {Unsized: 1},
		`"input":[{"type":"compaction","encrypted_content":"x"}]`:      {Unsized: 1},
	} {
		req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(`{"model":"m",`+members+`}`))
		if err != nil {
			t.Errorf("%s: %v", members, err)
			continue
		}
		if diff := cmp.Diff(want, facts{req.Previous, req.Account, req.Hosted, req.Unsized}); diff != "" {
			t.Errorf("%s: %s", members, diff)
		}
		if !req.Needs.Has(llm.ResponsesAPI) {
			t.Errorf("%s: Needs = %s, want the Responses API", members, req.Needs)
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
		req := decode(t, body)
		if got := req.Stores; got != want {
			t.Errorf("Stores of %s = %t, want %t", body, got, want)
		}
	}
}

func FuzzOpenStoredID(f *testing.F) {
	ids, err := NewStoredIDs(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ids.Seal(llm.StoredResponse{Workspace: "ws_1", Provider: "openai", Credential: "openai#1", ID: "resp_1"}))
	f.Add(storedPrefix + strings.Repeat("A", 40))
	f.Fuzz(func(t *testing.T, id string) {
		if got, ok := ids.Open("ws_1", id); ok && ids.Seal(got) != id {
			t.Errorf("Open(%q) = %+v, whose ID differs", id, got)
		}
	})
}

package messages

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/rawjson"
)

func TestRewriteKeepsBytes(t *testing.T) {
	t.Parallel()
	req := decoded(t, `{ "models":["x"], "model" : "auto", "max_tokens":1 , "x":1.0,"provider":{},
		"messages":[{"role":"user","content":"\u00e4 fairlead."}],"session_id":"s" }`)
	for name, tc := range map[string]struct {
		edit Edit
		want string
	}{
		"the model": {Edit{Model: "m"}, `{ "model" : "m", "max_tokens":1 , "x":1.0,
		"messages":[{"role":"user","content":"\u00e4 fairlead."}] }`},
		"more": {Edit{Model: "m", Drop: []string{"model"}, Set: map[string][]byte{"max_tokens": []byte("2"), "absent": []byte("3")}}, `{ "max_tokens":2 , "x":1.0,
		"messages":[{"role":"user","content":"\u00e4 fairlead."}] }`},
	} {
		got, lost := Rewrite(req, tc.edit)
		if diff := cmp.Diff(tc.want, string(got)); diff != "" || lost {
			t.Errorf("%s: %t\n%s", name, lost, diff)
		}
		if !rawjson.Valid(got) {
			t.Errorf("%s: not JSON", name)
		}
	}
}

func TestRewriteDropsEmptyThinking(t *testing.T) {
	t.Parallel()
	const (
		head   = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[`
		tail   = `{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}`
		silent = `{"type":"thinking","thinking":"","signature":"sig"},` // the client asked to omit the text
	)
	for name, tc := range map[string]struct {
		blocks, want string
		lost         bool
	}{
		"empty":                {`{"type":"thinking","thinking":"","signature":""},`, "", true},
		"without a signature":  {`{"type":"thinking", "thinking": ""},`, "", true},
		"omitted but signed":   {silent, silent, false},
		"empty after a signed": {silent + `{"type":"thinking","thinking":"","signature":""},`, silent, true},
	} {
		got, lost := Rewrite(decoded(t, head+tc.blocks+tail), Edit{})
		if diff := cmp.Diff(head+tc.want+tail, string(got)); diff != "" || lost != tc.lost {
			t.Errorf("%s: lost %t\n%s", name, lost, diff)
		}
	}
}

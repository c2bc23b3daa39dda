package anthropic

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// rewritten returns the pieces of an edited request as one body.
func rewritten(req *llm.Request, e Edit) (body []byte, lost bool) {
	pieces, lost := Pieces(req, e)
	return bytes.Join(pieces, nil), lost
}

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
		"more": {Edit{Model: "m", Set: map[string][]byte{"model": nil, "max_tokens": []byte("2"), "absent": []byte("3"), "gone": nil}}, `{ "max_tokens":2 , "x":1.0,
		"messages":[{"role":"user","content":"\u00e4 fairlead."}],"absent":3 }`},
	} {
		got, lost := rewritten(req, tc.edit)
		if diff := cmp.Diff(tc.want, string(got)); diff != "" || lost {
			t.Errorf("%s: lost %t, body (-want +got):\n%s", name, lost, diff)
		}
		if !rawjson.Valid(got) {
			t.Errorf("%s: invalid JSON", name)
		}
	}
}

func TestRewriteDropsEmptyThinking(t *testing.T) {
	t.Parallel()
	const (
		head     = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[`
		tail     = `{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}`
		silent   = `{"type":"thinking","thinking":"","signature":"sig"},` // thinking without text, which the client asked to omit
		unsigned = `{"type":"thinking","thinking":"a","signature":""},`
	)
	for name, tc := range map[string]struct {
		blocks, want string
		lost         bool
	}{
		"empty":               {`{"type":"thinking","thinking":"","signature":""},`, "", true},
		"without a signature": {`{"type":"thinking", "thinking": ""},`, "", true},
		"without text":        {`{"type":"thinking","signature":""},`, "", true},
		"null":                {`{"type":"thinking","thinking":null,"signature": null},`, "", true},
		"redacted":            {`{"type":"redacted_thinking","data":""},`, "", true},
		"unsigned":            {unsigned, unsigned, false},
		"omitted but signed":  {silent, silent, false},
		"empty after signed":  {silent + `{"type":"thinking","thinking":"","signature":""},`, silent, true},
	} {
		got, lost := rewritten(decoded(t, head+tc.blocks+tail), Edit{})
		if diff := cmp.Diff(head+tc.want+tail, string(got)); diff != "" || lost != tc.lost {
			t.Errorf("%s: lost %t, want %t, body (-want +got):\n%s", name, lost, tc.lost, diff)
		}
	}
}

func TestRewriteMergesSystemTurns(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string][2]string{
		"after a text":          {`[{"role":"user","content":"a\n"},{"role":"system","content":"b"}]`, `[{"role":"user","content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]}]`},
		"after blocks":          {`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"}], "x":1},{"role":"system","content":[{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":"c"}]`, `[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"r"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}], "x":1},{"role":"assistant","content":"c"}]`},
		"twice":                 {`[{"role":"user","content":"a"},{"role":"system","content":"b"},{"role":"system","content":"c"}]`, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"c"}]}]`},
		"after the assistant":   {`[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"system","content":"c"}]`, `[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`},
		"changes of tools":      {`[{"role":"user","content":"a"},{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"f"}},{"type":"tool_removal","tool":{"type":"tool_reference","name":"g"}}]}]`, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"The tool f is available."},{"type":"text","text":"The tool g is not available any more."}]}]`},
		"the words in a prompt": {`[{"role":"user","content":"\"role\":\"system\""}]`, `[{"role":"user","content":"\"role\":\"system\""}]`},
	} {
		req := decoded(t, `{"model":"m","max_tokens":1,"messages":`+tc[0]+`}`)
		got, _ := rewritten(req, Edit{NoSystemTurns: true})
		if diff := cmp.Diff(`{"model":"m","max_tokens":1,"messages":`+tc[1]+`}`, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if kept, _ := rewritten(req, Edit{}); string(kept) != string(req.Body) {
			t.Errorf("%s: body changed for a model that accepts the role: %s", name, kept)
		}
	}
}

// TestRewriteDropsForeignCitations checks that citations created by the gateway are not sent to a provider, which would
// reject them.
func TestRewriteDropsForeignCitations(t *testing.T) {
	t.Parallel()
	const (
		head = `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[`
		tail = `]},{"role":"user","content":"c"}]}`
		own  = `{"type":"text","text":"b","citations":[{"type":"web_search_result_location","url":"u","encrypted_index":"x"}]}`
		ours = `{"type":"text","text":"b","citations":[{"type":"web_search_result_location","url":"u","encrypted_index":"fairlead.citation"}]}`
	)
	for blocks, want := range map[string]string{own: own, ours: `{"type":"text","text":"b"}`, own + "," + ours: own + `,{"type":"text","text":"b"}`} {
		got, lost := rewritten(decoded(t, head+blocks+tail), Edit{})
		if diff := cmp.Diff(head+want+tail, string(got)); diff != "" || lost {
			t.Errorf("lost %t, body (-want +got):\n%s", lost, diff)
		}
	}
}

func TestRewrittenRequestsAreNotPlain(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		`{"role":"user","content":"\"thinking\":\"\" fairlead."}`:                                           true,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"sig"}]}`:             true,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":""}]}`:                 false,
		`{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"fairlead.e30"}]}`:    false,
		`{"role":"assistant","content":[{"type":"redacted_thinking","data":"fairlead.e30"}]}`:               false,
		`{"role":"assistant","content":[{"type":"redacted_thinking","data":"d"}]}`:                          true,
		`{"role":"assistant","content":[{"type":"text","text":"a","citations":[{"encrypted_index":"x"}]}]}`: false,
		`{"role":"system","content":"a"}`:                                                                   false,
	} {
		if got := decoded(t, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"},`+message+`]}`).Plain; got != want {
			t.Errorf("%s: Plain = %t, want %t", message, got, want)
		}
	}
}

package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestSignaturesAreNotForwarded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		messages, want string
		sealed         bool
	}{
		"none": {
			`[ {"role":"user", "content":"x"} ]`,
			`[ {"role":"user", "content":"x"} ]`, false,
		},
		"ours": {
			`[{"role":"assistant","thinking_blocks":[{"type":"thinking","thinking":"a","signature":"s","provider":"p"}],"content":null,"tool_calls":[{"extra_content":{"google":{"thought_signature":"s"},"fairlead":{"provider":"p"}},"id":"c","function":{"name":"f","arguments":"{ \"a\": 1.0 }"}}]}]`,
			`[{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{ \"a\": 1.0 }"}}]}]`, true,
		},
		"signatures of other tools": {
			`[{"role":"assistant","thinking_blocks":[{"thinking":"a","signature":"s"}],"tool_calls":[{"id":"c","extra_content":{"google":{"thought_signature":"s"}}}]}]`,
			`[{"role":"assistant","thinking_blocks":[{"thinking":"a","signature":"s"}],"tool_calls":[{"id":"c","extra_content":{"google":{"thought_signature":"s"}}}]}]`, true,
		},
		"signatures of unexpected types": {
			`[{"role":"assistant","thinking_blocks":7,"tool_calls":[5],"extra_content":null},{"role":"user","content":[],"thinking_blocks":[]}]`,
			`[{"role":"assistant","thinking_blocks":7,"tool_calls":[5],"extra_content":null},{"role":"user","content":[],"thinking_blocks":[]}]`, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := decode(t, llm.Chat, `{"model":"m","messages":`+tc.messages+`}`)
			if req.HasSignatures != tc.sealed {
				t.Errorf("HasSignatures = %t, want %t", req.HasSignatures, tc.sealed)
			}
			if diff := cmp.Diff(`{"model":"m","messages":`+tc.want+`}`, string(Render(req, Edit{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRequestsWithCustomToolsAreNotPlain(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`"tools":[{"type":"function","function":{"name":"f","description":"the \"custom\" one"}}]`:                               true,
		`"tools":[{"type":"custom","custom":{"name":"c"}}]`:                                                                      false,
		`"tool_choice":{"type":"custom","custom":{"name":"c"}}`:                                                                  false,
		`"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"custom","custom":{"name":"g","input":"i"}}]}]`:          false,
		`"messages":[{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"g","arguments":"{}"}}]}]`: true,
	} {
		if !strings.Contains(body, `"messages"`) {
			body += `,"messages":[{"role":"user","content":"hi"}]`
		}
		if got := decode(t, llm.Chat, `{"model":"auto",`+body+`}`).Plain; got != want {
			t.Errorf("%s: Plain = %t, want %t", body, got, want)
		}
	}
}

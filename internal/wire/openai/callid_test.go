package openai

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestNineCharIDIsValid(t *testing.T) {
	t.Parallel()
	nine := regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)
	seen := map[string]string{}
	for n := range 20_000 {
		id := fmt.Sprintf("call_%d", n)
		short := NineCharID(id)
		if !nine.MatchString(short) || short != NineCharID(id) || NineCharID(short) != short {
			t.Fatalf("NineCharID(%q) = %q, want a stable ID of nine characters", id, short)
		}
		if other, taken := seen[short]; taken {
			t.Fatalf("%q and %q have the same short ID %q", id, other, short)
		}
		seen[short] = id
	}
	for _, id := range []string{"", "c1", "abc_12345", "äbcdefgh", strings.Repeat("x", 10_000), "call-1234"} {
		if short := NineCharID(id); !nine.MatchString(short) {
			t.Errorf("NineCharID(%.20q) = %q, want nine characters", id, short)
		}
	}
	if id := "aB3dE5fG7"; NineCharID(id) != id {
		t.Errorf("NineCharID(%q) = %q, want it unchanged", id, NineCharID(id))
	}
}

func TestRenderRenamesCallIDsAndNothingElse(t *testing.T) {
	t.Parallel()
	rename := func(id string) string {
		if strings.HasPrefix(id, "keep") {
			return id
		}
		return "<" + id + ">"
	}
	const body = `{"model":"a", "messages": [ {"role":"user","content":"tool_call_id","id":"x","x":{"tool_call_id":"x"}},
 {"role":"assistant","content":null,"tool_calls":[{"id" : "call_1","type":"function","function":{"name":"f","arguments":"{\"id\":\"call_1\"}","id":"x"}}, {"function":{"name":"g"},"id":"keep_2"},7,{"id":null}]},
 {"tool_call_id":"call_1","role":"tool","content":"1.0"},{"role":"tool","tool_call_id":"keep_2","content":[{"type":"text","text":"t","id":"x"}]},
 {"role":"tool","tool_c\u0061ll_id":"c\u0061ll_\"1","content":""},{"role":"assistant","tool_calls":null,"tool_call_id":9} ],"metadata":{"id":"call_1"}, "tool_call_id":"x"}`
	want := strings.NewReplacer(
		`"id" : "call_1"`, `"id" : "<call_1>"`,
		`{"tool_call_id":"call_1"`, `{"tool_call_id":"<call_1>"`,
		`"c\u0061ll_\"1"`, `"<call_\"1>"`,
	).Replace(body)
	req := decode(t, llm.Chat, body)
	if diff := cmp.Diff(want, string(Render(req, Edit{CallID: rename}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(body, string(Render(req, Edit{CallID: func(id string) string { return id }}))); diff != "" {
		t.Errorf("the body changed although the IDs are valid (-want +got):\n%s", diff)
	}
}

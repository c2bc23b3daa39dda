package wire_test

import (
	"testing"

	"fairlead.dev/internal/wire"
)

func TestMarkEndMarksTheLastPart(t *testing.T) {
	t.Parallel()
	const mark = `"cache_control":{"type":"ephemeral"}`
	for name, tc := range map[string]struct{ body, want string }{
		"text": {
			`{"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}],"model":"m"}`,
			`{"messages":[{"role":"user","content":"a"},{"role":"user","content":[{"type":"text","text":"b",` + mark + `}]}],"model":"m"}`,
		},
		"parts": {
			`{"model":"m", "messages" : [ {"content":[{"type":"text","text":"a"}, {"type":"text","text":"b"} ] ,"role":"user"} ] }`,
			`{"model":"m", "messages" : [ {"content":[{"type":"text","text":"a"}, {"type":"text","text":"b",` + mark + `} ] ,"role":"user"} ] }`,
		},
		"tool result": {
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}]}`,
			`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x",` + mark + `}]}]}`,
		},
		"tool message": {
			`{"messages":[{"role":"tool","tool_call_id":"t","content":"x"}]}`,
			`{"messages":[{"role":"tool","tool_call_id":"t","content":"x",` + mark + `}]}`,
		},
		"assistant":    {`{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, ""},
		"empty text":   {`{"messages":[{"role":"user","content":""}]}`, ""},
		"empty part":   {`{"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, ""},
		"no parts":     {`{"messages":[{"role":"user","content":[]}]}`, ""},
		"image":        {`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"}}]}]}`, ""},
		"no messages":  {`{"messages":[]}`, ""},
		"unknown body": {`{"input":"a"}`, ""},
	} {
		got, ok := wire.MarkEnd([]byte(tc.body), "5m")
		if want := tc.want; ok != (want != "") || ok && string(got) != want || !ok && string(got) != tc.body {
			t.Errorf("%s: marked %t\n%s, want\n%s", name, ok, got, want)
		}
	}
	if _, ok := wire.MarkEnd([]byte(`{"messages":[{"role":"user","content":"a"}]}`), ""); ok {
		t.Error("MarkEnd without a lifetime = true, want false")
	}
}

package openai

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

func TestRender(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[{"role":"user","content":"hi"}]`
	long := strings.Repeat("x", 2*minShared)
	tests := map[string]struct {
		body string
		edit Edit
		want string
	}{
		"no edit, no change": {
			` { "model" : "a", ` + messages + `, "seed": 9007199254740993, "temperature": 0.10, "top_p": 1e-7, "b": 1, "a": 1.0 } `,
			Edit{},
			` { "model" : "a", ` + messages + `, "seed": 9007199254740993, "temperature": 0.10, "top_p": 1e-7, "b": 1, "a": 1.0 } `,
		},
		"model":                      {`{"model":"a",` + messages + `}`, Edit{Model: `b"\` + "\n"}, `{"model":"b\"\\\n",` + messages + `}`},
		"a long value":               {`{"model":"a","x":"` + long + `",` + messages + `}`, Edit{Model: "b"}, `{"model":"b","x":"` + long + `",` + messages + `}`},
		"an escaped key":             {`{"mod\u0065l":"a",` + messages + `}`, Edit{Model: "b"}, `{"mod\u0065l":"b",` + messages + `}`},
		"own members removed, first": {`{"models":["x"],"provider":{}, "model":"a",` + messages + `}`, Edit{}, `{"model":"a",` + messages + `}`},
		"own members removed, last":  {`{"model":"a",` + messages + `, "session_id":"s" , "models":[] }`, Edit{}, `{"model":"a",` + messages + ` }`},
		"own members removed, middle": {
			"{\"model\":\"a\",\n \"provider\":{\"only\":[\"x\"]},\n " + messages + "}",
			Edit{},
			"{\"model\":\"a\",\n " + messages + "}",
		},
		"drop":                           {`{"model":"a","temperature":1,` + messages + `,"top_p":1}`, Edit{Drop: []string{"temperature", "top_p", "none"}}, `{"model":"a",` + messages + `}`},
		"rename":                         {`{"model":"a","max_tokens": 5,` + messages + `}`, Edit{Rename: map[string]string{"max_tokens": "max_completion_tokens"}}, `{"model":"a","max_completion_tokens":5,` + messages + `}`},
		"rename onto an existing member": {`{"max_tokens":5,"model":"a","max_completion_tokens":5,` + messages + `}`, Edit{Rename: map[string]string{"max_tokens": "max_completion_tokens"}}, `{"model":"a","max_completion_tokens":5,` + messages + `}`},
		"set replaces and appends": {
			`{"model":"a","seed":1,` + messages + `}`,
			Edit{Set: []Member{{"seed", []byte("2")}, {"x\"", []byte(`{"y":1}`)}}},
			`{"model":"a","seed":2,` + messages + `,"x\"":{"y":1}}`,
		},
		"set a renamed member": {
			`{"model":"a","max_tokens":5,` + messages + `}`,
			Edit{Rename: map[string]string{"max_tokens": "m"}, Set: []Member{{"m", []byte("6")}}},
			`{"model":"a","m":6,` + messages + `}`,
		},
		"usage, no stream":              {`{"model":"a",` + messages + `}`, Edit{IncludeUsage: true}, `{"model":"a",` + messages + `}`},
		"usage, no options":             {`{"model":"a",` + messages + `,"stream":true}`, Edit{IncludeUsage: true}, `{"model":"a",` + messages + `,"stream":true,"stream_options":{"include_usage":true}}`},
		"usage, null options":           {`{"stream_options":null,"model":"a",` + messages + `,"stream":true}`, Edit{IncludeUsage: true}, `{"stream_options":{"include_usage":true},"model":"a",` + messages + `,"stream":true}`},
		"usage, empty options":          {`{"stream_options":{ },"model":"a",` + messages + `,"stream":true}`, Edit{IncludeUsage: true}, `{"stream_options":{"include_usage":true},"model":"a",` + messages + `,"stream":true}`},
		"usage, disabled by the client": {`{"stream_options":{"x": 1, "include_usage" : false },"model":"a",` + messages + `,"stream":true}`, Edit{IncludeUsage: true}, `{"stream_options":{"x": 1, "include_usage" : true },"model":"a",` + messages + `,"stream":true}`},
		"usage, other options":          {`{"stream_options":{ "x": 1},"model":"a",` + messages + `,"stream":true}`, Edit{IncludeUsage: true}, `{"stream_options":{"include_usage":true, "x": 1},"model":"a",` + messages + `,"stream":true}`},
		"usage, options dropped":        {`{"stream_options":{},"model":"a",` + messages + `,"stream":true}`, Edit{IncludeUsage: true, Drop: []string{"stream_options"}}, `{"model":"a",` + messages + `,"stream":true}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := tc.body
			req := decode(t, llm.Chat, tc.body)
			if diff := cmp.Diff(tc.want, string(Render(req, tc.edit))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if string(req.Body) != before {
				t.Error("Render changed the body of the request")
			}
		})
	}
}

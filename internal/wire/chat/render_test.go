package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
)

func TestRender(t *testing.T) {
	t.Parallel()
	const messages = `"messages":[{"role":"user","content":"hi"}]`
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

// member is a member as encoding/json reads it: the name, and the value with unchanged numbers and without white space.
type member struct{ Name, Value string }

// referenceMembers reads the top-level members with encoding/json.
func referenceMembers(t *rapid.T, body []byte) []member {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if _, err := dec.Token(); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		members = append(members, member{name.(string), compact.String()})
	}
	return members
}

// drawBody generates a request with unknown members of all types and unusual spacing.
func drawBody(t *rapid.T) string {
	space := rapid.SampledFrom([]string{"", " ", "\n\t", "  "})
	values := rapid.SampledFrom([]string{
		`1`, `1.0`, `0.10`, `1e-7`, `9007199254740993`, `"x"`, `"\u0000\ud800"`, `null`, `true`, `[]`, `{}`, `[ 1 , {"b":1,"a":[2]} ]`, `{"z":1, "a":{"m":[]}}`, `"grüße \/"`,
	})
	members := []string{`"model"@:@"auto"`, `"messages"@:@[{"role":"user","content":"hi"}]`}
	for i := range rapid.IntRange(0, 6).Draw(t, "unknown") {
		members = append(members, fmt.Sprintf(`"x%d"@:@%s`, i, values.Draw(t, "value")))
	}
	for _, known := range []string{
		`"stream"@:@true`, `"stream_options"@:@{@"include_usage"@:@false@,@"y"@:@1@}`, `"models"@:@["a","b"]`, `"provider"@:@{"order":["x"]}`,
		`"session_id"@:@"s"`, `"max_tokens"@:@5`, `"temperature"@:@0.50`, `"user"@:@"u"`,
	} {
		if rapid.Bool().Draw(t, known) {
			members = append(members, known)
		}
	}
	members = rapid.Permutation(members).Draw(t, "order")
	body := "@{@" + strings.Join(members, "@,@") + "@}@"
	for strings.Contains(body, "@") {
		body = strings.Replace(body, "@", space.Draw(t, "space"), 1)
	}
	return body
}

func TestRenderChangesOnlyEditedMembers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := drawBody(t)
		edit := Edit{
			Model:        rapid.SampledFrom([]string{"", "gpt-4.1", `q"uote`}).Draw(t, "model"),
			IncludeUsage: rapid.Bool().Draw(t, "usage"),
			Drop:         rapid.SliceOf(rapid.SampledFrom([]string{"temperature", "x0", "x1", "user"})).Draw(t, "drop"),
		}
		if rapid.Bool().Draw(t, "rename") {
			edit.Rename = map[string]string{"max_tokens": "max_completion_tokens"}
		}
		if rapid.Bool().Draw(t, "set") {
			edit.Set = []Member{{"x2", []byte(`"set"`)}, {"new", []byte(`[1]`)}}
		}
		req, err := Format{}.DecodeRequest(t.Context(), llm.Chat, []byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		want := applySlowly(t, referenceMembers(t, []byte(body)), req.Stream, edit)
		got := referenceMembers(t, Render(req, edit))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n(-want +got):\n%s", body, diff)
		}
	})
}

// applySlowly applies the edit to a list of members, as a reference for Render.
func applySlowly(t *rapid.T, members []member, stream bool, e Edit) []member {
	find := func(name string) int {
		return slices.IndexFunc(members, func(m member) bool { return m.Name == name })
	}
	for _, name := range append([]string{"models", "provider", "session_id"}, e.Drop...) {
		members = slices.DeleteFunc(members, func(m member) bool { return m.Name == name })
	}
	if i := find("model"); e.Model != "" {
		quoted, err := json.Marshal(e.Model)
		if err != nil {
			t.Fatal(err)
		}
		members[i].Value = string(quoted)
	}
	for from, to := range e.Rename {
		if i := find(from); i >= 0 {
			members[i].Name = to
		}
	}
	for _, m := range e.Set {
		if i := find(m.Name); i >= 0 {
			members[i].Value = string(m.Value)
			continue
		}
		members = append(members, member{m.Name, string(m.Value)})
	}
	if e.IncludeUsage && stream {
		if i := find("stream_options"); i >= 0 {
			members[i].Value = `{"include_usage":true,"y":1}`
		} else {
			members = append(members, member{"stream_options", `{"include_usage":true}`})
		}
	}
	return members
}

func TestFraming(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	f := Format{}.Framing()
	for _, err := range []error{
		f.WriteEvent(&buf, llm.Event{Data: []byte(`{"id":"1"}`)}), f.WriteError(&buf, []byte(`{"error":"x"}`), 1), f.WriteEnd(&buf),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := "data: {\"id\":\"1\"}\n\ndata: {\"error\":\"x\"}\n\ndata: [DONE]\n\n"; buf.String() != want {
		t.Errorf("got %q, want %q", buf.String(), want)
	}
}

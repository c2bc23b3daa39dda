package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

func TestSplitKeepsEveryInputInOrder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		input string
		most  int
		want  []string
	}{
		"a text is not split":                   {`"a"`, 1, []string{`"a"`}},
		"few inputs are not split":              {`["a","b"]`, 2, []string{`["a","b"]`}},
		"many are split":                        {`["a", "b","\u00e9"]`, 2, []string{`["a","b"]`, `["\u00e9"]`}},
		"one at a time":                         {`["a","b"]`, 1, []string{`["a"]`, `["b"]`}},
		"token ids of one input are not split":  {`[1,2,3]`, 1, []string{`[1,2,3]`}},
		"token ids of several inputs are split": {`[[1,2],[3]]`, 1, []string{`[[1,2]]`, `[[3]]`}},
		"white space between inputs is removed": {"[ \"a\" ,\n\"b\" ]", 1, []string{`["a"]`, `["b"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := decode(t, llm.Embed, `{"model":"m","input":`+tc.input+`,"dimensions":8}`)
			parts, err := Format{}.Split(t.Context(), req, tc.most)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			inputs := 0
			for _, p := range parts {
				got = append(got, string([]byte(rawjson.Get(p.Body, "input").Raw)))
				inputs += p.Inputs
				if p.Dimensions != 8 || p.Model != "m" {
					t.Errorf("a part lacks other members of the request: %s", p.Body)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || inputs != req.Inputs {
				t.Errorf("%d of %d inputs, parts (-want +got):\n%s", inputs, req.Inputs, diff)
			}
		})
	}
}

func TestJoinNumbersVectorsConsecutively(t *testing.T) {
	t.Parallel()
	part := func(tokens int64, vectors ...string) llm.Event {
		entries := make([]string, len(vectors))
		for i, v := range vectors {
			entries[i] = fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":%s}`, i, v)
		}
		ev := llm.Event{Data: []byte(`{"object":"list","model":"m","data":[` + strings.Join(entries, ",") + `]}`), Model: "m-1"}
		if tokens > 0 {
			ev.Usage = &llm.Usage{Input: tokens}
		}
		return ev
	}

	ev, err := Format{}.Join(nil, []llm.Event{part(3, `[0.10,1e-7]`, `"AACAPw=="`), part(4, `[2]`)})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.10,1e-7]},{"object":"embedding","index":1,"embedding":"AACAPw=="},` +
		`{"object":"embedding","index":2,"embedding":[2]}],"model":"m","usage":{"prompt_tokens":7,"total_tokens":7}}`
	if string(ev.Data) != want || ev.Usage == nil || ev.Usage.Input != 7 || ev.Model != "m-1" {
		t.Errorf("joined response %s, %+v", ev.Data, ev)
	}

	ev, err = Format{}.Join(nil, []llm.Event{part(3, `[1]`), part(0, `[2]`)})
	if err != nil || ev.Usage != nil || strings.Contains(string(ev.Data), "usage") {
		t.Errorf("response with a part without usage: %s, %v; want no usage", ev.Data, err)
	}
}

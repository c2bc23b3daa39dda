package vendormock

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func loopConversation(results ...part) *conversation {
	c := &conversation{turns: []turn{{parts: []part{{kind: said, text: "[tool loop]"}}}}}
	for _, name := range []string{"get_temperature", "add", "clock"} {
		c.tools = append(c.tools, tool{name: name, schema: json.RawMessage(`{"type":"object"}`)})
	}
	for _, r := range results {
		c.turns = append(c.turns, turn{assistant: true, parts: []part{{kind: called, id: r.id, name: r.name, input: r.input}}}, turn{parts: []part{{kind: result, id: r.id, text: r.text, failed: r.failed}}})
	}
	return c
}

func TestTheLoopGoesOnFromWhatCameBack(t *testing.T) {
	t.Parallel()
	paris := part{id: "1", name: "get_temperature", input: json.RawMessage(`{ "city" : "Paris" }`), text: "it is 5 degrees"}
	rome := part{id: "2", name: "get_temperature", input: json.RawMessage(`{"city":"Rome"}`), text: `{"degrees":-3}`}
	add := part{id: "3", name: "add", input: json.RawMessage(`{"b":-3,"a":5}`), text: "2"}
	clock := part{id: "4", name: "clock", input: json.RawMessage(`{}`), text: "12:00"}
	failed := part{id: "1", name: "get_temperature", input: json.RawMessage(`{"city":"Paris"}`), text: "closed", failed: true}
	for name, row := range map[string]struct {
		results []part
		calls   []string
		text    string
	}{
		"at first two at a time":     {nil, []string{`get_temperature{"city":"Paris"}`, `get_temperature{"city":"Rome"}`}, ""},
		"what is missing comes next": {[]part{paris}, []string{`get_temperature{"city":"Rome"}`}, ""},
		"then the sum":               {[]part{paris, rome}, []string{`add{"a":5,"b":-3}`, `clock{}`}, ""},
		"a failure ends it":          {[]part{failed}, nil, `get_temperature {"city":"Paris"} failed with closed.`},
		"then the answer": {
			[]part{paris, rome, add, clock},
			nil,
			`get_temperature {"city":"Paris"} gave it is 5 degrees. get_temperature {"city":"Rome"} gave {"degrees":-3}. add {"b":-3,"a":5} gave 2. clock {} gave 12:00.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := answer(loopConversation(row.results...), []string{"tool loop"})
			var calls []string
			text := ""
			for _, p := range r.parts {
				switch {
				case p.kind == called:
					calls = append(calls, p.name+string(p.input))
				case r.finish == ended:
					text = p.text
				}
			}
			if diff := cmp.Diff(row.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if text != row.text {
				t.Errorf("text %q, want %q", text, row.text)
			}
		})
	}
}

func TestAnswersEndWhereTheRequestSays(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		c       conversation
		text    string
		finish  finish
		stopped string
	}{
		"a stop sequence":         {conversation{stops: []string{"nine", "four five"}}, "one two three ", stopped, "four five"},
		"a limit":                 {conversation{limit: 2}, "one two ", cutShort, ""},
		"a limit before the stop": {conversation{limit: 2, stops: []string{"nine"}}, "one two ", cutShort, ""},
		"neither":                 {conversation{stops: []string{"never"}, limit: 1000}, counted, ended, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := answer(&row.c, []string{"count"})
			if r.parts[0].text != row.text || r.finish != row.finish || r.stopped != row.stopped {
				t.Errorf("got %q, %d, %q", r.parts[0].text, r.finish, r.stopped)
			}
		})
	}
}

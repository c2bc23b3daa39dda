package vendormock

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func loopConversation(results ...Part) *Conversation {
	c := &Conversation{Turns: []Turn{{Parts: []Part{{Kind: TextPart, Text: "[tool loop]"}}}}}
	for _, name := range []string{"get_temperature", "add", "clock"} {
		c.Tools = append(c.Tools, Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	for _, r := range results {
		c.Turns = append(c.Turns, Turn{Assistant: true, Parts: []Part{{Kind: CallPart, ID: r.ID, Name: r.Name, Input: r.Input}}}, Turn{Parts: []Part{{Kind: ResultPart, ID: r.ID, Text: r.Text, Failed: r.Failed}}})
	}
	return c
}

func TestToolLoopContinuesFromResults(t *testing.T) {
	t.Parallel()
	paris := Part{ID: "1", Name: "get_temperature", Input: json.RawMessage(`{ "city" : "Paris" }`), Text: "it is 5 degrees"}
	rome := Part{ID: "2", Name: "get_temperature", Input: json.RawMessage(`{"city":"Rome"}`), Text: `{"degrees":-3}`}
	add := Part{ID: "3", Name: "add", Input: json.RawMessage(`{"b":-3,"a":5}`), Text: "2"}
	clock := Part{ID: "4", Name: "clock", Input: json.RawMessage(`{}`), Text: "12:00"}
	failed := Part{ID: "1", Name: "get_temperature", Input: json.RawMessage(`{"city":"Paris"}`), Text: "closed", Failed: true}
	for name, row := range map[string]struct {
		results []Part
		calls   []string
		text    string
	}{
		"two calls at first":         {nil, []string{`get_temperature{"city":"Paris"}`, `get_temperature{"city":"Rome"}`}, ""},
		"the missing call":           {[]Part{paris}, []string{`get_temperature{"city":"Rome"}`}, ""},
		"the sum after all results":  {[]Part{paris, rome}, []string{`add{"a":5,"b":-3}`, `clock{}`}, ""},
		"an end after a failed call": {[]Part{failed}, nil, `get_temperature {"city":"Paris"} failed with closed.`},
		"an end after all calls": {
			[]Part{paris, rome, add, clock},
			nil,
			`get_temperature {"city":"Paris"} gave it is 5 degrees. get_temperature {"city":"Rome"} gave {"degrees":-3}. add {"b":-3,"a":5} gave 2. clock {} gave 12:00.`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := answer(loopConversation(row.results...), []string{"tool loop"})
			var calls []string
			text := ""
			for _, p := range r.Parts {
				switch {
				case p.Kind == CallPart:
					calls = append(calls, p.Name+string(p.Input))
				case r.Finish == Completed:
					text = p.Text
				}
			}
			if diff := cmp.Diff(row.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			if text != row.text {
				t.Errorf("text = %q, want %q", text, row.text)
			}
		})
	}
}

func TestRepliesEndAtStopSequencesAndLimits(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		c       Conversation
		text    string
		finish  Finish
		stopped string
	}{
		"a stop sequence":         {Conversation{Stops: []string{"nine", "four five"}}, "one two three ", StopSequence, "four five"},
		"a limit":                 {Conversation{Limit: 2}, "one two ", LimitReached, ""},
		"a limit before the stop": {Conversation{Limit: 2, Stops: []string{"nine"}}, "one two ", LimitReached, ""},
		"neither":                 {Conversation{Stops: []string{"never"}, Limit: 1000}, counted, Completed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := answer(&row.c, []string{"count"})
			if r.Parts[0].Text != row.text || r.Finish != row.finish || r.Stopped != row.stopped {
				t.Errorf("got %q, finish %d, stopped by %q, want %q, %d, %q",
					r.Parts[0].Text, r.Finish, r.Stopped, row.text, row.finish, row.stopped)
			}
		})
	}
}

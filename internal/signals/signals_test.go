package signals

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/feedback"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/route"
)

func TestSchemaViolationsAreDetected(t *testing.T) {
	t.Parallel()
	const schema = `{"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"]}}}}`
	for name, tc := range map[string]struct {
		request, content string
		needs            llm.Abilities
		finish           string
		want             bool
	}{
		"valid":                  {schema, `{\"age\":3}`, llm.JSONSchema, "stop", false},
		"a member is missing":    {schema, `{}`, llm.JSONSchema, "stop", true},
		"a member of other type": {schema, `{\"age\":\"three\"}`, llm.JSONSchema, "stop", true},
		"no JSON":                {schema, `Sure! Here it is`, llm.JSONSchema, "stop", true},
		"cut off":                {schema, `{\"age\":`, llm.JSONSchema, "length", false},
		"JSON without a schema":  {`{"response_format":{"type":"json_object"}}`, `[1]`, llm.JSONMode, "stop", false},
		"no format":              {`{}`, `Hello`, 0, "stop", false},
		"an invalid schema":      {`{"response_format":{"json_schema":{"schema":{"type":7}}}}`, `{}`, llm.JSONSchema, "stop", false},
		"an external schema":     {`{"response_format":{"json_schema":{"schema":{"$ref":"http://127.0.0.1/x"}}}}`, `{}`, llm.JSONSchema, "stop", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &requestlog.Entry{
				Call: requestlog.Call{Format: "chat"}, Result: requestlog.Result{Outcome: requestlog.OK, Finish: tc.finish},
				Routing: requestlog.Routing{Decision: &route.Decision{Input: route.Input{ResponseOptions: route.ResponseOptions{Needs: tc.needs}}}},
				Body:    requestlog.Body{Request: []byte(tc.request), Response: []byte(`{"choices":[{"message":{"content":"` + tc.content + `"}}]}`)},
			}
			if got := violates(e); got != tc.want {
				t.Errorf("violates = %t, want %t", got, tc.want)
			}
		})
	}
}

func TestSignalsAreCollectedAndBounded(t *testing.T) {
	t.Parallel()
	s := New(func(context.Context, []feedback.Rating) error { return nil }, func(error) {})
	e := &requestlog.Entry{ID: "req_1", Owner: requestlog.Owner{WorkspaceID: "ws_1"}, Routing: requestlog.Routing{Model: "m", Signals: []string{"truncation"}, Decision: &route.Decision{}}}
	for range 5000 {
		s.Add(e)
	}
	got := s.gathered()
	if len(got) != cap(s.waiting) || got[0].Signal != feedback.Truncation || got[0].Model != "m" || got[0].Source != feedback.FromSignal {
		t.Errorf("%d signals, want %d, the first %+v", len(got), cap(s.waiting), got[0])
	}
	if rest := s.gathered(); len(rest) != 0 {
		t.Errorf("%d signals remain, want 0", len(rest))
	}
}

func TestRepeatedPromptIsASignalAboutThePreviousResponse(t *testing.T) {
	t.Parallel()
	s := New(func(context.Context, []feedback.Rating) error { return nil }, func(error) {})
	entry := func(id, session string, signals ...string) *requestlog.Entry {
		return &requestlog.Entry{
			ID: id, Owner: requestlog.Owner{WorkspaceID: "ws_1"}, Labels: requestlog.Labels{Session: session},
			Routing: requestlog.Routing{Model: "model of " + id, Signals: signals, Decision: &route.Decision{Input: route.Input{Prediction: route.Prediction{Predictor: "v1"}}}},
		}
	}
	s.Add(entry("req_1", "conv_a"))
	s.Add(entry("req_2", "conv_b", "retry"))
	s.Add(entry("req_3", "conv_a", "retry"))
	s.Add(entry("req_4", "", "retry"))

	type signal struct{ Request, Model, Name string }
	var got []signal
	for _, r := range s.gathered() {
		got = append(got, signal{r.RequestID, r.Model, string(r.Signal)})
	}
	if diff := cmp.Diff([]signal{{"req_1", "model of req_1", "retry"}}, got); diff != "" {
		t.Errorf("signals (-want +got):\n%s", diff)
	}
}

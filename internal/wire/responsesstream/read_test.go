package responsesstream_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead/internal/llm"
	"fairlead/internal/wire/messagesstream"
	"fairlead/internal/wire/responsesstream"
)

// events are as OpenAI sends them, with members and an event that the gateway does not know.
const (
	created   = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","model":"gpt-5.4-2026-03-05","status":"in_progress","output":[],"new":{"a":1.0}}}`
	item      = `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`
	unknown   = `{"type":"response.something.new","sequence_number":2,"x":[ 1, 2 ]}`
	delta     = `{"type":"response.output_text.delta","sequence_number":3,"delta":"Héllo"}`
	search    = `{"type":"response.output_item.added","sequence_number":4,"output_index":1,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}`
	completed = `{"type":"response.completed","sequence_number":5,"response":{"id":"resp_1","model":"gpt-5.4-2026-03-05","status":"completed","service_tier":"default","output":[{"id":"rs_1","type":"reasoning","encrypted_content":"gAAA"}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":12}}}`
)

func frame(events ...string) string {
	var b strings.Builder
	for _, ev := range events {
		name, _, _ := strings.Cut(ev[len(`{"type":"`):], `"`)
		b.WriteString("event: " + name + "\ndata: " + ev + "\n\n")
	}
	return b.String()
}

func readAll(t *testing.T, body string, o responsesstream.Options) ([]llm.Event, error) {
	t.Helper()
	var events []llm.Event
	for ev, err := range llm.All(responsesstream.Read(strings.NewReader(body), o)) {
		if err != nil {
			return events, err
		}
		events = append(events, ev.Clone())
	}
	return events, nil
}

func TestStreamPassesUnchangedButForTheModel(t *testing.T) {
	t.Parallel()
	sent := []string{created, item, unknown, delta, search, completed}
	got, err := readAll(t, frame(sent...), responsesstream.Options{Reading: messagesstream.Reading{Stream: true}, Model: "gpt-5.4"})
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Data, Finish string
		Content      bool
	}
	var passed, want []seen
	for _, ev := range got {
		passed = append(passed, seen{string(ev.Data), ev.Finish, ev.Content})
	}
	for i, ev := range sent {
		want = append(want, seen{strings.ReplaceAll(ev, "gpt-5.4-2026-03-05", "gpt-5.4"), "", i == 3 || i == 4})
	}
	want[5].Finish = "stop"
	if diff := cmp.Diff(want, passed); diff != "" {
		t.Error(diff)
	}
	usage := &llm.Usage{Input: 5, CacheRead: 4, Output: 3, Reasoning: 2, ServiceTier: "default"}
	if diff := cmp.Diff(usage, got[5].Usage); diff != "" {
		t.Error(diff)
	}
	if got[3].ASCIIBytes != 4 || got[3].NonASCIIBytes != 2 || got[3].Model != "gpt-5.4-2026-03-05" {
		t.Errorf("the text delta is described as %+v", got[3])
	}
}

func TestResponseIDsAreReplaced(t *testing.T) {
	t.Parallel()
	body := `{"id":"resp_2","previous_response_id":"resp_1","model":"m","status":"completed","output":[]}`
	got, err := readAll(t, body, responsesstream.Options{ResponseID: func(id string) string { return "x-" + id }})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"x-resp_2","previous_response_id":"x-resp_1","model":"m","status":"completed","output":[]}`
	if diff := cmp.Diff(want, string(got[0].Data)); diff != "" {
		t.Error(diff)
	}
}

func TestWholeResponseToAStreamingRequestBecomesAStream(t *testing.T) {
	t.Parallel()
	body := `{"id":"resp_2","model":"m","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`
	got, err := readAll(t, body, responsesstream.Options{Reading: messagesstream.Reading{Stream: true}})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Name != "response.created" || got[1].Name != "response.incomplete" || got[1].Finish != "length" {
		t.Fatalf("got %+v", got)
	}
	if want := `{"type":"response.incomplete","sequence_number":1,"response":` + body + `}`; string(got[1].Data) != want {
		t.Errorf("got %s", got[1].Data)
	}
}

func TestIncompleteResponseIsAnError(t *testing.T) {
	t.Parallel()
	stream := responsesstream.Options{Reading: messagesstream.Reading{Stream: true}}
	for name, c := range map[string]struct {
		body string
		o    responsesstream.Options
		want llm.Kind
	}{
		"cut":               {frame(created, delta), stream, llm.StreamInterrupted},
		"nothing":           {"", stream, llm.UpstreamMalformed},
		"no response":       {": ping\n\n", stream, llm.UpstreamMalformed},
		"not JSON":          {frame(created) + "data: x\n\n", stream, llm.UpstreamMalformed},
		"error event":       {frame(created, `{"type":"error","code":"server_error","message":"oops"}`), stream, llm.UpstreamServer},
		"failed":            {frame(created, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`), stream, llm.UpstreamRateLimited},
		"cancelled":         {`{"status":"cancelled","output":[]}`, responsesstream.Options{}, llm.StreamInterrupted},
		"whole, failed":     {`{"status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}`, responsesstream.Options{}, llm.UpstreamServer},
		"whole, no output":  {`{"status":"completed"}`, responsesstream.Options{}, llm.UpstreamMalformed},
		"whole, not JSON":   {`<html>`, responsesstream.Options{}, llm.UpstreamMalformed},
		"whole, not object": {`[]`, responsesstream.Options{}, llm.UpstreamMalformed},
	} {
		_, err := readAll(t, c.body, c.o)
		if got := llm.AsError(err); got == nil || got.Kind != c.want {
			t.Errorf("%s: got %v, want kind %s", name, err, c.want)
		}
	}
}

func TestImplausibleUsageIsIgnored(t *testing.T) {
	t.Parallel()
	for _, usage := range []string{
		`null`, `{}`, `{"input_tokens":-1,"output_tokens":1}`, `{"input_tokens":1,"output_tokens":1e30}`, `{"input_tokens":1.5,"output_tokens":1}`,
		`{"input_tokens":1,"input_tokens_details":{"cached_tokens":2},"output_tokens":1}`,
	} {
		got, err := readAll(t, `{"status":"completed","output":[],"usage":`+usage+`}`, responsesstream.Options{})
		if err != nil || got[0].Usage != nil {
			t.Errorf("usage %s is read as %+v, %v", usage, got, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(frame(created, item, unknown, delta, search, completed))
	f.Add(`{"id":"resp_2","model":"m","status":"completed","output":[]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, streamed := range []bool{true, false} {
			o := responsesstream.Options{Reading: messagesstream.Reading{Stream: streamed}, Model: "m", ResponseID: func(id string) string { return "x" + id }}
			if _, err := readAll(t, body, o); err != nil && llm.AsError(err) == nil {
				t.Fatalf("unclassified error %v", err)
			}
		}
	})
}

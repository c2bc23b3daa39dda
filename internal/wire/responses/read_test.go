package responses_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/responses"
	"fairlead.dev/internal/wire/upstream"
)

// Events as OpenAI sends them, including members and an event type that the gateway does not know.
const (
	created   = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","model":"gpt-5.4-2026-03-05","status":"in_progress","output":[],"new":{"a":1.0}}}`
	added     = `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}`
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

func readAll(t *testing.T, body string, o responses.Options) ([]llm.Event, error) {
	t.Helper()
	var events []llm.Event
	for ev, err := range llm.All(responses.Read(strings.NewReader(body), o)) {
		if err != nil {
			return events, err
		}
		events = append(events, ev.Clone())
	}
	return events, nil
}

func TestStreamIsForwardedWithTheModelReplaced(t *testing.T) {
	t.Parallel()
	sent := []string{created, added, unknown, delta, search, completed}
	got, err := readAll(t, frame(sent...), responses.Options{Reading: upstream.Reading{Stream: true}, Model: "gpt-5.4"})
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
		t.Errorf("text delta event %+v, want 4 ASCII and 2 other bytes", got[3])
	}
}

func TestResponseIDsAreReplaced(t *testing.T) {
	t.Parallel()
	body := `{"id":"resp_2","previous_response_id":"resp_1","model":"m","status":"completed","output":[]}`
	got, err := readAll(t, body, responses.Options{ResponseID: func(id string) string { return "x-" + id }})
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
	body := `{"id":"resp_2","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"model":"m","output":[` +
		`{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Why"}],"encrypted_content":"gAAA"},` +
		`{"id":"ws_1","type":"web_search_call","status":"completed"},` +
		`{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hé","annotations":[{"type":"url_citation"}],"logprobs":[]},{"type":"refusal","refusal":"no"}]},` +
		`{"id":"fc_1","type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{}"},` +
		`{"id":"ct_1","type":"custom_tool_call","call_id":"d","name":"g","input":"x"}],` +
		`"usage":{"input_tokens":9,"output_tokens":3},"new":1.0}`
	begun := `{"id":"resp_2","status":"in_progress","incomplete_details":null,"model":"m","output":[],"usage":null,"new":1.0}`
	want := []string{
		`{"type":"response.created","sequence_number":0,"response":` + begun + `}`,
		`{"type":"response.in_progress","sequence_number":1,"response":` + begun + `}`,
		`{"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}}`,
		`{"type":"response.reasoning_summary_part.added","sequence_number":3,"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}`,
		`{"type":"response.reasoning_summary_text.delta","sequence_number":4,"item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Why"}`,
		`{"type":"response.reasoning_summary_text.done","sequence_number":5,"item_id":"rs_1","output_index":0,"summary_index":0,"text":"Why"}`,
		`{"type":"response.reasoning_summary_part.done","sequence_number":6,"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Why"}}`,
		`{"type":"response.output_item.done","sequence_number":7,"output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Why"}],"encrypted_content":"gAAA"}}`,
		`{"type":"response.output_item.added","sequence_number":8,"output_index":1,"item":{"id":"ws_1","type":"web_search_call","status":"completed"}}`,
		`{"type":"response.output_item.done","sequence_number":9,"output_index":1,"item":{"id":"ws_1","type":"web_search_call","status":"completed"}}`,
		`{"type":"response.output_item.added","sequence_number":10,"output_index":2,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[]}}`,
		`{"type":"response.content_part.added","sequence_number":11,"item_id":"msg_1","output_index":2,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"logprobs":[]}}`,
		`{"type":"response.output_text.delta","sequence_number":12,"item_id":"msg_1","output_index":2,"content_index":0,"delta":"Hé","logprobs":[]}`,
		`{"type":"response.output_text.done","sequence_number":13,"item_id":"msg_1","output_index":2,"content_index":0,"text":"Hé","logprobs":[]}`,
		`{"type":"response.output_text.annotation.added","sequence_number":14,"item_id":"msg_1","output_index":2,"content_index":0,"annotation_index":0,"annotation":{"type":"url_citation"}}`,
		`{"type":"response.content_part.done","sequence_number":15,"item_id":"msg_1","output_index":2,"content_index":0,"part":{"type":"output_text","text":"Hé","annotations":[{"type":"url_citation"}],"logprobs":[]}}`,
		`{"type":"response.content_part.added","sequence_number":16,"item_id":"msg_1","output_index":2,"content_index":1,"part":{"type":"refusal","refusal":""}}`,
		`{"type":"response.refusal.delta","sequence_number":17,"item_id":"msg_1","output_index":2,"content_index":1,"delta":"no"}`,
		`{"type":"response.refusal.done","sequence_number":18,"item_id":"msg_1","output_index":2,"content_index":1,"refusal":"no"}`,
		`{"type":"response.content_part.done","sequence_number":19,"item_id":"msg_1","output_index":2,"content_index":1,"part":{"type":"refusal","refusal":"no"}}`,
		`{"type":"response.output_item.done","sequence_number":20,"output_index":2,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Hé","annotations":[{"type":"url_citation"}],"logprobs":[]},{"type":"refusal","refusal":"no"}]}}`,
		`{"type":"response.output_item.added","sequence_number":21,"output_index":3,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"c","name":"f","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","sequence_number":22,"item_id":"fc_1","output_index":3,"delta":"{}"}`,
		`{"type":"response.function_call_arguments.done","sequence_number":23,"item_id":"fc_1","output_index":3,"name":"f","arguments":"{}"}`,
		`{"type":"response.output_item.done","sequence_number":24,"output_index":3,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"c","name":"f","arguments":"{}"}}`,
		`{"type":"response.output_item.added","sequence_number":25,"output_index":4,"item":{"id":"ct_1","type":"custom_tool_call","call_id":"d","name":"g","input":""}}`,
		`{"type":"response.custom_tool_call_input.delta","sequence_number":26,"item_id":"ct_1","output_index":4,"delta":"x"}`,
		`{"type":"response.custom_tool_call_input.done","sequence_number":27,"item_id":"ct_1","output_index":4,"input":"x"}`,
		`{"type":"response.output_item.done","sequence_number":28,"output_index":4,"item":{"id":"ct_1","type":"custom_tool_call","call_id":"d","name":"g","input":"x"}}`,
		`{"type":"response.incomplete","sequence_number":29,"response":` + body + `}`,
	}
	for name, o := range map[string]responses.Options{
		"unexpected": {Reading: upstream.Reading{Stream: true}},
		"requested":  {Split: true},
	} {
		got, err := readAll(t, body, o)
		if err != nil {
			t.Fatal(err)
		}
		var sent []string
		ascii, other := 0, 0
		for _, ev := range got {
			sent = append(sent, string(ev.Data))
			ascii, other = ascii+ev.ASCIIBytes, other+ev.NonASCIIBytes
			if kind, _, _ := strings.Cut(string(ev.Data)[len(`{"type":"`):], `"`); kind != ev.Name {
				t.Errorf("%s: event of type %s has the name %q", name, kind, ev.Name)
			}
		}
		if diff := cmp.Diff(want, sent); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		last := got[len(got)-1]
		if last.Finish != "length" || last.Usage == nil || last.Usage.Output != 3 || ascii != len("WhyHnof{}gx") || other != 2 || !got[4].Content || got[0].Content {
			t.Errorf("%s: finish %q, usage %+v, %d ASCII and %d other bytes", name, last.Finish, last.Usage, ascii, other)
		}
	}
}

func TestQueuedResponseToAStreamingRequestStartsAStream(t *testing.T) {
	t.Parallel()
	got, err := readAll(t, `{"id":"resp_2","status":"queued","output":[]}`, responses.Options{Split: true, Background: true, ResponseID: func(id string) string { return "x-" + id }})
	if err != nil || len(got) != 2 || got[0].Name != "response.created" || got[1].Name != "response.in_progress" || got[0].Pending != "resp_2" || !got[0].Content {
		t.Errorf("events %+v, %v; want response.created and response.in_progress", got, err)
	}
	for _, ev := range got {
		if !strings.Contains(string(ev.Data), `"id":"x-resp_2"`) {
			t.Errorf("%s, want the client's ID", ev.Data)
		}
	}
}

func TestIncompleteResponseIsAnError(t *testing.T) {
	t.Parallel()
	stream := responses.Options{Reading: upstream.Reading{Stream: true}}
	for name, c := range map[string]struct {
		body string
		o    responses.Options
		want llm.Kind
	}{
		"cut":               {frame(created, delta), stream, llm.StreamInterrupted},
		"nothing":           {"", stream, llm.UpstreamMalformed},
		"no response":       {": ping\n\n", stream, llm.UpstreamMalformed},
		"not JSON":          {frame(created) + "data: x\n\n", stream, llm.UpstreamMalformed},
		"error event":       {frame(created, `{"type":"error","code":"server_error","message":"oops"}`), stream, llm.UpstreamServer},
		"failed":            {frame(created, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`), stream, llm.UpstreamRateLimited},
		"cancelled":         {`{"status":"cancelled","output":[]}`, responses.Options{}, llm.StreamInterrupted},
		"whole, failed":     {`{"status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}`, responses.Options{}, llm.UpstreamServer},
		"whole, no output":  {`{"status":"completed"}`, responses.Options{}, llm.UpstreamMalformed},
		"whole, not JSON":   {`<html>`, responses.Options{}, llm.UpstreamMalformed},
		"whole, not object": {`[]`, responses.Options{}, llm.UpstreamMalformed},
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
		got, err := readAll(t, `{"status":"completed","output":[],"usage":`+usage+`}`, responses.Options{})
		if err != nil || got[0].Usage != nil {
			t.Errorf("usage %s: events %+v, %v; want no usage", usage, got, err)
		}
	}
}

func TestSearchesAreCounted(t *testing.T) {
	t.Parallel()
	const (
		searched = `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`
		opened   = `{"id":"ws_2","type":"web_search_call","status":"completed","action":{"type":"open_page","url":"https://a.test"}}`
		failed   = `{"id":"ws_3","type":"web_search_call","status":"failed","action":{"type":"search","query":"q"}}`
		older    = `{"id":"ws_4","type":"web_search_call","status":"completed"}`
		usage    = `"usage":{"input_tokens":9,"output_tokens":3}`
	)
	done := func(item string) string {
		return `{"type":"response.output_item.done","output_index":0,"item":` + item + `}`
	}
	ended := func(members string) string {
		return `{"type":"response.completed","response":{"id":"resp_1","model":"m","status":"completed",` + members + `,` + usage + `}}`
	}
	for name, tc := range map[string]struct {
		stream bool
		body   string
		want   int64
	}{
		"none":                {false, `{"status":"completed","output":[],` + usage + `}`, 0},
		"whole":               {false, `{"status":"completed","output":[` + searched + `,` + opened + `,` + failed + `,` + older + `],` + usage + `}`, 2},
		"reported by tool":    {false, `{"status":"completed","output":[` + searched + `],"tool_usage":{"web_search":{"num_requests":5}},` + usage + `}`, 5},
		"implausible by tool": {false, `{"status":"completed","output":[` + searched + `],"tool_usage":{"web_search":{"num_requests":-5}},` + usage + `}`, 1},
		"stream":              {true, frame(created, done(searched), done(opened), done(older), ended(`"output":[`+searched+`,`+opened+`,`+older+`]`)), 2},
		"stream, empty end":   {true, frame(created, done(searched), done(older), ended(`"output":[]`)), 2},
	} {
		got, err := readAll(t, tc.body, responses.Options{Reading: upstream.Reading{Stream: tc.stream}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if last := got[len(got)-1]; last.Usage == nil || last.Usage.Searches != tc.want {
			t.Errorf("%s: usage %+v, want %d searches", name, last.Usage, tc.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(frame(created, added, unknown, delta, search, completed))
	f.Add(`{"id":"resp_2","model":"m","status":"completed","output":[]}`)
	f.Fuzz(func(t *testing.T, body string) {
		for _, streamed := range []bool{true, false} {
			o := responses.Options{Reading: upstream.Reading{Stream: streamed}, Model: "m", ResponseID: func(id string) string { return "x" + id }}
			if _, err := readAll(t, body, o); err != nil && llm.AsError(err) == nil {
				t.Fatalf("unclassified error %v", err)
			}
		}
	})
}

package responses

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

var update = flag.Bool("update", false, "rewrite the golden streams")

// sequence yields the deltas and then err if it is not nil.
func sequence(pieces []llm.Delta, err error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, p := range pieces {
			if !yield(p, nil) {
				return
			}
		}
		if err != nil {
			yield(llm.Delta{}, err)
		}
	}
}

// collect collects the events of a response.
func collect(events iter.Seq2[llm.Event, error]) (all []llm.Event, err error) {
	for ev, e := range events {
		if e != nil {
			return all, e
		}
		ev.Data = bytes.Clone(ev.Data)
		all = append(all, ev)
	}
	return all, nil
}

var dated = Format{Now: func() time.Time { return time.Unix(1700000000, 5) }}

// answers maps names to test responses, given as deltas. The golden files contain the encoded form.
var answers = map[string]struct {
	more   string // additional members of the request
	pieces []llm.Delta
}{
	"text": {
		`,"instructions":"Be brief.","temperature":0.10,"metadata":{"a":"b"},"store":true`,
		[]llm.Delta{
			{Kind: llm.BeginDelta, ID: "msg_1", Model: "real"},
			{Kind: llm.TextDelta, Text: "h\u00e9<&>"},
			{Kind: llm.TextDelta},
			{Kind: llm.TextDelta, Text: "\n\u2028y"},
			{Kind: llm.TextDelta, Choice: 1, Text: "another"},
			{Kind: llm.FinishDelta, Finish: "stop"},
			{Kind: llm.TextDelta, Text: "never"},
			{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 1, Output: 2}},
			{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 10, CacheRead: 5, Output: 7, Reasoning: 3, ServiceTier: "flex"}},
		},
	},
	"thinking_and_calls": {
		`,"tools":[{"type":"function","name":"f","parameters":{"z":1,"a":2},"strict":null}],"reasoning":{"effort":"low"}`,
		[]llm.Delta{
			{Kind: llm.BeginDelta, ID: "resp_7"},
			{Kind: llm.ThinkingDelta, Text: "h"},
			{Kind: llm.ThinkingDelta, Text: "m"},
			{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Signature: "s", Provider: "anthropic"}},
			{Kind: llm.SignatureDelta, Thinking: &llm.Thinking{Redacted: "d", Provider: "anthropic"}},
			{Kind: llm.TextDelta, Text: "I look."},
			{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "a", Name: "f", Signature: "g", Provider: "gemini"}},
			{Kind: llm.CallDelta, Index: 1, Call: &llm.ToolCall{ID: "b", Name: "c", Arguments: "i", Custom: true}},
			{Kind: llm.ArgumentsDelta, Index: 1, Text: "j"},
			{Kind: llm.FinishDelta, Finish: "stop"},
		},
	},
	"cut_by_the_bound": {
		`,"max_output_tokens":3`,
		[]llm.Delta{
			{Kind: llm.BeginDelta, ID: "x"},
			{Kind: llm.ThinkingDelta, Text: "hm"},
			{Kind: llm.TextDelta, Text: "so"},
			{Kind: llm.FinishDelta, Finish: "length"},
		},
	},
	"refused": {
		``,
		[]llm.Delta{
			{Kind: llm.BeginDelta, ID: "x"},
			{Kind: llm.TextDelta, Text: "well"},
			{Kind: llm.RefusalDelta, Text: "no"},
			{Kind: llm.FinishDelta, Finish: "content_filter"},
		},
	},
	"nothing": {``, []llm.Delta{{Kind: llm.FinishDelta}}},
}

func requestOf(t testing.TB, stream bool, more string) *llm.Request {
	t.Helper()
	req := decode(t, `{"model":"auto","input":"x"`+more+`}`)
	req.Stream = stream
	return req
}

func TestEncodeResponse(t *testing.T) {
	t.Parallel()
	for name, tc := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			for _, stream := range []bool{true, false} {
				events, err := collect(dated.EncodeResponse(requestOf(t, stream, tc.more), "canon", sequence(tc.pieces, nil)))
				if err != nil {
					t.Fatal(err)
				}
				for _, ev := range events {
					if err := dated.Framing().WriteEvent(&out, ev); err != nil {
						t.Fatal(err)
					}
				}
			}
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The concatenated deltas of a stream must equal the text in its final event and in the non-streamed response.
func TestStreamEventsAddUp(t *testing.T) {
	t.Parallel()
	for name, tc := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, err := collect(dated.EncodeResponse(requestOf(t, true, tc.more), "canon", sequence(tc.pieces, nil)))
			if err != nil {
				t.Fatal(err)
			}
			whole, err := collect(dated.EncodeResponse(requestOf(t, false, tc.more), "canon", sequence(tc.pieces, nil)))
			if err != nil || len(whole) != 1 {
				t.Fatalf("%d events, %v; want 1", len(whole), err)
			}
			var lines []byte
			var deltas strings.Builder
			ascii, other := 0, 0
			for n, ev := range events {
				var data struct {
					Type     string
					Sequence int `json:"sequence_number"`
					Delta    string
				}
				if err := json.Unmarshal(ev.Data, &data); err != nil || data.Type != ev.Name || data.Sequence != n {
					t.Errorf("event %d has name %s and data %s, want its type and sequence number", n, ev.Name, ev.Data)
				}
				deltas.WriteString(data.Delta)
				ascii, other = ascii+ev.ASCIIBytes, other+ev.NonASCIIBytes
				lines = append(append(lines, ev.Data...), '\n')
			}
			assembled, err := Assemble(lines)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(whole[0].Data), string(assembled)); diff != "" {
				t.Error(diff)
			}
			again, err := Assemble(whole[0].Data)
			if err != nil || !bytes.Equal(again, whole[0].Data) {
				t.Errorf("Assemble of a complete response = %s, %v; want it unchanged", again, err)
			}
			if ascii != whole[0].ASCIIBytes || other != whole[0].NonASCIIBytes || ascii+other < deltas.Len() {
				t.Errorf("%d and %d bytes in the stream, %d and %d in the complete response",
					ascii, other, whole[0].ASCIIBytes, whole[0].NonASCIIBytes)
			}
			last := events[len(events)-1]
			if diff := cmp.Diff(whole[0].Usage, last.Usage); diff != "" || last.Finish != whole[0].Finish || last.Finish == "" {
				t.Errorf("finish %q, want %q, usage (-want +got):\n%s", last.Finish, whole[0].Finish, diff)
			}
		})
	}
}

func TestCallEndsBeforeTheNextBegins(t *testing.T) {
	t.Parallel()
	begin := func(n int, name string) llm.Delta {
		return llm.Delta{Kind: llm.CallDelta, Index: n, Call: &llm.ToolCall{ID: name, Name: name}}
	}
	arguments := func(n int, text string) llm.Delta {
		return llm.Delta{Kind: llm.ArgumentsDelta, Index: n, Text: text}
	}
	for name, tc := range map[string]struct {
		pieces []llm.Delta
		want   string
	}{
		"one after another": {[]llm.Delta{begin(0, "a"), arguments(0, `{"x":`), arguments(0, `1}`), begin(1, "b"), arguments(1, `{}`)}, "added 0, done 0, added 1, done 1"},
		"interleaved":       {[]llm.Delta{begin(0, "a"), arguments(0, `{"x":`), begin(1, "b"), arguments(1, `{}`), arguments(0, `1}`)}, "added 0, added 1, done 0, done 1"},
	} {
		events, err := collect(dated.EncodeResponse(requestOf(t, true, ""), "canon", sequence(append(tc.pieces, llm.Delta{Kind: llm.FinishDelta, Finish: "tool_calls"}), nil)))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, ev := range events {
			if kind, ok := strings.CutPrefix(ev.Name, "response.output_item."); ok {
				var data struct {
					Index int `json:"output_index"`
				}
				if err := json.Unmarshal(ev.Data, &data); err != nil {
					t.Fatal(err)
				}
				got = append(got, fmt.Sprintf("%s %d", kind, data.Index))
			}
		}
		if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestSignaturesRoundTrip checks that signatures and their providers are restored when a client sends a response back as input.
func TestSignaturesRoundTrip(t *testing.T) {
	t.Parallel()
	tc := answers["thinking_and_calls"]
	whole, err := collect(dated.EncodeResponse(requestOf(t, false, tc.more), "canon", sequence(tc.pieces, nil)))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Output json.RawMessage }
	if err := json.Unmarshal(whole[0].Data, &answer); err != nil {
		t.Fatal(err)
	}
	conv := converse(t, `{"model":"m","input":`+string(answer.Output)+`}`)
	want := []llm.Message{message(
		llm.Assistant,
		thinkingPart(llm.Thinking{Text: "hm", Signature: "s", Provider: "anthropic"}), thinkingPart(llm.Thinking{Redacted: "d", Provider: "anthropic"}), textPart("I look."),
		callPart(llm.ToolCall{ID: "a", Name: "f", Arguments: "{}", Signature: "g", Provider: "gemini"}),
		callPart(llm.ToolCall{ID: "b", Name: "c", Arguments: "ij", Custom: true}),
	)}
	if diff := cmp.Diff(want, conv.Messages); diff != "" {
		t.Error(diff)
	}
}

func TestIncompleteResponseIsAnError(t *testing.T) {
	t.Parallel()
	begin, text, usage := llm.Delta{Kind: llm.BeginDelta}, llm.Delta{Kind: llm.TextDelta, Text: "a"}, llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{Output: 1}}
	for name, tc := range map[string]struct {
		pieces []llm.Delta
		err    error
		want   llm.Kind
	}{
		"nothing":                     {nil, nil, llm.StreamInterrupted},
		"no finish":                   {[]llm.Delta{begin, text, usage}, nil, llm.StreamInterrupted},
		"an error":                    {[]llm.Delta{begin, text, usage}, llm.Errorf(llm.UpstreamOverloaded, "busy"), llm.UpstreamOverloaded},
		"arguments without a call":    {[]llm.Delta{begin, {Kind: llm.ArgumentsDelta, Text: "x"}}, nil, llm.UpstreamMalformed},
		"a call delta without a call": {[]llm.Delta{begin, {Kind: llm.CallDelta}}, nil, llm.UpstreamMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, stream := range []bool{true, false} {
				events, err := collect(dated.EncodeResponse(requestOf(t, stream, ""), "canon", sequence(tc.pieces, tc.err)))
				if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != tc.want {
					t.Errorf("stream %t: %v, want %s", stream, err, tc.want)
				}
				for _, ev := range events {
					if ev.Finish != "" || !stream {
						t.Errorf("the incomplete response has the event %s", ev.Data)
					}
				}
			}
		})
	}
}

func TestErrorEventHasErrorObjectMembers(t *testing.T) {
	t.Parallel()
	e := llm.Errorf(llm.StreamInterrupted, "The stream broke.")
	e.Param = "p"
	for name, body := range map[string][]byte{"flat": e.Body("req_1"), "nested": e.OpenAIBody("req_1")} {
		var out bytes.Buffer
		if err := dated.Framing().WriteError(&out, body, 7); err != nil {
			t.Fatal(err)
		}
		data, ok := strings.CutPrefix(out.String(), "event: error\ndata: ")
		if !ok || !strings.HasPrefix(data, `{"error":`) || !strings.HasSuffix(data, "\n\n") {
			t.Fatalf("%s: framed as %q, want an event with the error first", name, out.String())
		}
		var got map[string]any
		if err := json.Unmarshal([]byte(data), &got); err != nil {
			t.Fatal(err)
		}
		if got["type"] != "error" || got["message"] != "The stream broke." || got["code"] != "PROVIDER_UPSTREAM_ERROR" || got["param"] != "p" || got["details"] == nil || got["sequence_number"] != 7.0 {
			t.Errorf("%s: error event %v", name, got)
		}
	}
	var out bytes.Buffer
	if err := dated.Framing().WriteEnd(&out); err != nil || out.Len() > 0 {
		t.Errorf("WriteEnd wrote %q, %v; want nothing", out.String(), err)
	}
}

// The stream must end with response.failed, because Codex ignores error events and waits for response.failed.
func TestStreamEndsWithResponseFailed(t *testing.T) {
	t.Parallel()
	const created = `{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"model":"m","output":[]}}`
	for name, tc := range map[string]struct {
		first, code string
		kind        llm.Kind
	}{
		"a broken stream":        {created, "server_error", llm.StreamInterrupted},
		"a rate limit":           {created, "rate_limit_exceeded", llm.UpstreamRateLimited},
		"in the background":      {strings.Replace(created, `"model"`, `"background":true,"model"`, 1), "", llm.StreamInterrupted},
		"without a response":     {`{"type":"response.output_text.delta","delta":"a"}`, "", llm.StreamInterrupted},
		"before the first event": {"", "", llm.StreamInterrupted},
	} {
		var out bytes.Buffer
		framing := Format{}.Framing()
		if tc.first != "" {
			if err := framing.WriteEvent(&out, llm.Event{Name: "first", Data: []byte(tc.first)}); err != nil {
				t.Fatal(err)
			}
		}
		out.Reset()
		if err := framing.WriteError(&out, llm.Errorf(tc.kind, "It broke.").OpenAIBody("req_1"), 7); err != nil {
			t.Fatal(err)
		}
		_, failed, found := strings.Cut(out.String(), "\n\nevent: response.failed\ndata: ")
		if found != (tc.code != "") {
			t.Errorf("%s: response.failed sent = %t, want %t", name, found, tc.code != "")
		}
		want := `{"type":"response.failed","sequence_number":8,"response":{"id":"resp_1","object":"response","status":"failed","error":{"code":"` + tc.code + `","message":"It broke."},"model":"m","output":[]}}`
		if found && strings.TrimSpace(failed) != want {
			t.Errorf("%s: response.failed is %s, want %s", name, failed, want)
		}
	}
}

func TestAssembleWithoutAResponseFails(t *testing.T) {
	t.Parallel()
	for _, events := range []string{"", "\n", "{", `{"type":"error"}`} {
		if got, err := Assemble([]byte(events)); !errors.Is(err, ErrNoResponse) {
			t.Errorf("Assemble(%q) = %s, %v; want ErrNoResponse", events, got, err)
		}
	}
	cut, err := Assemble([]byte(`{"type":"response.created","response":{"id":"a"}}` + "\n" + `{"type":"response.output_te`))
	if err != nil || string(cut) != `{"id":"a"}` {
		t.Errorf("Assemble of a truncated stream = %s, %v; want the response", cut, err)
	}
}

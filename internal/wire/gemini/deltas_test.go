package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"fairlead.dev/internal/llm"
)

// deltaWords returns the deltas, the warnings and the error of a response.
func deltaWords(r io.Reader, o DeltaOptions) (pieces []llm.Delta, warnings []string, err error) {
	o.Warn = func(w string) { warnings = append(warnings, w) }
	for p, e := range Deltas(r, o) {
		if e != nil {
			err = e
			continue
		}
		pieces = append(pieces, p)
	}
	return pieces, warnings, err
}

func kindsOf(pieces []llm.Delta) string {
	var words []string
	for _, p := range pieces {
		word := string(p.Kind)
		switch p.Kind {
		case llm.TextDelta, llm.ThinkingDelta:
			word += ":" + p.Text
		case llm.FinishDelta:
			word += ":" + p.Finish
		case llm.CallDelta:
			word += ":" + p.Call.Name + p.Call.Arguments
		case llm.SignatureDelta:
			word += ":" + p.Thinking.Signature + "@" + p.Thinking.Provider
		default:
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func events(docs ...string) string {
	return "data: " + strings.Join(docs, "\r\n\r\ndata: ") + "\r\n\r\n"
}

func TestResponses(t *testing.T) {
	t.Parallel()
	const stop = `{"candidates":[{"finishReason":"STOP"}]}`
	say := func(part string) string { return `{"candidates":[{"content":{"parts":[` + part + `]}}]}` }
	for name, tc := range map[string]struct {
		body string
		want string
		kind llm.Kind // kind of the error; empty for none
	}{
		"thinking with a signature":         {events(say(`{"text":"t","thought":true}`), say(`{"text":"a","thoughtSignature":"s"}`), stop), "begin thinking:t seal:s@g text:a finish:stop", ""},
		"a signature at the end":            {events(say(`{"text":"a"}`), say(`{"text":"","thoughtSignature":"s"}`), stop), "begin text:a seal:s@g finish:stop", ""},
		"a signature on a thought":          {events(say(`{"text":"t","thought":true,"thoughtSignature":"s"}`), stop), "begin thinking:t seal:s@g finish:stop", ""},
		"calls":                             {events(say(`{"functionCall":{"name":"f","args":{"b": 1, "a": 2.50}}},{"functionCall":{"name":"g"}}`), stop), `begin call:f{"b":1,"a":2.50} call:g{} finish:tool_calls`, ""},
		"a call after the finish reason":    {events(stop, say(`{"functionCall":{"name":"f"}}`)), "begin call:f{} finish:tool_calls", ""},
		"a truncated call":                  {events(say(`{"functionCall":{"name":"f"}}`), `{"candidates":[{"finishReason":"MAX_TOKENS"}]}`), "begin call:f{} finish:length", ""},
		"a finish reason in every event":    {events(`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, `{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}`), "begin text:a text:b finish:stop", ""},
		"an unspecified finish reason":      {`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`, "begin text:a", llm.StreamInterrupted},
		"a blocked prompt, streamed":        {events(`{"promptFeedback":{"blockReason":"OTHER"},"usageMetadata":{"promptTokenCount":1}}`), "begin finish:content_filter usage", ""},
		"prompt feedback without a block":   {`{"promptFeedback":{"safetyRatings":[]},"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, "begin text:a finish:stop", ""},
		"a response stopped for recitation": {`{"candidates":[{"finishReason":"RECITATION"}]}`, "begin finish:content_filter", ""},
		"an unknown finish reason":          {`{"candidates":[{"finishReason":"SOLAR_FLARE"}]}`, "begin", llm.UpstreamServer},
		"one of two choices unfinished":     {events(`{"candidates":[{"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"a"}]}}]}`), "begin text:a", llm.StreamInterrupted},
		"two":                               {`{"candidates":[{"index":1,"finishReason":"MAX_TOKENS"},{"index":0,"finishReason":"STOP"}]}`, "begin finish:stop finish:length", ""},
		"an error in a list":                {events(`[{"error":{"code":503,"status":"UNAVAILABLE","message":"m"}}]`), "", llm.UpstreamOverloaded},
		"a named error event":               {"event: error\ndata: oh no\n\n", "", llm.UpstreamServer},
		"an error, whole":                   {`{"error":{"code":500,"message":"m"}}`, "", llm.UpstreamServer},
		"an error list, whole":              {`[{"error":{"code":500,"message":"m"}}]`, "", llm.UpstreamServer},
		"a null error":                      {`{"error":null,"candidates":[{"finishReason":"STOP"}]}`, "begin finish:stop", ""},
		"events of other gateways":          {": ping\n\n" + events(say(`{"text":"a"}`), stop, "[DONE]"), "begin text:a finish:stop", ""},
		"malformed before the text":         {events("oops", say(`{"text":"a"}`), stop), "", llm.UpstreamMalformed},
		"malformed after text":              {events(say(`{"text":"a"}`), "oops", say(`{"text":"b"}`), stop), "begin text:a", llm.UpstreamMalformed},
		"a number that is not JSON":         {events(say(`{"text":"a"}`), `{"candidates":[{"avgLogprobs":NaN,"content":{"parts":[{"text":"b"}]}}]}`, stop), "begin text:a", llm.UpstreamMalformed},
		"truncated JSON":                    {events(say(`{"text":"a"}`), `{"candidates":[{"content":{"parts":[{"te`, stop), "begin text:a", llm.UpstreamMalformed},
		"malformed after a finish":          {events(`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`, "oops"), "begin text:a", llm.UpstreamMalformed},
		"no candidates":                     {`{}`, "", llm.UpstreamMalformed},
		"usage alone":                       {events(`{"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1}}`), "", llm.UpstreamMalformed},
		"broken JSON":                       {`{"candidates":`, "", llm.UpstreamMalformed},
		"a broken list":                     {`[{},`, "", llm.UpstreamMalformed},
		"a negative count":                  {`{"candidates":[{"index":-1}]}`, "begin", llm.UpstreamMalformed},
		"an implausible count":              {`{"candidates":[{"index":100000}]}`, "begin", llm.UpstreamMalformed},
		"cumulative usage":                  {events(`{"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1},"candidates":[{}]}`, `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}`), "begin finish:stop usage", ""},
		"usage of an interrupted response":  {events(`{"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1},"candidates":[{}]}`), "begin usage", llm.StreamInterrupted},
		"usage without candidates":          {events(`{"usageMetadata":{"promptTokenCount":1},"candidates":[{}]}`), "begin", llm.StreamInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, src := range map[string]io.Reader{"whole": strings.NewReader(tc.body), "byte by byte": iotest.OneByteReader(strings.NewReader(tc.body))} {
				pieces, _, err := deltaWords(src, DeltaOptions{Stream: true, Provider: "g"})
				if diff := cmp.Diff(tc.want, kindsOf(pieces)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
				if (err == nil) != (tc.kind == "") || err != nil && llm.AsError(err).Kind != tc.kind {
					t.Errorf("%s: %v, want %q", way, err, tc.kind)
				}
			}
		})
	}
}

func TestWholeResponseInsteadOfAStream(t *testing.T) {
	t.Parallel()
	_, _, err := deltaWords(strings.NewReader("data: {}\n\n"), DeltaOptions{ContentType: "text/event-stream"})
	if e := llm.AsError(err); e.Kind != llm.UpstreamMalformed || !strings.Contains(e.Message, "text/event-stream") {
		t.Errorf("Deltas: %v, want UpstreamMalformed that names text/event-stream", err)
	}
}

func TestCallsWithoutIDsGetDeterministicIDs(t *testing.T) {
	t.Parallel()
	const body = `{"responseId":"r","candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}},{"functionCall":{"name":"f"}},{"functionCall":{"id":"given","name":"f"},"thoughtSignature":"s"}]},"finishReason":"STOP"}]}`
	ids := func(body string) (list []string) {
		pieces, _, err := deltaWords(strings.NewReader(body), DeltaOptions{Provider: "g"})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			if p.Kind == llm.CallDelta {
				list = append(list, p.Call.ID)
				if p.Index != len(list)-1 {
					t.Errorf("call %d has index %d", len(list)-1, p.Index)
				}
				if signed := p.Call.Signature == "s" && p.Call.Provider == "g"; signed != (p.Call.ID == "given") {
					t.Errorf("call %s: signed = %t, want %t", p.Call.ID, signed, p.Call.ID == "given")
				}
			}
		}
		return list
	}
	first, again, another := ids(body), ids(body), ids(strings.Replace(body, `"r"`, `"q"`, 1))
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the same response has other IDs:\n%s", diff)
	}
	if first[0] == first[1] || first[0] == another[0] || first[2] != "given" || !strings.HasPrefix(first[0], "call_") {
		t.Errorf("IDs %q and %q, want different ones with the prefix call_ and the given one", first, another)
	}
}

func TestResponseLimits(t *testing.T) {
	t.Parallel()
	long := `{"candidates":[{"content":{"parts":[{"text":"` + strings.Repeat("x", 1000) + `"}]},"finishReason":"STOP"}]}`
	for name, tc := range map[string]struct {
		body string
		o    DeltaOptions
	}{
		"a whole response": {long, DeltaOptions{MaxResponse: 500}},
		"a stream":         {events(long, long), DeltaOptions{Stream: true, MaxResponse: 1500}},
		"a line":           {events(long), DeltaOptions{Stream: true, MaxLine: 100}},
	} {
		_, _, err := deltaWords(strings.NewReader(tc.body), tc.o)
		if llm.AsError(err).Kind != llm.UpstreamMalformed {
			t.Errorf("%s: %v, want UpstreamMalformed", name, err)
		}
	}
	if _, _, err := deltaWords(strings.NewReader(long), DeltaOptions{MaxResponse: int64(len(long)), SizeHint: 10}); err != nil {
		t.Errorf("a response at the limit: %v", err)
	}
}

func TestConnectionErrors(t *testing.T) {
	t.Parallel()
	classified := llm.Errorf(llm.UpstreamTimeout, "silence")
	for _, stream := range []bool{false, true} {
		for cause, want := range map[error]llm.Kind{io.ErrUnexpectedEOF: llm.StreamInterrupted, context.Canceled: llm.Internal, classified: llm.UpstreamTimeout} {
			body := `{"candidates":`
			if stream {
				body = events(`{"candidates":[{}]}`)
			}
			_, _, err := deltaWords(io.MultiReader(strings.NewReader(body), iotest.ErrReader(cause)), DeltaOptions{Stream: stream})
			if !errors.Is(err, cause) || llm.AsError(err).Kind != want {
				t.Errorf("stream %t, %v: got %v, want %s", stream, cause, err, want)
			}
		}
	}
	if _, _, err := deltaWords(iotest.ErrReader(io.ErrClosedPipe), DeltaOptions{}); llm.AsError(err).Kind != llm.StreamInterrupted {
		t.Errorf("connection without data: %v, want StreamInterrupted", err)
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw  string
		want *llm.Usage
	}{
		"classes are disjoint": {
			`{"promptTokenCount":1000,"cachedContentTokenCount":600,"candidatesTokenCount":30,"thoughtsTokenCount":70,"toolUsePromptTokenCount":50,"totalTokenCount":1150}`,
			&llm.Usage{Input: 450, CacheRead: 600, Output: 100, Reasoning: 70},
		},
		"audio has its own class": {
			`{"promptTokenCount":100,"cachedContentTokenCount":20,"candidatesTokenCount":40,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":50},{"modality":"TEXT","tokenCount":50}],"cacheTokensDetails":[{"modality":"AUDIO","tokenCount":20}],"candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":40}]}`,
			&llm.Usage{Input: 80, CacheRead: 20, Output: 40, AudioInput: 30, AudioOutput: 40},
		},
		"more audio tokens than tokens": {
			`{"promptTokenCount":10,"candidatesTokenCount":1,"promptTokensDetails":[{"modality":"AUDIO","tokenCount":500}],"candidatesTokensDetails":[{"modality":"AUDIO","tokenCount":500}]}`,
			&llm.Usage{Input: 10, Output: 1, AudioInput: 10, AudioOutput: 1},
		},
		"the total includes unreported output": {`{"promptTokenCount":10,"thoughtsTokenCount":5,"totalTokenCount":22}`, &llm.Usage{Input: 10, Output: 12, Reasoning: 5}},
		"more cached tokens than tokens":       {`{"promptTokenCount":10,"cachedContentTokenCount":90,"candidatesTokenCount":1}`, &llm.Usage{CacheRead: 10, Output: 1}},
		"numbers as strings":                   {`{"promptTokenCount":"10","candidatesTokenCount":"2"}`, &llm.Usage{Input: 10, Output: 2}},
		"the tier at Vertex":                   {`{"promptTokenCount":1,"candidatesTokenCount":2,"trafficType":"ON_DEMAND_PRIORITY"}`, &llm.Usage{Input: 1, Output: 2, ServiceTier: "priority"}},
		"flex at Vertex":                       {`{"promptTokenCount":1,"candidatesTokenCount":2,"trafficType":"ON_DEMAND_FLEX"}`, &llm.Usage{Input: 1, Output: 2, ServiceTier: "flex"}},
		"the tier at AI Studio":                {`{"promptTokenCount":1,"candidatesTokenCount":2,"serviceTier":"SERVICE_TIER_FLEX"}`, &llm.Usage{Input: 1, Output: 2, ServiceTier: "flex"}},
		"negative":                             {`{"promptTokenCount":-1,"candidatesTokenCount":2}`, nil},
		"absurd":                               {`{"promptTokenCount":1e300,"candidatesTokenCount":2}`, nil},
		"a fractional count":                   {`{"promptTokenCount":1.5}`, nil},
		"nonsense":                             {`{"promptTokenCount":{}}`, nil},
		"nulls":                                {`{"promptTokenCount":null,"cachedContentTokenCount":null}`, nil},
		"nothing":                              {`{}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m usageMetadata
			if err := json.Unmarshal([]byte(tc.raw), &m); err != nil {
				t.Fatal(err)
			}
			u, ok := m.usage()
			if ok != (tc.want != nil) {
				t.Fatalf("usage() = %+v, %t; want %t", u, ok, tc.want != nil)
			}
			if tc.want == nil {
				return
			}
			if diff := cmp.Diff(*tc.want, u); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestImplausibleUsageIsReported(t *testing.T) {
	t.Parallel()
	_, warnings, err := deltaWords(strings.NewReader(`{"candidates":[{"finishReason":"STOP","content":{"parts":[{"executableCode":{}},{"inlineData":{}}]}}],"usageMetadata":{"promptTokenCount":-5}}`), DeltaOptions{})
	if err != nil || len(warnings) != 2 {
		t.Errorf("warnings %q, %v; want two", warnings, err)
	}
}

func FuzzDeltas(f *testing.F) {
	f.Add(events(`{"candidates":[{"content":{"parts":[{"text":"a"},{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}]}`), true)
	f.Add(`{"candidates":[{"index":1,"finishReason":"SAFETY"}],"usageMetadata":{"promptTokenCount":1,"promptTokensDetails":[{"tokenCount":"x"}]}}`, false)
	f.Add(`[{"error":{"code":429,"details":[{"@type":"RetryInfo","retryDelay":"1s"}]}}]`, true)
	f.Add("event: error\ndata: x\n\n", true)
	f.Fuzz(func(t *testing.T, body string, stream bool) {
		finished, begun, ended := 0, false, false
		for p, err := range Deltas(strings.NewReader(body), DeltaOptions{Stream: stream, MaxResponse: 1 << 20, Custom: func(string) bool { return true }}) {
			if ended {
				t.Fatal("Deltas returned a delta after the error")
			}
			if err != nil {
				ended = true
				continue
			}
			begun = begun || p.Kind == llm.BeginDelta
			if !begun {
				t.Fatalf("delta %+v before the begin delta", p)
			}
			if p.Kind == llm.FinishDelta {
				finished++
			}
			if p.Kind == llm.UsageDelta && (p.Usage.Input < 0 || p.Usage.AudioInput > p.Usage.Input || p.Usage.Reasoning > p.Usage.Output || p.Usage.AudioOutput > p.Usage.Output) {
				t.Fatalf("impossible usage %+v", p.Usage)
			}
		}
		if !ended && finished == 0 {
			t.Fatal("Deltas ended without an error or a finish")
		}
	})
}

package wire_test

import (
	"bytes"
	"io"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
	"fairlead.dev/internal/wire/upstream"
)

func at(seconds int64) func() time.Time {
	return func() time.Time { return time.Unix(seconds, 0) }
}

// responseFormats lists the formats with the format that resumes a response, a request, and the decoder of a provider's response. A resumed
// chat response keeps its creation time. The item IDs of the Responses API depend on the time.
var responseFormats = []struct {
	format wire.Format
	later  wire.Resumer
	body   string
	read   func(r io.Reader, stream bool) iter.Seq2[llm.Delta, error]
}{
	{openai.Format{Now: at(1)}, openai.Format{Now: at(9)}, `{"model":"m","messages":[{"role":"user","content":"x"}]}`, func(r io.Reader, stream bool) iter.Seq2[llm.Delta, error] {
		return openai.Deltas(llm.All(openai.Read(r, openai.EventOptions{Stream: stream})))
	}},
	{anthropic.Format{}, anthropic.Format{}, `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"x"}]}`, func(r io.Reader, stream bool) iter.Seq2[llm.Delta, error] {
		return anthropic.Deltas(r, anthropic.DeltaOptions{Reading: upstream.Reading{Stream: stream}})
	}},
	{responses.Format{Now: at(1)}, responses.Format{Now: at(1)}, `{"model":"m","input":"x"}`, func(r io.Reader, stream bool) iter.Seq2[llm.Delta, error] {
		return responses.Deltas(r, responses.DeltaOptions{Reading: upstream.Reading{Stream: stream}})
	}},
	{gemini.Format{Model: "m"}, gemini.Format{Model: "m"}, `{"contents":[{"parts":[{"text":"x"}]}]}`, func(r io.Reader, stream bool) iter.Seq2[llm.Delta, error] {
		return gemini.Deltas(r, gemini.DeltaOptions{Stream: stream})
	}},
}

func each(deltas ...llm.Delta) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, d := range deltas {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// stops breaks out of the sequence after each of its values: a sequence that continues after its consumer stopped panics.
func stops[T any](sequence func() iter.Seq2[T, error]) {
	total := 0
	for range sequence() {
		total++
	}
	for n := range total {
		for range sequence() {
			if n--; n < 0 {
				break
			}
		}
	}
}

// An encoded response is decoded to the same content. Encoders and decoders stop with their consumer.
func TestResponsesSurviveEveryFormat(t *testing.T) {
	t.Parallel()
	type content struct {
		Text, Call, Arguments, Finish string
		Usage                         llm.Usage
	}
	want := content{"Hello there", "look", `{"a":1}`, "tool_calls", llm.Usage{Input: 3, CacheRead: 2, Output: 5}}
	deltas := []llm.Delta{
		{Kind: llm.BeginDelta, ID: "r_1", Model: "real"},
		{Kind: llm.UsageDelta, Usage: &want.Usage},
		{Kind: llm.TextDelta, Text: "Hello "},
		{Kind: llm.TextDelta, Text: "there"},
		{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "call_1", Name: "look"}},
		{Kind: llm.ArgumentsDelta, Text: `{"a":`},
		{Kind: llm.ArgumentsDelta, Text: `1}`},
		{Kind: llm.FinishDelta, Finish: "tool_calls"},
	}
	for _, f := range responseFormats {
		for _, stream := range []bool{true, false} {
			req, err := f.format.DecodeRequest(t.Context(), llm.Chat, []byte(f.body))
			if err != nil {
				t.Fatal(err)
			}
			req.Stream = stream
			encode := func() iter.Seq2[llm.Event, error] { return f.format.EncodeResponse(req, "m", each(deltas...)) }
			stops(encode)
			var sent bytes.Buffer
			for ev, err := range encode() {
				if err != nil {
					t.Fatal(err)
				}
				if !stream {
					sent.Write(ev.Data)
				} else if err := f.format.Framing().WriteEvent(&sent, ev); err != nil {
					t.Fatal(err)
				}
			}
			decode := func() iter.Seq2[llm.Delta, error] { return f.read(bytes.NewReader(sent.Bytes()), stream) }
			stops(decode)
			var got content
			for d, err := range decode() {
				if err != nil {
					t.Fatalf("%s: %v in\n%s", f.format.Name(), err, sent.String())
				}
				switch d.Kind {
				case llm.TextDelta:
					got.Text += d.Text
				case llm.CallDelta:
					got.Call, got.Arguments = got.Call+d.Call.Name, got.Arguments+d.Call.Arguments
				case llm.ArgumentsDelta:
					got.Arguments += d.Text
				case llm.FinishDelta:
					got.Finish = d.Finish
				case llm.UsageDelta:
					got.Usage = *d.Usage
					got.Usage.ServiceTier = ""
				default:
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, stream %t (-want +got):\n%s", f.format.Name(), stream, diff)
			}
		}
	}
}

func TestResumedResponseEqualsAnUninterruptedOne(t *testing.T) {
	t.Parallel()
	// Usage is not compared, because a resumed response counts it again.
	collect := func(t *rapid.T, events iter.Seq2[llm.Event, error]) (all []llm.Event) {
		for ev, err := range events {
			if err != nil {
				t.Fatal(err)
			}
			ev.Data, ev.Usage = bytes.Clone(ev.Data), nil
			all = append(all, ev)
		}
		return all
	}
	for _, f := range responseFormats {
		req, err := f.format.DecodeRequest(t.Context(), llm.Chat, []byte(f.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Stream = true
		rapid.Check(t, func(t *rapid.T) {
			texts := rapid.SliceOfN(rapid.StringN(1, 10, -1), 1, 8).Draw(t, "texts")
			n := rapid.IntRange(1, len(texts)).Draw(t, "texts before the interruption")
			deltas, delivered := []llm.Delta{{Kind: llm.BeginDelta, ID: "msg_1", Model: "real"}}, ""
			for i, text := range texts {
				deltas = append(deltas, llm.Delta{Kind: llm.TextDelta, Text: text})
				if i < n {
					delivered += text
				}
			}
			deltas = append(deltas,
				llm.Delta{Kind: llm.CallDelta, Call: &llm.ToolCall{ID: "call_1", Name: "look", Arguments: "{}"}},
				llm.Delta{Kind: llm.FinishDelta, Finish: "tool_calls"},
				llm.Delta{Kind: llm.UsageDelta, Usage: &llm.Usage{Input: 3, Output: 4}})
			whole := collect(t, f.format.EncodeResponse(req, "m", each(deltas...)))
			first := slices.IndexFunc(whole, func(ev llm.Event) bool { return ev.Content })
			var sent [][]byte
			for _, ev := range whole[:first+n] {
				sent = append(sent, ev.Data)
			}

			rest, ok := f.later.Resume(req, bytes.Join(sent, []byte("\n")))

			if !ok || rest.Text != delivered {
				t.Fatalf("%s: Resume after %q = %q, %t", f.format.Name(), delivered, rest.Text, ok)
			}
			after := append([]llm.Delta{{Kind: llm.BeginDelta, ID: "another", Model: "real"}}, deltas[n+1:]...)
			if diff := cmp.Diff(whole[first+n:], collect(t, rest.Encode(each(after...)))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", f.format.Name(), diff)
			}
		})
	}
}

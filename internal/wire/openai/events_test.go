package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"fairlead.dev/internal/llm"
)

var update = flag.Bool("update", false, "rewrite the golden events")

// exchange holds the contents of one golden file: the options, the response, and the resulting events. Line ends in the response are
// escaped (\n, \r\n), so the framing is visible in the file.
type exchange struct {
	options EventOptions
	answer  string
	archive *txtar.Archive
}

func readExchange(t testing.TB, path string) exchange {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x := exchange{archive: archive}
	for word := range strings.FieldsSeq(string(archive.Files[0].Data)) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "stream":
			x.options.Stream = true
		case "bare":
			x.options.Bare = true
		case "model":
			x.options.Model = value
		case "usage":
			x.options.UsagePath = value
		case "ontop":
			x.options.ReasoningOnTop = true
		case "type":
			x.options.ContentType = value
		default:
			t.Fatalf("%s: unknown option %q", path, word)
		}
	}
	raw := strings.ReplaceAll(string(archive.Files[1].Data), "\n", "")
	x.answer = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\\`, `\`).Replace(raw)
	return x
}

// shown formats events, one per line: their properties, then their data.
func shown(r io.Reader, o EventOptions) string {
	var out strings.Builder
	o.Warn = func(s string) { fmt.Fprintf(&out, "warning: %s\n", s) }
	for ev, err := range llm.All(Read(r, o)) {
		if err != nil {
			e := llm.AsError(err)
			fmt.Fprintf(&out, "error %s status=%d code=%s wait=%s: %s\n", e.Kind, e.UpstreamStatus, e.UpstreamCode, e.RetryAfter, e.Message)
			continue
		}
		out.WriteString(describe(ev) + "\n")
	}
	return out.String()
}

func describe(ev llm.Event) string {
	words := []string{}
	if ev.Content {
		words = append(words, "content")
	}
	if ev.Bare {
		words = append(words, "bare")
	}
	if ev.Finish != "" {
		words = append(words, "finish="+ev.Finish)
	}
	if ev.ASCIIBytes+ev.NonASCIIBytes > 0 {
		words = append(words, fmt.Sprintf("text=%d+%d", ev.ASCIIBytes, ev.NonASCIIBytes))
	}
	if u := ev.Usage; u != nil {
		words = append(words, fmt.Sprintf("usage=in:%d,read:%d,write:%d,out:%d,reasoning:%d", u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning))
	}
	return fmt.Sprintf("[%s] %s", strings.Join(words, " "), ev.Data)
}

func TestEventsGolden(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/events/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			x := readExchange(t, path)
			got := shown(strings.NewReader(x.answer), x.options)
			if *update {
				x.archive.Files[2].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(x.archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(x.archive.Files[2].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if bytewise := shown(iotest.OneByteReader(strings.NewReader(x.answer)), x.options); bytewise != got {
				t.Errorf("one byte at a time (-whole +bytes):\n%s", cmp.Diff(got, bytewise))
			}
			for ev, err := range llm.All(Read(strings.NewReader(x.answer), x.options)) {
				if err == nil && !json.Valid(ev.Data) {
					t.Errorf("an event is not JSON: %s", ev.Data)
				}
			}
		})
	}
}

// outcome reads a response to its end and returns the number of events and the error.
func outcome(r io.Reader, o EventOptions) (int, error) {
	n := 0
	for _, err := range llm.All(Read(r, o)) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

const oneChunk = `data: {"id":"1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n"

func TestEventsDistinguishInterruptionsFromCancellation(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	timeout := &llm.Error{Kind: llm.UpstreamTimeout, Message: "silent"}
	tests := map[string]struct {
		err  error
		want llm.Kind // kind of the returned *llm.Error; empty if the error of the reader is returned unchanged
	}{
		"reset":           {broken, llm.StreamInterrupted},
		"short body":      {io.ErrUnexpectedEOF, llm.StreamInterrupted},
		"cancelled":       {context.Canceled, ""},
		"deadline":        {context.DeadlineExceeded, ""},
		"llm.Error cause": {timeout, llm.UpstreamTimeout},
	}
	for name, tc := range tests {
		for _, stream := range []bool{true, false} {
			_, err := outcome(io.MultiReader(strings.NewReader(oneChunk), iotest.ErrReader(tc.err)), EventOptions{Stream: stream})
			if !errors.Is(err, tc.err) {
				t.Errorf("%s: error %v does not wrap the cause", name, err)
			}
			if e, ok := errors.AsType[*llm.Error](err); ok != (tc.want != "") || ok && e.Kind != tc.want {
				t.Errorf("%s, stream %t: got %v, want kind %q", name, stream, err, tc.want)
			}
		}
	}
}

func TestEventsAreLimited(t *testing.T) {
	t.Parallel()
	endless := strings.Repeat(oneChunk, 1000)
	for name, tc := range map[string]struct {
		body string
		o    EventOptions
	}{
		"stream": {endless, EventOptions{Stream: true, MaxResponse: 1000}},
		"whole":  {`{"choices":[{"message":{"content":"` + strings.Repeat("x", 5000) + `"}}]}`, EventOptions{MaxResponse: 1000}},
		"line":   {"data: " + strings.Repeat("x", 5000) + "\n\n", EventOptions{Stream: true, MaxLine: 1000}},
		"hint":   {`{"choices":[{"message":{"content":"` + strings.Repeat("x", 5000) + `"}}]}`, EventOptions{MaxResponse: 1000, SizeHint: 10}},
	} {
		_, err := outcome(strings.NewReader(tc.body), tc.o)
		if e, ok := errors.AsType[*llm.Error](err); !ok || e.Kind != llm.UpstreamMalformed {
			t.Errorf("%s: %v, want UpstreamMalformed", name, err)
		}
	}
	large := `data: {"choices":[{"index":0,"delta":{"content":"` + strings.Repeat("x", 5<<20) + `"},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	if n, err := outcome(strings.NewReader(large), EventOptions{Stream: true}); n != 1 || err != nil {
		t.Errorf("an event of 5 MB: %d events, %v; want 1", n, err)
	}
}

func FuzzEvents(f *testing.F) {
	paths, _ := filepath.Glob("testdata/events/*.txt")
	for _, path := range paths {
		x := readExchange(f, path)
		f.Add([]byte(x.answer), x.options.Stream)
	}
	f.Fuzz(func(t *testing.T, answer []byte, stream bool) {
		o := EventOptions{Stream: stream, Model: "canon", UsagePath: "x_groq.usage"}
		ended := false
		for ev, err := range llm.All(Read(bytes.NewReader(answer), o)) {
			if ended {
				t.Fatal("the stream returned an event after the error")
			}
			if err != nil {
				ended = true
				if _, ok := errors.AsType[*llm.Error](err); !ok {
					t.Fatalf("%v is not an *llm.Error", err)
				}
				continue
			}
			if problem := invalidEvent(ev.Data, "canon"); problem != "" {
				t.Fatal(problem)
			}
			if u := ev.Usage; u != nil && (u.Input < 0 || u.CacheRead < 0 || u.CacheWrite < 0 || u.Output < 0 || u.Reasoning > u.Output) {
				t.Fatalf("impossible usage %+v", u)
			}
			if stream && bytes.ContainsAny(ev.Data, "\n\r") {
				t.Fatalf("the event %q contains a line end", ev.Data)
			}
		}
		got := shown(bytes.NewReader(answer), o)
		if bytewise := shown(iotest.OneByteReader(bytes.NewReader(answer)), o); bytewise != got {
			t.Fatalf("one byte at a time (-whole +bytes):\n%s", cmp.Diff(got, bytewise))
		}
	})
}

// paced is a reader that returns one piece per call of Read. It calls onRead before each piece.
type paced struct {
	pieces []string
	onRead func()
}

func (p *paced) Read(b []byte) (int, error) {
	p.onRead()
	if len(p.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.pieces[0])
	p.pieces = p.pieces[1:]
	return n, nil
}

// A response that waits for its next event returns its chunk to the pool, so that other responses can use the chunk.
func TestWaitingResponsesShareChunks(t *testing.T) {
	t.Parallel()
	const chunk = `data: {"model":"theirs","choices":[{"index":0,"delta":{"content":"%s%d"},"finish_reason":%s}]}` + "\n\n"
	const want = `{"model":"ours","choices":[{"index":0,"delta":{"content":"%s%d"},"finish_reason":%s}]}`
	var streams []*responseStream
	names := []string{"a", "b", "c"}
	for _, name := range names {
		src := &paced{}
		for i, finish := range []string{"null", "null", `"stop"`} {
			src.pieces = append(src.pieces, fmt.Sprintf(chunk, name, i, finish))
		}
		stream := Read(src, EventOptions{Stream: true, Model: "ours"}).(*responseStream)
		defer stream.Close()
		src.onRead = func() {
			if stream.c != nil {
				t.Error("a waiting response holds a chunk")
			}
		}
		streams = append(streams, stream)
	}
	for i, finish := range []string{"null", "null", `"stop"`} {
		for n, stream := range streams {
			ev, ok, err := stream.Next()
			if !ok || err != nil || string(ev.Data) != fmt.Sprintf(want, names[n], i, finish) {
				t.Errorf("event %d of %s: %s, %t, %v", i, names[n], ev.Data, ok, err)
			}
		}
	}
}

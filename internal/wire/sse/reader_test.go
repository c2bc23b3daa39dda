package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// seen holds the contents of an event for comparison in tests.
type seen struct {
	Name, Data   string
	Unterminated bool
}

func readAll(t *testing.T, src io.Reader, maxLine int) ([]seen, error) {
	t.Helper()
	var events []seen
	r := NewReader(src, maxLine)
	for {
		ev, err := r.Next()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		events = append(events, seen{string(ev.Name), string(ev.Data), ev.Unterminated})
	}
}

// reference is a simple implementation of the parser, with which the results of Reader are compared.
func reference(stream string) []seen {
	stream = strings.TrimPrefix(stream, "\ufeff")
	stream = strings.ReplaceAll(stream, "\r\n", "\n")
	stream = strings.ReplaceAll(stream, "\r", "\n")
	lines := strings.Split(stream, "\n")
	var events []seen
	var data []string
	name := ""
	for i, line := range lines {
		last := i == len(lines)-1
		if field, value, _ := strings.Cut(line, ":"); line != "" {
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "data":
				data = append(data, value)
			case "event":
				name = value
			}
		}
		if line == "" || last {
			if data != nil {
				events = append(events, seen{name, strings.Join(data, "\n"), last})
			}
			data, name = nil, ""
		}
	}
	return events
}

var streams = map[string]struct {
	stream string
	want   []seen
}{
	"plain":                                  {"data: a\n\ndata: b\n\n", []seen{{Data: "a"}, {Data: "b"}}},
	"crlf":                                   {"data: a\r\n\r\ndata: b\r\n\r\n", []seen{{Data: "a"}, {Data: "b"}}},
	"cr":                                     {"data: a\r\rdata: b\r\r", []seen{{Data: "a"}, {Data: "b"}}},
	"mixed line ends":                        {"data: a\r\n\ndata: b\n\rdata: c\r\r\n", []seen{{Data: "a"}, {Data: "b"}, {Data: "c"}}},
	"no space after the colon":               {"data:a\n\n", []seen{{Data: "a"}}},
	"only one space is removed":              {"data:  a\n\n", []seen{{Data: " a"}}},
	"comments and empty lines":               {": ping\n\n\n: OPENROUTER PROCESSING\n\ndata: a\n: x\n\n", []seen{{Data: "a"}}},
	"several data lines":                     {"data: a\ndata\ndata: b\n\n", []seen{{Data: "a\n\nb"}}},
	"empty data":                             {"data\n\ndata:\n\n", []seen{{}, {}}},
	"event name":                             {"event: error\ndata: a\n\ndata: b\n\n", []seen{{Name: "error", Data: "a"}, {Data: "b"}}},
	"a name without data is dropped":         {"event: ping\n\ndata: a\n\n", []seen{{Data: "a"}}},
	"id, retry and unknown fields":           {"id: 1\nretry: 5\nfoo: x\ndatas: y\ndata: a\n\n", []seen{{Data: "a"}}},
	"byte order mark":                        {"\ufeffdata: a\n\n", []seen{{Data: "a"}}},
	"a second byte order mark is data":       {"\ufeff\ufeffdata: a\n\n", nil},
	"without the last empty line":            {"data: a\n\ndata: b\n", []seen{{Data: "a"}, {Data: "b", Unterminated: true}}},
	"without the last line end":              {"data: a\n\ndata: [DONE]", []seen{{Data: "a"}, {Data: "[DONE]", Unterminated: true}}},
	"text outside ASCII":                     {"data: grüße 你好 🙂\n\n", []seen{{Data: "grüße 你好 🙂"}}},
	"nothing":                                {"", nil},
	"a truncated byte order mark":            {"\xef\xbb", nil},
	"white space":                            {"\n\r\n \n", nil},
	"colon in the value":                     {"data: {\"a\": 1}\n\n", []seen{{Data: `{"a": 1}`}}},
	"a line with a colon first is a comment": {":data: a\n\n", nil},
	"CR at the very end":                     {"data: a\n\r", []seen{{Data: "a"}}},
	"LF after CR belongs to the CR":          {"data: a\r\ndata: b\r\n\r\n", []seen{{Data: "a\nb"}}},
}

func TestReader(t *testing.T) {
	t.Parallel()
	for name, tc := range streams {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, src := range map[string]io.Reader{
				"whole":              strings.NewReader(tc.stream),
				"one byte at a time": iotest.OneByteReader(strings.NewReader(tc.stream)),
				"data with the end":  iotest.DataErrReader(strings.NewReader(tc.stream)),
			} {
				got, err := readAll(t, src, 0)
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

func TestReaderLimitsLines(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"a terminated line":   "data: " + strings.Repeat("x", 100) + "\n\n",
		"an endless line":     "data: " + strings.Repeat("x", 1<<20),
		"many lines together": strings.Repeat("data: xxxxxxxx\n", 20) + "\n",
	}
	for name, stream := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, src := range []io.Reader{strings.NewReader(stream), iotest.HalfReader(strings.NewReader(stream))} {
				if _, err := readAll(t, src, 64); !errors.Is(err, ErrTooLong) {
					t.Errorf("got %v, want ErrTooLong", err)
				}
			}
		})
	}
	if got, err := readAll(t, strings.NewReader("data: "+strings.Repeat("x", 58)+"\n\n"), 64); err != nil || len(got) != 1 {
		t.Errorf("a line at the limit: %v, %v; want one event", got, err)
	}
}

func TestReaderReturnsErrorsOfTheSource(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	got, err := readAll(t, io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 0)
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the error of the source", err)
	}
	if diff := cmp.Diff([]seen{{Data: "a"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReaderStopsWithoutProgress(t *testing.T) {
	t.Parallel()
	if _, err := NewReader(stuck{}, 0).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("Next: %v, want io.ErrNoProgress", err)
	}
}

func TestFirstDistinguishesStreamsFromDocuments(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]byte{
		" \r\n{\"a\":1}": '{', "\ufeff{}": '{', "\n\ndata: a": 'd', ": ping\n": ':', "\xef\xbb\xbf\n<html>": '<', "x": 'x', "\xefx": 0xef,
	} {
		r := NewReader(iotest.OneByteReader(strings.NewReader(stream)), 0)
		got, err := r.First()
		if err != nil || got != want {
			t.Errorf("First of %q = %q, %v; want %q", stream, got, err, want)
		}
		if rest, err := io.ReadAll(r.Rest()); err != nil || string(rest) != stream {
			t.Errorf("Rest of %q = %q, %v; want the whole stream", stream, rest, err)
		}
	}
	if _, err := NewReader(strings.NewReader(" \n"), 0).First(); !errors.Is(err, io.EOF) {
		t.Errorf("First of white space: %v, want EOF", err)
	}
	r := NewReader(strings.NewReader("data: a\n\n"), 0)
	if _, err := r.First(); err != nil {
		t.Fatal(err)
	}
	if ev, err := r.Next(); err != nil || string(ev.Data) != "a" {
		t.Errorf("Next after First: %q, %v; want a", ev.Data, err)
	}
}

func TestWriteDataRoundTrip(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"a":1}`: "data: {\"a\":1}\n\n", "": "data: \n\n", "a\nb": "data: a\ndata: b\n\n",
		"a\r\nb\rc\n": "data: a\ndata: b\ndata: c\ndata: \n\n",
	} {
		var buf bytes.Buffer
		if err := WriteData(&buf, []byte(payload)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, buf.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", payload, diff)
		}
		plain := strings.ReplaceAll(strings.ReplaceAll(payload, "\r\n", "\n"), "\r", "\n")
		if got, _ := readAll(t, &buf, 0); len(got) != 1 || got[0].Data != plain {
			t.Errorf("%q was decoded as %+v, want %q", payload, got, plain)
		}
	}
}

func TestWriteStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{"a", "a\nb"} {
		if err := WriteData(brokenWriter{}, []byte(payload)); err == nil {
			t.Errorf("WriteData(%q) to a broken writer returned no error", payload)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func FuzzReader(f *testing.F) {
	for _, tc := range streams {
		f.Add([]byte(tc.stream), uint8(1))
	}
	f.Add([]byte("data: "+strings.Repeat("long ", 2000)+"\ndata: x\n\n"), uint8(200))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		want := reference(string(stream))
		got, err := readAll(t, &stepReader{stream, int(step)}, 0)
		if err != nil {
			t.Fatal(err)
		}
		// The reference implementation cannot distinguish a stream that ends inside an event from one that ends after
		// it.
		if len(want) > 0 && len(got) > 0 {
			want[len(want)-1].Unterminated = got[len(got)-1].Unterminated
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", stream, diff)
		}
	})
}

// stepReader returns at most step bytes per read.
type stepReader struct {
	rest []byte
	step int
}

func (s *stepReader) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), max(1, s.step))], s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// A complete event is returned before the source is read again, because the next read may block while the stream is
// silent.
func TestBufferedEventIsReturnedWithoutReading(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		src := &pieces{left: []string{"data: 1" + end + end + "data: 2" + end + end, "data: 3" + end, end}}
		r := NewReader(src, 0)
		for i, want := range []int{1, 1, 3} {
			if _, err := r.Next(); err != nil || src.reads != want {
				t.Errorf("with %q, event %d was returned after %d reads, want %d: %v", end, i+1, src.reads, want, err)
			}
		}
	}
}

// pieces is a reader that returns one piece per call of Read.
type pieces struct {
	left  []string
	reads int
}

func (p *pieces) Read(to []byte) (int, error) {
	p.reads++
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.left[0])
	p.left = p.left[1:]
	return n, nil
}

func TestResetReaderReadsAnotherStream(t *testing.T) {
	t.Parallel()
	r := NewReader(strings.NewReader("data: one\n\ndata: unread"), 0)
	if ev, err := r.Next(); err != nil || string(ev.Data) != "one" {
		t.Fatalf("first stream: %q, %v; want one", ev.Data, err)
	}
	r.Reset(strings.NewReader("\ufeffdata: two\n\n"), 0)
	if ev, err := r.Next(); err != nil || string(ev.Data) != "two" {
		t.Errorf("stream after Reset: %q, %v; want two", ev.Data, err)
	}
}

package http1

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// message is one message read by a Reader.
type message struct {
	Status int
	Last   bool
	Body   string
}

// readAll reads messages until the connection ends or a message is malformed.
func readAll(from io.Reader) (all []message, err error) {
	r := NewReader(from, 32)
	for {
		status, last, err := r.Head()
		if err != nil {
			return all, err
		}
		var body strings.Builder
		part, err := r.Part()
		for ; err == nil; part, err = r.Part() {
			body.Write(part)
		}
		if !errors.Is(err, io.EOF) {
			return all, err
		}
		all = append(all, message{status, last, body.String()})
	}
}

func TestReaderReadsConsecutiveMessages(t *testing.T) {
	t.Parallel()
	const long = "longer than the buffer that it is read with"
	in := "POST /v1 HTTP/1.1\r\nHost: h\r\nContent-LENGTH: 43\r\n\r\n" + long +
		"HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\nContent-Length: 3\r\n\r\n3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n" +
		"HTTP/1.1 204\r\n\r\n" +
		"HTTP/1.1 503 Not Now\r\nContent-Length: 0\r\nConnection: Close\r\n\r\n"
	want := []message{{Body: long}, {Status: 200, Body: "abc0123456789"}, {Status: 204}, {Status: 503, Last: true}}
	for name, from := range map[string]io.Reader{
		"in one piece": strings.NewReader(in),
		"in halves":    iotest.HalfReader(strings.NewReader(in)),
		"byte by byte": iotest.OneByteReader(strings.NewReader(in)),
	} {
		got, err := readAll(from)
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
			t.Errorf("%s: got error %v, want EOF; messages (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestIncompleteMessageIsAnError(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"a body that ends early":        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
		"a chunk that ends early":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"chunks without a last one":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
		"chunks without an end":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
		"an invalid chunk size":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"a chunk longer than declared":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
		"a negative length":             "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"a head that ends early":        "HTTP/1.1 200 OK\r\nContent-",
		"a line longer than the buffer": "HTTP/1.1 200 OK\r\nServer: something that calls itself by a long name\r\n\r\n",
	} {
		if got, err := readAll(strings.NewReader(in)); len(got) > 0 || err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: got the messages %+v and the error %v, want no messages and an error other than EOF", name, got, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
	f.Add("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab")
	f.Fuzz(func(t *testing.T, in string) {
		all, err := readAll(strings.NewReader(in)) // must not hang or panic
		size := 0
		for _, m := range all {
			size += len(m.Body)
		}
		if err == nil || size > len(in) {
			t.Errorf("read %d bytes of an input of %d bytes, error %v; want at most the input and an error at its end", size, len(in), err)
		}
	})
}

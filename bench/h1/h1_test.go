package h1

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func body(t *testing.T, r *Reader, h *Head, untilEOF bool) string {
	t.Helper()
	var sb strings.Builder
	if err := r.ReadBody(h, untilEOF, func(p []byte) error { sb.Write(p); return nil }); err != nil {
		t.Fatal(err)
	}
	return sb.String()
}

func TestMessagesInSequence(t *testing.T) {
	const in = "POST /v1/x?a=1 HTTP/1.1\r\nHost: h\r\nContent-LENGTH: 5\r\n\r\nhello" +
		"POST /y HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: Close\r\n\r\n" +
		"3\r\nabc\r\nA;x=1\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n" +
		"GET /z HTTP/1.1\r\n\r\n"
	for name, src := range map[string]io.Reader{
		"whole":        strings.NewReader(in),
		"byte by byte": iotest.OneByteReader(strings.NewReader(in)),
	} {
		t.Run(name, func(t *testing.T) {
			r := NewReader(src, 16)
			h, err := r.ReadHead()
			if err != nil || string(h.Path()) != "/v1/x?a=1" || h.ContentLength != 5 || string(h.Field("host")) != "h" {
				t.Fatalf("%+v %v", h, err)
			}
			if got := body(t, r, h, false); got != "hello" {
				t.Fatalf("body %q", got)
			}
			if h, err = r.ReadHead(); err != nil || !h.Chunked || !h.Close {
				t.Fatalf("%+v %v", h, err)
			}
			if got := body(t, r, h, false); got != "abc0123456789" {
				t.Fatalf("body %q", got)
			}
			if h, err = r.ReadHead(); err != nil || string(h.Path()) != "/z" {
				t.Fatalf("%+v %v", h, err)
			}
			if _, err = r.ReadHead(); !errors.Is(err, io.EOF) {
				t.Fatalf("at the end: %v", err)
			}
		})
	}
}

func TestResponses(t *testing.T) {
	r := NewReader(strings.NewReader("HTTP/1.1 429 Too Many Requests\r\nX: y\r\n\r\nuntil the end"), 8)
	h, err := r.ReadHead()
	if err != nil || h.Status() != 429 {
		t.Fatalf("%d %v", h.Status(), err)
	}
	if got := body(t, r, h, true); got != "until the end" {
		t.Fatalf("body %q", got)
	}
}

func TestBroken(t *testing.T) {
	for _, in := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"HTTP/1.1 200",
	} {
		r := NewReader(strings.NewReader(in), 64)
		h, err := r.ReadHead()
		if err == nil {
			err = r.ReadBody(h, true, func([]byte) error { return nil })
		}
		if err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

package ingress

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		head   string
		status int
	}{
		"no version":                   {"GET /\r\nHost: a\r\n\r\n", 400},
		"another version":              {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
		"no version at all":            {"GET / FTP\r\nHost: a\r\n\r\n", 400},
		"a space too many":             {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"a space in the path":          {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"a control character in it":    {"GET /a\x01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"no method":                    {" / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"a method that is no word":     {"GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"a tunnel":                     {"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 400},
		"an empty line before":         {"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
		"lines that end with LF":       {"GET / HTTP/1.1\nHost: a\n\n", 400},
		"one line that ends with LF":   {"GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", 400},
		"a bare CR in a value":         {"GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n", 400},
		"a NUL in a value":             {"GET / HTTP/1.1\r\nHost: a\r\nX: b\x00c\r\n\r\n", 400},
		"a folded line":                {"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400},
		"a header without colon":       {"GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400},
		"a header without name":        {"GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n", 400},
		"a space before the colon":     {"GET / HTTP/1.1\r\nHost: a\r\nX : b\r\n\r\n", 400},
		"no host":                      {"GET / HTTP/1.1\r\n\r\n", 400},
		"two hosts":                    {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
		"a host that is none":          {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
		"length and chunks":            {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
		"two lengths":                  {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n", 400},
		"the same length twice":        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", 400},
		"two lengths in one":           {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\n", 400},
		"a length with a sign":         {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\n", 400},
		"a negative length":            {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -3\r\n\r\n", 400},
		"a length in hexadecimal":      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\n", 400},
		"a length with an underscore":  {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\n", 400},
		"an empty length":              {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\n", 400},
		"a length beyond all":          {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n", 400},
		"another coding":               {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
		"two codings":                  {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
		"chunked twice":                {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
		"a coding with odd space":      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n", 400},
		"chunks before they were made": {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
		"another expectation":          {"POST / HTTP/1.1\r\nHost: a\r\nExpect: the-unexpected\r\nContent-Length: 1\r\n\r\n", 417},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read(c.head)
			var r *refusal
			if !errors.As(err, &r) || r.status != c.status {
				t.Errorf("got %v, want a refusal by %d", err, c.status)
			}
		})
	}
}

// read makes sense of a head that has come whole.
func read(head string) (message, error) {
	var s search
	end, err := s.end([]byte(head))
	if err != nil {
		return message{}, err
	}
	if end == 0 {
		return message{}, io.ErrUnexpectedEOF
	}
	return parse(head[:end], s.lines)
}

func TestHeadsAreFoundWhereverTheyAreCut(t *testing.T) {
	t.Parallel()
	const head = "GET /a HTTP/1.1\r\nHost: b\r\nX: \r\n\r\n"
	var s search
	for n := range len(head) {
		if end, err := s.end([]byte(head[:n])); end != 0 || err != nil {
			t.Errorf("%q ends at %d: %v", head[:n], end, err)
		}
	}
	if end, err := s.end([]byte(head + "more")); end != len(head) || s.lines != 3 || err != nil {
		t.Errorf("got %d, %d, %v", end, s.lines, err)
	}
}

// A client that sends a head byte by byte would else have us look at each of its lines tens of thousands of times.
func TestWhatWasLookedAtIsNotLookedAtAgain(t *testing.T) {
	t.Parallel()
	head := []byte("GET /a HTTP/1.1\r\nHost: b\r\nX: a long one\r\n\r\n")
	var s search
	for n := range len(head) {
		if end, err := s.end(head[:n]); end != 0 || err != nil {
			t.Fatalf("%q ends at %d: %v", head[:n], end, err)
		}
		if n > 1 {
			head[n-2] = '\n' // whoever reads it again finds a line that is refused; the last byte may be the CR of an end
		}
	}
	if end, err := s.end(head); end != len(head) || s.lines != 3 || err != nil {
		t.Errorf("got %d, %d, %v", end, s.lines, err)
	}
}

// FuzzParse holds our reading against that of net/http. We may refuse what it takes, but never take what it refuses, or read
// it otherwise.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		get("/proxy/v1/models?x=1#y"),
		"POST http://other/x HTTP/1.1\r\nHost: a:1\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhelloGET",
		"POST /x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET",
		"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nT: x\r\n\r\n",
		"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
		"GET //a//b HTTP/1.1\r\nHost: [::1]:80\r\nX:\ta \t\r\nx: b\r\nx-y: \xff\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: \r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n",
		"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var s search
		end, err := s.end(data)
		if err != nil || end == 0 {
			return
		}
		m, err := parse(string(data[:end]), s.lines)
		if err != nil {
			return
		}
		theirs := bufio.NewReader(bytes.NewReader(data))
		want, err := http.ReadRequest(theirs)
		if err != nil {
			t.Fatalf("net/http refuses what we take: %v", err)
		}
		want.Header.Del("Cache-Control") // it is made of Pragma there
		ours := m.request.Header.Clone()
		ours.Del("Cache-Control")
		ours.Del("Trailer") // that is what follows the chunks there
		got := []any{m.request.Method, m.request.RequestURI, m.request.URL.String(), m.request.Host, m.request.Proto, m.request.ContentLength, m.request.TransferEncoding, ours}
		if diff := cmp.Diff([]any{want.Method, want.RequestURI, want.URL.String(), want.Host, want.Proto, want.ContentLength, want.TransferEncoding, want.Header}, got); diff != "" {
			t.Fatalf("read otherwise (-net/http, +ours):\n%s", diff)
		}
		if want.Close && !m.request.Close {
			t.Fatal("net/http would close the connection")
		}
		compareBodies(t, &m, data[end:], want, theirs)
	})
}

// compareBodies reads both bodies, and where the connection goes on, what comes after them.
func compareBodies(t *testing.T, m *message, rest []byte, want *http.Request, theirs *bufio.Reader) {
	t.Helper()
	c := &conn{in: intake{buf: append(bytes.Clone(rest), make([]byte, firstRead+1)...), w: len(rest), conn: ended{}}} // of no size that is shared
	m.expects = false                                                                                                 // nobody is there to be told
	got, gotErr := io.ReadAll(newBody(c, m))
	text, err := io.ReadAll(want.Body)
	if m.request.ContentLength < 0 { // they read the trailer as well, and may not like it: then we have read no more than they
		if gotErr == nil && !bytes.Equal(got, text) || err == nil && gotErr != nil {
			t.Fatalf("chunks: %q, %v; net/http %q, %v", got, gotErr, text, err)
		}
		return
	}
	if !bytes.Equal(got, text) || (gotErr == nil) != (err == nil) {
		t.Fatalf("body %q, %v; net/http %q, %v", got, gotErr, text, err)
	}
	after, _ := io.ReadAll(theirs)
	if !m.request.Close && !bytes.Equal(c.in.pending(), after) {
		t.Fatalf("the next request begins with %q; net/http %q", c.in.pending(), after)
	}
}

// ended is a connection that says nothing more.
type ended struct{ caller }

func (ended) Read([]byte) (int, error) { return 0, io.EOF }

func TestManyHeadersAreRead(t *testing.T) {
	t.Parallel()
	m, err := read("GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: 1\r\n", 9000) + "\r\n")
	if n := len(m.request.Header["X"]); err != nil || n != 9000 {
		t.Errorf("got %d, %v", n, err)
	}
}

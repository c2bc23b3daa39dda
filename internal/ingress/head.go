package ingress

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// refusal is why something is no request that can be answered, with the status that says so.
type refusal struct {
	status int
	why    string
}

func (r *refusal) Error() string { return r.why }

func refuse(status int, why string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(why, args...)}
}

func malformed(why string, args ...any) *refusal { return refuse(http.StatusBadRequest, why, args...) }

// search is for the end of a head, which comes in pieces. What was looked at is not looked at again: it would cost a client little to
// make us look at the same lines very often.
type search struct {
	line  int // where the present line begins
	seen  int // what was looked at
	lines int // before the present one
}

// end is where the head ends that b begins with, its empty line included, and 0 while that has not come yet. Lines end with CRLF and
// nothing else: whoever stands before us may see more or fewer of them otherwise.
func (s *search) end(b []byte) (int, error) {
	for {
		i := bytes.IndexByte(b[s.seen:], '\n')
		if i < 0 {
			s.seen = len(b)
			return 0, nil
		}
		at := s.seen + i
		if at == s.line || b[at-1] != '\r' {
			return 0, malformed("A line of the request's head does not end with CRLF.")
		}
		if s.seen = at + 1; at == s.line+1 {
			return s.seen, nil
		}
		s.line = s.seen
		s.lines++
	}
}

// message is a request's head, made sense of. Its Close says that the connection ends with its answer, its ContentLength is -1 when
// the body comes in chunks.
type message struct {
	request http.Request
	expects bool // the client waits to be told that it may send the body
}

// parse reads a head of this many lines. Names and values are parts of its text.
func parse(head string, lines int) (m message, err error) {
	line, rest, _ := strings.Cut(head, "\r\n")
	if err := m.readLine(line); err != nil {
		return m, err
	}
	if err := m.readFields(rest, lines-1); err != nil {
		return m, err
	}
	if err := m.readHost(); err != nil {
		return m, err
	}
	if err := m.readFraming(); err != nil {
		return m, err
	}
	r := &m.request
	r.Close = r.ContentLength < 0 || r.ProtoMinor == 0 || hasToken(r.Header["Connection"], "close")
	return m, m.readExpect()
}

func (m *message) readLine(line string) error {
	method, rest, ok := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || !isToken(method) || target == "" {
		return malformed("The request does not begin with a method, a path and a version.")
	}
	r := &m.request
	switch version {
	case "HTTP/1.1":
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	case "HTTP/1.0":
		r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
	default:
		if len(version) == len("HTTP/1.1") && strings.HasPrefix(version, "HTTP/") {
			return refuse(http.StatusHTTPVersionNotSupported, "HTTP/1.1 is spoken here, and HTTP/2 over TLS.")
		}
		return malformed("The request's first line does not end with a version of HTTP.")
	}
	if method == http.MethodConnect {
		return malformed("This is no forward proxy: CONNECT is not answered.")
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return malformed("The request's path cannot be read.")
	}
	r.Method, r.RequestURI, r.URL = method, target, u
	return nil
}

// readFields reads the lines up to the empty one. The values share one piece of memory.
func (m *message) readFields(rest string, lines int) error {
	h := make(http.Header, lines)
	values := make([]string, 0, lines)
	for range lines {
		line, after, _ := strings.Cut(rest, "\r\n")
		rest = after
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return malformed("A header of the request has no proper name.")
		}
		value = strings.Trim(value, " \t")
		if !isValue(value) {
			return malformed("The header %s has characters that no header may have.", name)
		}
		name = http.CanonicalHeaderKey(name)
		if before, again := h[name]; again {
			h[name] = append(before, value)
			continue
		}
		values = append(values, value)
		h[name] = values[len(values)-1 : len(values) : len(values)]
	}
	m.request.Header = h
	return nil
}

// readHost takes the host from where clients say it.
func (m *message) readHost() error {
	r := &m.request
	hosts := r.Header["Host"]
	if len(hosts) > 1 || len(hosts) == 0 && r.ProtoMinor > 0 {
		return malformed("A request has one header Host.")
	}
	if len(hosts) == 1 {
		if r.Host = hosts[0]; !isHost(r.Host) {
			return malformed("The header Host names no host.")
		}
		delete(r.Header, "Host")
	}
	if r.URL.Host != "" {
		r.Host = r.URL.Host
	}
	return nil
}

// readFraming finds out where the body ends. There is one way to say it, and it is said once.
func (m *message) readFraming() error {
	r := &m.request
	lengths, codings := r.Header["Content-Length"], r.Header["Transfer-Encoding"]
	switch {
	case len(codings) > 0 && len(lengths) > 0:
		return malformed("A request has a Content-Length or a Transfer-Encoding, not both.")
	case len(codings) > 0:
		if len(codings) > 1 || !strings.EqualFold(codings[0], "chunked") || r.ProtoMinor == 0 {
			return refuse(http.StatusNotImplemented, "Of transfer encodings only chunked is understood, in HTTP/1.1.")
		}
		delete(r.Header, "Transfer-Encoding")
		r.ContentLength, r.TransferEncoding = -1, []string{"chunked"}
	case len(lengths) > 0:
		n, ok := parseLength(lengths[0])
		if len(lengths) > 1 || !ok {
			return malformed("A request has one Content-Length: a whole number of bytes.")
		}
		r.ContentLength = n
	}
	return nil
}

func (m *message) readExpect() error {
	expects := m.request.Header["Expect"]
	if len(expects) == 0 {
		return nil
	}
	if len(expects) > 1 || !strings.EqualFold(expects[0], "100-continue") {
		return refuse(http.StatusExpectationFailed, "Of expectations only 100-continue is understood.")
	}
	m.expects = m.request.ContentLength != 0 && m.request.ProtoMinor > 0
	return nil
}

// parseLength reads digits and nothing else.
func parseLength(s string) (int64, bool) {
	n, err := strconv.ParseUint(s, 10, 63)
	return int64(n), err == nil && s[0] != '+' //nolint:gosec // of 63 bits
}

// hasToken reports whether one of the comma-separated words is this one.
func hasToken(values []string, token string) bool {
	for _, value := range values {
		for word := range strings.SplitSeq(value, ",") {
			if strings.EqualFold(strings.Trim(word, " \t"), token) {
				return true
			}
		}
	}
	return false
}

// marks are the characters besides letters and digits that a name may have.
const marks = "!#$%&'*+-.^_`|~"

// hostMarks are those that a host may have.
const hostMarks = "!$%&'()*+,-.:;=[]_~"

var tokens, hosts = classOf(marks), classOf(hostMarks)

func classOf(marks string) (class [256]bool) {
	for c := range class {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		class[c] = letter || c >= '0' && c <= '9' || strings.IndexByte(marks, byte(c)) >= 0
	}
	return class
}

func isToken(s string) bool {
	for i := range len(s) {
		if !tokens[s[i]] {
			return false
		}
	}
	return s != ""
}

func isHost(s string) bool {
	for i := range len(s) {
		if !hosts[s[i]] {
			return false
		}
	}
	return true
}

func isValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

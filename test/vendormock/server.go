// Package vendormock imitates the APIs of model vendors for tests: Anthropic, Gemini, Bedrock, OpenAI and Azure. A mock
// refuses every request that the vendor's documentation does not allow, with the vendor's own error, and answers the
// others by what the conversation asks: in the same way each time, from what really arrived. It is written from the
// vendors' documentation alone and shares no code with the gateway's formats, so that each can prove the other wrong.
//
// Words in brackets in the prompt ask for something special: [tool loop], [count], [refuse], [block], [redacted],
// [slow], [cut], [error in stream], [overloaded], [error 429], [error 503 once]. Everything else follows from the
// request itself: schemas, images, tools that must be called, reasoning, stop sequences, limits, caching.
package vendormock

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options are the settings of a Server. The zero value is for tests that need nothing special.
type Options struct {
	Key       string        // what callers must present; "test-key" when empty
	AccessKey string        // Bedrock: the id that belongs to Secret; "AKIDEXAMPLE" when empty
	Secret    string        // Bedrock: signs requests that do not carry Key; "test-secret" when empty
	Region    string        // Bedrock: that signatures name; "us-east-1" when empty
	Slow      time.Duration // how long [slow] takes; 300 ms when zero
}

// Call is one request that a Server received.
type Call struct {
	Method string
	Path   string // escaped as it came
	Query  string
	Header http.Header
	Body   []byte
	Model  string
	Status int    // of the answer
	Refuse string // why it was refused; empty when it was not
}

// Server is the mock of one vendor. It is safe for concurrent use.
type Server struct {
	options Options
	dialect dialect
	mux     *http.ServeMux

	mu    sync.Mutex
	calls []*Call
	next  [][]string
	seen  map[string]bool   // prefixes that are cached, and faults that happened once
	signs map[string]string // signatures of the reasoning before each call, by the call's id
}

// dialect is how one vendor speaks.
type dialect interface {
	routes(s *Server)
	// authorize checks the caller's credentials.
	authorize(v *visit) *refusal
	// check holds the request to the vendor's documentation.
	check(v *visit) *refusal
	read(v *visit) *conversation
	// refuse writes an error; fault is the error of a status.
	refuse(v *visit, why refusal)
	fault(status int) refusal
	overloaded() int
	whole(v *visit, c *conversation, r reply) any
	// frames are the events of a stream as they go over the wire; broken is the event of an error among them.
	frames(v *visit, c *conversation, r reply) (contentType string, list [][]byte)
	broken() []byte
}

// refusal is an error answer.
type refusal struct {
	status  int
	kind    string
	message string
	header  map[string]string
	details any
}

// visit is one request while it is being answered.
type visit struct {
	server   *Server
	w        http.ResponseWriter
	r        *http.Request
	call     *Call
	model    string
	stream   bool
	document any    // the decoded body
	raw      []byte // the body as its dialect reads it
}

func newServer(d dialect, o Options) *Server {
	o.Key = or(o.Key, "test-key")
	o.AccessKey = or(o.AccessKey, "AKIDEXAMPLE")
	o.Secret = or(o.Secret, "test-secret")
	o.Region = or(o.Region, "us-east-1")
	o.Slow = or(o.Slow, 300*time.Millisecond)
	s := &Server{options: o, dialect: d, mux: http.NewServeMux(), seen: map[string]bool{}, signs: map[string]string{}}
	d.routes(s)
	s.mux.HandleFunc("GET /_calls", s.listCalls)
	s.mux.HandleFunc("POST /_next", s.setNext)
	s.mux.HandleFunc("/", s.handle(func(v *visit) {
		v.refuse(refusal{status: http.StatusNotFound, message: "Not Found"})
	}))
	return s
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// Calls returns the received calls in order of arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Call, len(s.calls))
	for i, call := range s.calls {
		list[i] = *call
	}
	return list
}

// Next has the next requests, one each, answered as if their prompts held these words, such as "[error 429] [cut]".
func (s *Server) Next(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		s.next = append(s.next, words(text))
	}
}

// listCalls returns the received calls to test clients in other languages; setNext is the counterpart of Next.
func (s *Server) listCalls(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]any{}
	for _, call := range s.Calls() {
		list = append(list, map[string]any{
			"method": call.Method, "path": call.Path, "query": call.Query, "headers": call.Header, "body": string(call.Body),
			"model": call.Model, "status": call.Status, "refused": call.Refuse,
		})
	}
	writeJSON(w, http.StatusOK, "application/json", list)
}

func (s *Server) setNext(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller left
	}
	s.Next(string(text))
	w.WriteHeader(http.StatusNoContent)
}

// handle records a request, checks its credentials and its JSON, and passes it on.
func (s *Server) handle(serve func(v *visit)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller left while it was sending
		}
		call := &Call{
			Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body,
			Status: http.StatusOK,
		}
		v := &visit{server: s, w: w, r: r, call: call, raw: body}
		defer s.record(call)
		if why := s.dialect.authorize(v); why != nil {
			v.refuse(*why)
			return
		}
		if r.Method == http.MethodPost {
			if err := decode(body, &v.document); err != nil {
				v.refuse(refusal{status: http.StatusBadRequest, message: "The request body is not valid JSON: " + err.Error()})
				return
			}
		}
		serve(v)
	}
}

func (s *Server) record(call *Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

func decode(body []byte, value *any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(value)
}

func (v *visit) refuse(why refusal) {
	if why.kind == "" {
		why.kind = v.server.dialect.fault(why.status).kind
	}
	v.call.Status, v.call.Refuse, v.call.Model = why.status, why.message, v.model
	for name, value := range why.header {
		v.w.Header().Set(name, value)
	}
	v.server.dialect.refuse(v, why)
}

// converse answers a conversation.
func (v *visit) converse() {
	s := v.server
	if why := s.dialect.check(v); why != nil {
		v.refuse(*why)
		return
	}
	v.call.Model = v.model
	c := s.dialect.read(v)
	asked := s.wishes(c)
	if status := s.failure(asked, c); status != 0 {
		v.refuse(s.dialect.fault(status))
		return
	}
	r := answer(c, asked)
	s.remember(c, &r)
	if r.fault.slow && !v.stream && !pause(v.r.Context(), s.options.Slow) {
		return
	}
	if v.stream {
		contentType, frames := s.dialect.frames(v, c, r)
		v.send(contentType, frames, r.fault)
		return
	}
	if r.fault.inStream {
		v.refuse(s.dialect.fault(http.StatusInternalServerError))
		return
	}
	body := encode(s.dialect.whole(v, c, r))
	if r.fault.cut {
		v.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		v.send("application/json", [][]byte{body}, r.fault)
		return
	}
	writeRaw(v.w, http.StatusOK, "application/json", body)
}

// wishes are the words of the prompt, and those that a test has set for this request.
func (s *Server) wishes(c *conversation) []string {
	asked := words(c.prompt())
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.next) > 0 {
		asked = append(asked, s.next[0]...)
		s.next = s.next[1:]
	}
	return asked
}

// failure is the status that the words ask for, or 0.
func (s *Server) failure(asked []string, c *conversation) int {
	for _, word := range asked {
		if word == "overloaded" {
			return s.dialect.overloaded()
		}
		rest, found := strings.CutPrefix(word, "error ")
		if !found {
			continue
		}
		number, once := strings.CutSuffix(rest, " once")
		status, err := strconv.Atoi(number)
		if err == nil && (!once || s.first("fault", word, c.prompt())) {
			return status
		}
	}
	return 0
}

// first reports whether this is the first time for these texts.
func (s *Server) first(texts ...string) bool {
	key := digest(texts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	return true
}

// remember keeps what later requests are held to, and counts what earlier ones left in the cache.
func (s *Server) remember(c *conversation, r *reply) {
	if n := tokens(len(c.prefix)); n > 0 {
		if s.first("prefix", c.model, c.prefix) {
			r.usage.cacheWrite = n
		} else {
			r.usage.cacheRead = n
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reasoned := slices.IndexFunc(r.parts, func(p part) bool { return p.kind == thought })
	for _, p := range r.parts {
		if p.kind == called && reasoned >= 0 {
			s.signs[p.id] = r.parts[reasoned].signature
		}
	}
}

// signature is that of the reasoning which led to a call; empty where there was none.
func (s *Server) signature(callID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signs[callID]
}

func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Package vendormock imitates the APIs of model vendors for tests. This package contains the parts that the vendors
// share; each vendor has a subpackage. A mock rejects every request that the vendor's documentation does not allow, with
// the vendor's own error. Its responses depend only on the request, so they are always the same. The mocks are based on
// the vendors' documentation and share no code with the gateway's wire formats, so that each side tests the other.
//
// Words in brackets in the prompt request special behaviour: [tool loop], [edit loop], [count], [refuse], [block], [redacted],
// [slow], [cut], [error in stream], [overloaded], [error 429], [error 503 once]. Everything else follows from the
// request: schemas, images, required tools, reasoning, stop sequences, limits, caching.
package vendormock

import (
	"bytes"
	"cmp"
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

// Options holds the settings of a Server. The zero value is sufficient for most tests.
type Options struct {
	Key       string        // key that callers must send; "test-key" when empty
	AccessKey string        // Bedrock: the id that belongs to Secret; "AKIDEXAMPLE" when empty
	Secret    string        // Bedrock: signs requests that do not carry Key; "test-secret" when empty
	Region    string        // Bedrock: region in signatures; "us-east-1" when empty
	Slow      time.Duration // delay of the first token with [slow]; 300 ms when zero
}

// Call is one request that a Server received.
type Call struct {
	Method string
	Path   string // escaped path, as received
	Query  string
	Header http.Header
	Body   []byte
	Model  string
	Status int    // status of the response
	Refuse string // reason of a rejection; empty if accepted
}

// Server is the mock of one vendor. It is safe for concurrent use.
type Server struct {
	Options Options
	Dialect dialect
	Mux     *http.ServeMux
	// Received is called with every call after the response was sent. If it is set, Calls stays empty. It must be set
	// before the first request.
	Received func(*Call)

	mu          sync.Mutex
	calls       []*Call
	next        [][]string
	seen        map[string]bool   // cached prefixes, and faults that occur only once
	signatures  map[string]string // signatures of the reasoning before each call, by call ID
	signedTools map[string]string // names of the tools in signed calls, by signature
}

// dialect implements the API of one vendor.
type dialect interface {
	Routes(s *Server)
	// Authorize checks the caller's credentials.
	Authorize(v *Request) *Rejection
	// Check validates the request according to the vendor's documentation.
	Check(v *Request) *Rejection
	Read(v *Request) *Conversation
	// Refuse writes an error. Fault returns the error for a status.
	Refuse(v *Request, why Rejection)
	Fault(status int) Rejection
	Overloaded() int
	Whole(v *Request, c *Conversation, r Reply) any
	// Frames returns the encoded events of a stream. Broken returns an error event for the middle of a stream.
	Frames(v *Request, c *Conversation, r Reply) (contentType string, list [][]byte)
	Broken(v *Request) []byte
}

// Rejection is an error response.
type Rejection struct {
	Status  int
	Kind    string
	Message string
	Header  map[string]string
	Details any
}

// Request is a request that is being handled.
type Request struct {
	Server   *Server
	Writer   http.ResponseWriter
	HTTP     *http.Request
	Call     *Call
	Model    string
	Stream   bool
	Document any    // the decoded body
	Raw      []byte // the body as the dialect reads it
}

// NewServer returns a mock with the given dialect. Empty options get their defaults.
func NewServer(d dialect, o Options) *Server {
	o.Key = cmp.Or(o.Key, "test-key")
	o.AccessKey = cmp.Or(o.AccessKey, "AKIDEXAMPLE")
	o.Secret = cmp.Or(o.Secret, "test-secret")
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.Slow = cmp.Or(o.Slow, 300*time.Millisecond)
	s := &Server{Options: o, Dialect: d, Mux: http.NewServeMux(), seen: map[string]bool{}, signatures: map[string]string{}, signedTools: map[string]string{}}
	d.Routes(s)
	s.Mux.HandleFunc("GET /_calls", s.listCalls)
	s.Mux.HandleFunc("POST /_next", s.setNext)
	s.Mux.HandleFunc("/", s.Handle(func(v *Request) {
		v.Refuse(Rejection{Status: http.StatusNotFound, Message: "Not Found"})
	}))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.Mux.ServeHTTP(w, r) }

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

// Next makes the mock handle the next requests, one per text, as if their prompts contained the given instructions,
// such as "[error 429] [cut]".
func (s *Server) Next(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range texts {
		s.next = append(s.next, bracketedNames(text))
	}
}

// listCalls returns the received calls to test clients in other languages. These clients call setNext instead of the method Next.
func (s *Server) listCalls(w http.ResponseWriter, _ *http.Request) {
	list := []map[string]any{}
	for _, call := range s.Calls() {
		list = append(list, map[string]any{
			"method": call.Method, "path": call.Path, "query": call.Query, "headers": call.Header, "body": string(call.Body),
			"model": call.Model, "status": call.Status, "refused": call.Refuse,
		})
	}
	WriteJSON(w, http.StatusOK, "application/json", list)
}

func (s *Server) setNext(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	s.Next(string(text))
	w.WriteHeader(http.StatusNoContent)
}

// Handle records a request, checks its credentials and its JSON, and calls serve.
func (s *Server) Handle(serve func(v *Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client disconnected while sending
		}
		call := &Call{
			Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header.Clone(), Body: body,
			Status: http.StatusOK,
		}
		v := &Request{Server: s, Writer: w, HTTP: r, Call: call, Raw: body}
		defer s.record(call)
		if why := s.Dialect.Authorize(v); why != nil {
			v.Refuse(*why)
			return
		}
		form := strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data")
		if r.Method == http.MethodPost && len(body) > 0 && !form {
			if err := decode(body, &v.Document); err != nil {
				v.Refuse(Rejection{Status: http.StatusBadRequest, Message: "The request body is not valid JSON: " + err.Error()})
				return
			}
		}
		serve(v)
	}
}

func (s *Server) record(call *Call) {
	if s.Received != nil {
		s.Received(call)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

func decode(body []byte, value *any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(value)
}

// Refuse records the rejection and writes it as the vendor's error. If no kind is set, it uses the kind that belongs to
// the status.
func (v *Request) Refuse(why Rejection) {
	if why.Kind == "" {
		why.Kind = v.Server.Dialect.Fault(why.Status).Kind
	}
	v.Call.Status, v.Call.Refuse, v.Call.Model = why.Status, why.Message, v.Model
	for name, value := range why.Header {
		v.Writer.Header().Set(name, value)
	}
	v.Server.Dialect.Refuse(v, why)
}

// Converse checks a conversation request and writes a response to it.
func (v *Request) Converse() {
	s := v.Server
	if why := s.Dialect.Check(v); why != nil {
		v.Refuse(*why)
		return
	}
	v.Call.Model = v.Model
	c := s.Dialect.Read(v)
	names := s.instructions(c)
	if status := s.failure(names, c); status != 0 {
		v.Refuse(s.Dialect.Fault(status))
		return
	}
	r := answer(c, names)
	s.remember(c, &r)
	if r.fault.slow && !v.Stream && !pause(v.HTTP.Context(), s.Options.Slow) {
		return
	}
	if v.Stream {
		contentType, frames := s.Dialect.Frames(v, c, r)
		v.send(contentType, frames, r.fault)
		return
	}
	if r.fault.inStream {
		v.Refuse(s.Dialect.Fault(http.StatusInternalServerError))
		return
	}
	body := Encode(s.Dialect.Whole(v, c, r))
	if r.fault.cut {
		v.Writer.Header().Set("Content-Length", strconv.Itoa(len(body)))
		v.send("application/json", [][]byte{body}, r.fault)
		return
	}
	writeRaw(v.Writer, http.StatusOK, "application/json", body)
}

// instructions returns the instructions in the prompt and the instructions that a test has set for this request.
func (s *Server) instructions(c *Conversation) []string {
	names := bracketedNames(c.Prompt())
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.next) > 0 {
		names = append(names, s.next[0]...)
		s.next = s.next[1:]
	}
	return names
}

// failure returns the status that the instructions request, or 0.
func (s *Server) failure(names []string, c *Conversation) int {
	for _, word := range names {
		if word == "overloaded" {
			return s.Dialect.Overloaded()
		}
		rest, found := strings.CutPrefix(word, "error ")
		if !found {
			continue
		}
		number, once := strings.CutSuffix(rest, " once")
		status, err := strconv.Atoi(number)
		if err == nil && (!once || s.first("fault", word, c.Prompt())) {
			return status
		}
	}
	return 0
}

// first reports whether this is the first call with the given texts.
func (s *Server) first(texts ...string) bool {
	key := Digest(texts...)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen[key] {
		return false
	}
	s.seen[key] = true
	return true
}

// remember stores the signatures of the reply for later requests, and sets the numbers of cached tokens in its usage.
func (s *Server) remember(c *Conversation, r *Reply) {
	if n := Tokens(len(c.Prefix)); n > 0 {
		if s.first("prefix", c.Model, c.Prefix) {
			r.Usage.CacheWrite = n
		} else {
			r.Usage.CacheRead = n
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reasoned := slices.IndexFunc(r.Parts, func(p Part) bool { return p.Kind == ThinkingPart })
	for _, p := range r.Parts {
		if p.Kind == CallPart && reasoned >= 0 {
			s.signatures[p.ID] = r.Parts[reasoned].Signature
		}
		if p.Kind == CallPart && p.Signature != "" {
			s.signedTools[p.Signature] = p.Name
		}
	}
}

// Signature returns the signature of the reasoning that led to a call, or "" if there was none.
func (s *Server) Signature(callID string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signatures[callID]
}

// Signed reports whether the mock signed a call to the tool. Clients may add default values to the arguments of a call,
// so the arguments are not compared.
func (s *Server) Signed(signature, tool string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signedTools[signature] == tool
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

package simulator

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mock is a provider for tests that speaks every API format. It follows its script, responds with a short text to calls without a
// script, and records the requests. Tests wait for calls instead of sleeping. It is safe for concurrent use.
type Mock struct {
	// Check is called with every request. An error becomes the response, with the status 400. It must be set before the first request.
	Check func(*Call) error
	// Answer returns the behaviour for calls without a script. It must be set before the first request.
	Answer func(*Call) Behaviour

	mu       sync.Mutex
	queue    []Behaviour
	byModel  map[string][]Behaviour
	always   Behaviour
	models   []string
	calls    []*Call
	arrived  chan struct{} // closed and replaced when a call arrives
	prefixes map[string]bool
	account  account
	discards bool // whether calls are not recorded

	open atomic.Int64
}

// NewMock returns a mock that responds to every call.
func NewMock() *Mock {
	return &Mock{
		byModel: map[string][]Behaviour{}, models: []string{"mock-model"}, arrived: make(chan struct{}), prefixes: map[string]bool{},
		account: account{files: map[string]storedFile{}, jobs: map[string]Object{}},
	}
}

// Call is one request that the mock received.
type Call struct {
	Number  int // number of the call, from 1
	Method  string
	Path    string // escaped path
	Query   string
	Remote  string // remote address of the connection
	Header  http.Header
	Body    []byte
	Model   string // model name in the body or in the path
	Stream  bool
	Refused string // error of Check; empty if the request was accepted
	usage   bool   // whether the request asks for a usage chunk

	document func() node
	done     chan struct{}
	gone     chan struct{}
}

// Done is closed when the mock has ended its response, complete or not.
func (c *Call) Done() <-chan struct{} { return c.done }

// Gone is closed when the client disconnects before the response is complete.
func (c *Call) Gone() <-chan struct{} { return c.gone }

// SetBody replaces the body before the mock reads it: Check may normalize what the vendor accepts in several forms.
func (c *Call) SetBody(body []byte) {
	c.Body, c.document = body, sync.OnceValue(func() node { return parseNode(body) })
}

// Read returns the conversation in the request.
func (c *Call) Read() *Conversation { return formatOf(c.Path).read(c) }

// Then sets the behaviours of the next calls that have no script for their model, one behaviour per call.
func (m *Mock) Then(behaviours ...Behaviour) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = append(m.queue, behaviours...)
}

// For sets the behaviours of the next calls for one model, one per call. The last behaviour also applies to all later calls.
func (m *Mock) For(model string, behaviours ...Behaviour) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.byModel[model] = slices.Clone(behaviours)
}

// Always sets the behaviour for calls without another script.
func (m *Mock) Always(b Behaviour) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.always = b
}

// SetModels sets the models that GET /v1/models lists.
func (m *Mock) SetModels(names ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.models = slices.Clone(names)
}

// Calls lists the requests received so far, in order of arrival, without GET /v1/models.
func (m *Mock) Calls() []*Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.calls)
}

// Await returns the n-th call, counting from 1. It waits until the call arrives or ctx is done.
func (m *Mock) Await(ctx context.Context, n int) (*Call, error) {
	for {
		m.mu.Lock()
		calls, arrived := m.calls, m.arrived
		m.mu.Unlock()
		if n <= len(calls) {
			return calls[n-1], nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return nil, fmt.Errorf("await call %d of the mock, %d so far: %w", n, len(calls), ctx.Err())
		}
	}
}

// Open returns the number of calls in progress.
func (m *Mock) Open() int64 { return m.open.Load() }

// ServeHTTP implements http.Handler.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models") {
		m.serveModels(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client disconnected while sending
	}
	call, b := m.receive(r, body)
	m.open.Add(1)
	defer func() {
		m.open.Add(-1)
		close(call.done)
	}()
	complete := false
	defer func() {
		if !complete && r.Context().Err() != nil {
			close(call.gone)
		}
	}()
	if b.unscripted() && m.account.serves(call) {
		m.account.serve(w, r, call)
		complete = true
		return
	}
	complete = b.serve(w, r, call)
}

// receive records a request and returns the call and the behaviour for its response.
func (m *Mock) receive(r *http.Request, body []byte) (*Call, Behaviour) {
	call := &Call{
		Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Remote: r.RemoteAddr, Header: r.Header.Clone(),
		done: make(chan struct{}), gone: make(chan struct{}),
	}
	call.SetBody(body)
	root := call.document()
	call.Model, call.Stream = root.get("model").text(), root.get("stream").isTrue()
	call.usage = root.get("stream_options", "include_usage").isTrue()
	switch formatOf(call.Path) {
	case geminiFormat:
		model, method := modelInPath(call.Path)
		call.Model, call.Stream = model, method == "streamGenerateContent"
	case converseFormat:
		model, action := modelAndAction(call.Path)
		call.Model, call.Stream = model, action == "converse-stream"
	}
	if m.Check != nil {
		if err := m.Check(call); err != nil {
			call.Refused = err.Error()
		}
	}
	m.mu.Lock()
	if !m.discards {
		m.calls = append(m.calls, call)
		call.Number = len(m.calls)
		close(m.arrived)
		m.arrived = make(chan struct{})
	}
	b, scripted := m.next(call.Model)
	m.mu.Unlock()
	if call.Refused != "" {
		return call, Behaviour{Status: http.StatusBadRequest, Message: call.Refused}
	}
	if !scripted && m.Answer != nil {
		b = m.Answer(call)
	}
	return call, b
}

// next returns the behaviour of the next call, and whether a test has set it for this call.
func (m *Mock) next(model string) (b Behaviour, scripted bool) {
	if rows := m.byModel[model]; len(rows) > 0 {
		if len(rows) > 1 {
			m.byModel[model] = rows[1:]
		}
		return rows[0], true
	}
	if len(m.queue) > 0 {
		b, m.queue = m.queue[0], m.queue[1:]
		return b, true
	}
	return m.always, false
}

func (m *Mock) serveModels(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Object{}
	gemini := formatOf(r.URL.Path) == geminiFormat
	for _, name := range m.models {
		if gemini {
			list = append(list, Object{"name": "models/" + name, "supportedGenerationMethods": []string{"generateContent", "embedContent"}})
			continue
		}
		list = append(list, Object{"id": name, "object": "model", "created": created, "owned_by": "simulated"})
	}
	answer := Object{"object": "list", "data": list}
	if gemini {
		answer = Object{"models": list}
	}
	writeBody(w, http.StatusOK, "application/json", Encode(answer))
}

const (
	minimumPrefix = 4096    // shorter prefixes are not cached, in characters
	prefixEntries = 1 << 16 // maximum number of stored prefixes
)

// CountCached sets the cached tokens of a reply and stores the prefixes of the conversation, like a provider's prompt cache.
func (m *Mock) CountCached(c *Conversation, r *Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.prefixes) > prefixEntries {
		clear(m.prefixes)
	}
	visit := func(prefix string) bool {
		key := Digest(c.Model, prefix)
		known := m.prefixes[key]
		m.prefixes[key] = true
		return known
	}
	if c.Marks {
		if n := Tokens(len(c.Prefix)); n > 0 && visit(c.Prefix) {
			r.Usage.CacheRead = n
		} else {
			r.Usage.CacheWrite = n
		}
		return
	}
	prefix, size := c.System+fmt.Sprint(c.Tools), len(c.System)
	for i, t := range c.Turns {
		if size >= minimumPrefix && visit(prefix) {
			r.Usage.CacheRead = Tokens(size)
		}
		if i < len(c.Turns)-1 {
			prefix, size = Digest(prefix, fmt.Sprint(t)), size+t.size()
		}
	}
}

// writeBody writes a complete response.
func writeBody(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

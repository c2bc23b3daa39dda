package simulator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"fairlead.dev/internal/simulator/openai"
)

// Mock is a provider for tests. It follows its script, responds like OpenAI to calls without a script, and records the
// requests. Tests wait for calls instead of sleeping. It is safe for concurrent use.
type Mock struct {
	mu      sync.Mutex
	queue   []Behaviour
	byModel map[string][]Behaviour
	always  Behaviour
	models  []string
	calls   []*Call
	arrived chan struct{} // closed and replaced when a call arrives

	open, closed, gone atomic.Int64
}

// NewMock returns a mock that responds to every call.
func NewMock() *Mock {
	return &Mock{byModel: map[string][]Behaviour{}, models: []string{"mock-model"}, arrived: make(chan struct{})}
}

// Call is one request that the mock received.
type Call struct {
	Number int // number of the call, from 1
	Method string
	Path   string
	Query  string
	Remote string // remote address of the connection
	Header http.Header
	Body   []byte
	Model  string // model name in the body
	Stream bool
	usage  bool // whether the request asks for a usage chunk

	done chan struct{}
	gone chan struct{}
}

// Done is closed when the mock has ended its response, complete or not.
func (c *Call) Done() <-chan struct{} { return c.done }

// Gone is closed when the client disconnects before the response is complete.
func (c *Call) Gone() <-chan struct{} { return c.gone }

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

// Closed returns the number of calls that have ended.
func (m *Mock) Closed() int64 { return m.closed.Load() }

// Gone returns the number of calls whose client disconnected before the response was complete.
func (m *Mock) Gone() int64 { return m.gone.Load() }

// ServeHTTP implements http.Handler.
func (m *Mock) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/v1/models" {
		m.serveModels(w)
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
		m.closed.Add(1)
		close(call.done)
	}()
	complete := false
	defer func() {
		if !complete && r.Context().Err() != nil {
			m.gone.Add(1)
			close(call.gone)
		}
	}()
	complete = b.serve(w, r, call)
}

// receive records a request and returns the call and the behaviour for its response.
func (m *Mock) receive(r *http.Request, body []byte) (*Call, Behaviour) {
	call := &Call{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Remote: r.RemoteAddr, Header: r.Header.Clone(), Body: body,
		done: make(chan struct{}), gone: make(chan struct{}),
	}
	var seen struct {
		Model         string `json:"model"`
		Stream        bool   `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if json.Unmarshal(bytes.TrimSpace(body), &seen) == nil {
		call.Model, call.Stream, call.usage = seen.Model, seen.Stream, seen.StreamOptions.IncludeUsage
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
	call.Number = len(m.calls)
	close(m.arrived)
	m.arrived = make(chan struct{})
	return call, m.next(call.Model)
}

func (m *Mock) next(model string) Behaviour {
	if rows := m.byModel[model]; len(rows) > 0 {
		if len(rows) > 1 {
			m.byModel[model] = rows[1:]
		}
		return rows[0]
	}
	if len(m.queue) > 0 {
		b := m.queue[0]
		m.queue = m.queue[1:]
		return b
	}
	return m.always
}

func (m *Mock) serveModels(w http.ResponseWriter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []openai.Model{}
	for _, name := range m.models {
		list = append(list, openai.NewModel(name))
	}
	openai.WriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

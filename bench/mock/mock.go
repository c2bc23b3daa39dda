// Package mock is an upstream model provider that costs next to nothing per
// request. It speaks the OpenAI chat, completions-stream and embeddings wire
// formats and the Anthropic messages format, each with canned content, and can
// be told to be slow or to fail. Every streamed content chunk carries the wall
// clock at which it was sent ("t=<unix nanoseconds>"), so that a client on the
// same machine can tell how late a chunk arrived.
package mock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"fairlead/bench/h1"
)

// Kinds of failure.
const (
	Fail500     = "500"
	Fail429     = "429"
	FailTimeout = "timeout" // accept the request, never answer
	FailCut     = "cut"     // drop the connection half way through the answer
)

// Config is the behaviour for requests that arrive from now on.
type Config struct {
	LatencyMS int    `json:"latency_ms"` // before a whole answer
	TTFTMS    int    `json:"ttft_ms"`    // before the first chunk
	GapMS     int    `json:"gap_ms"`     // between chunks
	Chunks    int    `json:"chunks"`     // content chunks in a stream
	FailEvery int    `json:"fail_every"` // every k-th request fails; 0: none
	FailKind  string `json:"fail_kind"`
	HangMS    int    `json:"hang_ms"` // how long a timeout failure holds on
	// UsageOnRequest sends the usage chunk of an OpenAI stream only when the
	// request has stream_options.include_usage, as OpenAI does.
	UsageOnRequest bool `json:"usage_on_request"`
}

// Default is a fast upstream that never fails.
func Default() Config { return Config{Chunks: 20, FailKind: Fail500, HangMS: 60_000} }

// Check says what is wrong with a configuration.
func (c Config) Check() error {
	switch c.FailKind {
	case Fail500, Fail429, FailTimeout, FailCut:
	default:
		return fmt.Errorf("fail_kind %q is none of 500, 429, timeout, cut", c.FailKind)
	}
	for _, n := range []int{c.LatencyMS, c.TTFTMS, c.GapMS, c.Chunks, c.FailEvery, c.HangMS} {
		if n < 0 {
			return errors.New("no value may be negative")
		}
	}
	return nil
}

// Stats counts since start.
type Stats struct {
	Conns         int64 `json:"conns_open"`
	Requests      int64 `json:"requests"`
	ActiveStreams int64 `json:"active_streams"`
	Chunks        int64 `json:"chunks"`
	ClientGone    int64 `json:"client_gone"` // streams the client left early
	Failures      int64 `json:"failures_injected"`
	BytesIn       int64 `json:"body_bytes_in"`
}

// Server is the upstream. Make it with New.
type Server struct {
	config                                        atomic.Pointer[Config]
	conns, requests, active, chunks, gone, failed atomic.Int64
	bytesIn                                       atomic.Int64
	chatWhole, embedWhole, anthropicWhole         []byte
	models, notFound, err500, err429, sseHead     []byte
	openai, anthropic                             streamFormat
	quit                                          chan struct{}
	quitOnce                                      sync.Once
}

// New makes a server with the given behaviour.
func New(c Config) (*Server, error) {
	s := &Server{quit: make(chan struct{})}
	if err := s.Configure(c); err != nil {
		return nil, err
	}
	s.render()
	return s, nil
}

// Configure changes the behaviour for later requests.
func (s *Server) Configure(c Config) error {
	if err := c.Check(); err != nil {
		return err
	}
	s.config.Store(&c)
	return nil
}

// Stats reads the counters.
func (s *Server) Stats() Stats {
	return Stats{
		Conns: s.conns.Load(), Requests: s.requests.Load(), ActiveStreams: s.active.Load(),
		Chunks: s.chunks.Load(), ClientGone: s.gone.Load(), Failures: s.failed.Load(),
		BytesIn: s.bytesIn.Load(),
	}
}

// Serve accepts connections until the listener closes.
func (s *Server) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		go s.serve(c)
	}
}

// Close wakes every request that is waiting.
func (s *Server) Close() { s.quitOnce.Do(func() { close(s.quit) }) }

// wait sleeps, false when the server closes meanwhile.
func (s *Server) wait(ms int) bool {
	if ms == 0 {
		return true
	}
	select {
	case <-s.quit:
		return false
	default:
		time.Sleep(time.Duration(ms) * time.Millisecond)
		return true
	}
}

func (s *Server) serve(c net.Conn) {
	defer func() { _ = c.Close() }()
	s.conns.Add(1)
	defer s.conns.Add(-1)
	r := h1.NewReader(c, 4<<10)
	var req request
	collect := func(p []byte) error { req.scan(p); return nil }
	for {
		h, err := r.ReadHead()
		if err != nil {
			return
		}
		req = request{tail: req.tail[:0]}
		path, _, _ := bytes.Cut(h.Path(), []byte("?"))
		route := routeOf(path)
		closing := h.Close
		if h.Field("expect") != nil {
			if _, err := c.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n")); err != nil {
				return
			}
		}
		if route == control {
			if !s.control(c, r, h, string(path)) {
				return
			}
			continue
		}
		if err := r.ReadBody(h, false, collect); err != nil {
			return
		}
		if !s.answer(c, route, &req) || closing {
			return
		}
	}
}

type route int

const (
	unknown route = iota
	chat
	embeddings
	messages
	models
	control
)

func routeOf(path []byte) route {
	switch {
	case bytes.HasSuffix(path, []byte("/chat/completions")):
		return chat
	case bytes.HasSuffix(path, []byte("/embeddings")):
		return embeddings
	case bytes.HasSuffix(path, []byte("/messages")):
		return messages
	case bytes.HasSuffix(path, []byte("/models")):
		return models
	case bytes.HasPrefix(path, []byte("/_mock/")):
		return control
	}
	return unknown
}

// request is what the mock wants to know of a body, found by a scan for fixed
// byte strings that bodies produced by this harness hold only at top level.
type request struct {
	size          int
	stream, usage bool
	tail          []byte // end of the previous part, for matches across parts
}

const overlap = 32

func (q *request) scan(p []byte) {
	q.size += len(p)
	if len(q.tail) > 0 {
		q.tail = append(q.tail, p[:min(len(p), overlap)]...)
		q.match(q.tail)
	}
	q.match(p)
	q.tail = append(q.tail[:0], p[max(0, len(p)-overlap):]...)
}

// match hops from colon to colon, which prompts have few of, and looks at what
// is around each.
func (q *request) match(p []byte) {
	for at := 0; ; at++ {
		i := bytes.IndexByte(p[at:], ':')
		if i < 0 {
			return
		}
		at += i
		if !bytes.HasPrefix(bytes.TrimLeft(p[at+1:], " "), []byte("true")) {
			continue
		}
		key := bytes.TrimRight(p[:at], " ")
		q.stream = q.stream || bytes.HasSuffix(key, []byte(`"stream"`))
		q.usage = q.usage || bytes.HasSuffix(key, []byte(`"include_usage"`))
	}
}

// answer writes the response; false means the connection is finished.
func (s *Server) answer(c net.Conn, to route, q *request) bool {
	n := s.requests.Add(1)
	s.bytesIn.Add(int64(q.size))
	cfg := s.config.Load()
	cut := false
	if cfg.FailEvery > 0 && n%int64(cfg.FailEvery) == 0 {
		s.failed.Add(1)
		switch cfg.FailKind {
		case Fail500:
			return write(c, s.err500)
		case Fail429:
			return write(c, s.err429)
		case FailTimeout:
			s.wait(cfg.HangMS)
			return false
		case FailCut:
			cut = true
		}
	}
	switch to {
	case chat:
		if q.stream {
			return s.stream(c, &s.openai, cfg, cut, !cfg.UsageOnRequest || q.usage)
		}
		return s.whole(c, s.chatWhole, cfg, cut)
	case messages:
		if q.stream {
			return s.stream(c, &s.anthropic, cfg, cut, true)
		}
		return s.whole(c, s.anthropicWhole, cfg, cut)
	case embeddings:
		return s.whole(c, s.embedWhole, cfg, cut)
	case models:
		return write(c, s.models)
	default:
		return write(c, s.notFound)
	}
}

func write(c net.Conn, p []byte) bool {
	_, err := c.Write(p)
	return err == nil
}

func (s *Server) whole(c net.Conn, response []byte, cfg *Config, cut bool) bool {
	if !s.wait(cfg.LatencyMS) {
		return false
	}
	if cut {
		write(c, response[:len(response)/2])
		return false
	}
	return write(c, response)
}

func (s *Server) stream(c net.Conn, f *streamFormat, cfg *Config, cut, usage bool) bool {
	s.active.Add(1)
	defer s.active.Add(-1)
	gone := func() bool { s.gone.Add(1); return false }
	if !s.wait(cfg.TTFTMS) {
		return false
	}
	if !write(c, s.sseHead) || !write(c, f.start) {
		return gone()
	}
	buf := append([]byte(nil), f.chunk...)
	for i := range cfg.Chunks {
		if i > 0 && !s.wait(cfg.GapMS) {
			return false
		}
		if cut && i >= cfg.Chunks/2 {
			return false
		}
		strconv.AppendInt(buf[:f.stampAt], time.Now().UnixNano(), 10)
		if !write(c, buf) {
			return gone()
		}
		s.chunks.Add(1)
	}
	last := f.finish
	if usage {
		last = f.finishWithUsage
	}
	if !write(c, last) {
		return gone()
	}
	return true
}

// control serves /_mock/stats and /_mock/config.
func (s *Server) control(c net.Conn, r *h1.Reader, h *h1.Head, path string) bool {
	var body []byte
	if err := r.ReadBody(h, false, func(p []byte) error { body = append(body, p...); return nil }); err != nil {
		return false
	}
	var out any
	switch path {
	case "/_mock/stats":
		out = s.Stats()
	case "/_mock/config":
		if len(body) > 0 {
			next := Default()
			err := json.Unmarshal(body, &next)
			if err == nil {
				err = s.Configure(next)
			}
			if err != nil {
				return write(c, whole("400 Bad Request", "text/plain", []byte(err.Error())))
			}
		}
		out = s.config.Load()
	default:
		return write(c, s.notFound)
	}
	b, _ := json.Marshal(out)
	return write(c, whole("200 OK", "application/json", b))
}

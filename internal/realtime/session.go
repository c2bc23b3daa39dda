// Package realtime reads the handshake of a WebSocket session, copies its messages between a client and a provider, and reads the usage
// that the provider reports. Messages are forwarded unchanged, except that credentials in provider messages are masked. The package neither
// authenticates nor charges; a Meter does both.
package realtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/llm"
)

// Limits holds the limits of a session.
type Limits struct {
	Message int64         // maximum size of a message in bytes
	Idle    time.Duration // maximum time without a message
	Total   time.Duration // maximum duration of the session
	Ping    time.Duration // silence after which a peer is pinged, and the time within which it must answer
	Write   time.Duration // maximum time for which a peer may stop reading
}

// Meter charges a session and decides whether it may continue. An error returned by a method is an *llm.Error and ends the session. The
// methods are called from several goroutines.
type Meter interface {
	// Reserve holds the maximum cost of responses that run at the same time. It does nothing if as many holds exist.
	Reserve(ctx context.Context, responses int) error
	// Response charges a response of the session's model and settles one hold. The usage may be estimated.
	Response(ctx context.Context, u llm.Usage)
	// Transcriber is called when the model that transcribes the input changes.
	Transcriber(ctx context.Context, model string) error
	// Transcription charges an input transcription made by another model. u is nil if the provider reports no tokens.
	Transcription(ctx context.Context, model string, u *llm.Usage) error
	// Check reports whether the session may continue. It is called at intervals of at least Limits.Ping.
	Check() error
}

// Result describes an ended session.
type Result struct {
	Reason         string     // reason for the end of the session, such as client_closed
	Err            *llm.Error // error of the session; nil if the client or the provider ended it normally
	Sent, Received int64      // number of bytes sent to and received from the provider
}

// Reasons for the end of a session.
const (
	ClientClosed       = "client_closed"
	ClientDisconnected = "client_disconnected"
	ProviderClosed     = "provider_closed"
	ProviderFailed     = "provider_failed"
	MessageTooLarge    = "message_too_large"
	IdleTimeout        = "idle_timeout"
	TotalTimeout       = "session_timeout"
	Ended              = "ended" // ended by the meter, a revoked key or the shutdown; the error contains the reason
)

const (
	// keptBuffer is the maximum size of a buffer that is reused for the next message.
	keptBuffer = 64 << 10
	// cancelTime is the maximum time for the provider to report the usage of a cancelled response.
	cancelTime = 3 * time.Second
	// writeTime is the timeout for writing the last message to a client.
	writeTime = 2 * time.Second
)

// peer is the client or the provider of a session.
type peer struct {
	conn    *websocket.Conn
	began   time.Time    // start of the session, on the monotonic clock
	active  atomic.Int64 // time at which the last part of a message arrived, in nanoseconds since began
	blocked atomic.Int64 // time at which the current write to the peer started, in nanoseconds since began; 0 if no write is in progress
	pinging atomic.Bool
}

func (p *peer) touch() { p.active.Store(int64(time.Since(p.began))) }

// read reads a message into the buffer.
func (p *peer) read(b *bytes.Buffer) (websocket.MessageType, error) {
	if b.Reset(); b.Cap() > keptBuffer {
		*b = bytes.Buffer{}
	}
	kind, message, err := p.conn.Reader(context.Background())
	if err != nil {
		return kind, err
	}
	for { // a long message arrives in parts, and each one shows that the peer is alive
		_, err := io.CopyN(b, message, keptBuffer)
		p.touch()
		if errors.Is(err, io.EOF) {
			return kind, nil
		}
		if err != nil {
			return kind, err
		}
	}
}

// write calls f, which writes to the peer. While f runs, blocked holds its start time.
func (p *peer) write(f func() error) error {
	p.blocked.Store(max(int64(time.Since(p.began)), 1))
	err := f()
	p.blocked.Store(0)
	return err
}

// silence returns the time since the peer sent the last part of a message.
func (p *peer) silence(now time.Time) time.Duration {
	return now.Sub(p.began) - time.Duration(p.active.Load())
}

// session is a running session. Connections are read and written without a deadline, because the library drops the connection without a
// close code when the context of a call is done. The method watch enforces the limits.
type session struct {
	client, provider peer
	limits           Limits
	meter            Meter
	mask             func([]byte) []byte

	ended chan ending
	over  atomic.Bool // whether messages are no longer forwarded
	done  chan struct{}
	tasks sync.WaitGroup

	sent, received atomic.Int64
	settled        chan struct{} // receives a value when no response is in progress

	mu        sync.Mutex
	active    int      // number of responses in progress
	requested []string // event ids, which may be empty, of requests for a response that the provider has not answered
	traffic   traffic
	writing   []transcription // transcriptions in progress, oldest first
}

// transcription is a transcription that the provider has begun.
type transcription struct {
	model string
	usage llm.Usage // estimate, in case the session ends before the provider reports the usage
}

// ending is the reason for the end of a session, with the close codes for the peers.
type ending struct {
	reason           string
	err              *llm.Error
	client, provider websocket.StatusCode
	text             string // reason in the close frame of the client
	notice           notice // last message to the client; empty for none
}

// notice is the content of an error event.
type notice struct{ kind, code, message string }

// Run forwards messages between the peers until one of them closes the session, a limit is reached or ctx is cancelled. It closes both
// connections. If the cause of ctx is an *llm.Error, the client receives it as an error event. mask removes credentials from a provider
// message.
func Run(ctx context.Context, client, provider *websocket.Conn, limits Limits, meter Meter, mask func([]byte) []byte) Result {
	s := &session{limits: limits, meter: meter, mask: mask, ended: make(chan ending, 1), done: make(chan struct{}), settled: make(chan struct{}, 1)}
	s.client.conn, s.provider.conn = client, provider
	for _, p := range []*peer{&s.client, &s.provider} {
		p.conn.SetReadLimit(limits.Message)
		p.began = time.Now()
	}
	ctx, stop := context.WithTimeoutCause(ctx, limits.Total, errTotal)
	defer stop()
	s.start(func() { s.fromClient(ctx) })
	s.start(func() { s.fromProvider(ctx) })
	s.start(s.watch)
	var e ending
	select {
	case e = <-s.ended:
	case <-ctx.Done():
		e = cancelled(context.Cause(ctx))
	}
	close(s.done)
	s.finish(e) //nolint:contextcheck // a session is closed properly even if its context is done
	for range s.active {
		s.meter.Response(context.WithoutCancel(ctx), s.traffic.endResponse(nil, false))
	}
	for _, w := range s.writing {
		_ = s.meter.Transcription(context.WithoutCancel(ctx), w.model, &w.usage) // an error concerns only the next transcription
	}
	return Result{Reason: e.reason, Err: e.err, Sent: s.sent.Load(), Received: s.received.Load()}
}

// start runs a task of the session. A panic ends only the session, not the process.
func (s *session) start(task func()) {
	s.tasks.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				s.end(failed(fmt.Errorf("panic: %v\n%s", p, debug.Stack())))
			}
		}()
		task()
	})
}

// end ends the session. Only the first call has an effect.
func (s *session) end(e ending) {
	select {
	case s.ended <- e:
	default:
	}
}

// fromClient forwards client messages to the provider. It answers a request for a response itself if the cost cannot be held.
func (s *session) fromClient(ctx context.Context) {
	var buffer bytes.Buffer
	for {
		//nolint:contextcheck // reads and writes have no deadline, as explained at session
		kind, err := s.client.read(&buffer)
		if err != nil {
			s.end(clientEnding(err))
			return
		}
		if s.over.Load() {
			continue
		}
		if err := s.requestResponse(ctx, buffer.Bytes()); err != nil {
			refusal := errorEvent(noticeOf(llm.AsError(err)), id.New("event", time.Now()))
			_ = s.client.write(func() error { return s.client.conn.Write(context.Background(), websocket.MessageText, refusal) }) //nolint:contextcheck // as above
			continue
		}
		s.sent.Add(int64(buffer.Len()))
		err = s.provider.write(func() error { return s.provider.conn.Write(context.Background(), kind, buffer.Bytes()) }) //nolint:contextcheck // as above
		if err != nil {
			_ = s.provider.conn.CloseNow() // fromProvider reports why the connection to the provider ended
			return
		}
	}
}

// requestResponse holds the cost of a response if a client message requests one.
func (s *session) requestResponse(ctx context.Context, message []byte) error {
	kind, eventID := readClientEvent(message)
	s.mu.Lock()
	defer s.mu.Unlock()
	if kind == responseCreate {
		s.requested = append(s.requested, eventID)
		responses := s.active + len(s.requested)
		s.mu.Unlock()
		err := s.meter.Reserve(ctx, responses)
		s.mu.Lock()
		if err != nil {
			s.removeRequest(eventID)
			return err
		}
	}
	s.traffic.countSent(kind, len(message))
	return nil
}

// removeRequest removes the request with the given event id. If there is none, it removes the oldest request.
func (s *session) removeRequest(eventID string) {
	if len(s.requested) > 0 {
		i := max(slices.Index(s.requested, eventID), 0)
		s.requested = slices.Delete(s.requested, i, i+1)
	}
}

// fromProvider forwards provider messages to the client and charges the reported usage.
func (s *session) fromProvider(ctx context.Context) {
	var buffer bytes.Buffer
	model := "" // model that transcribes the input
	for {
		kind, err := s.provider.read(&buffer) //nolint:contextcheck // the read has no deadline, as explained at session
		if err != nil {
			if closed, ok := errors.AsType[websocket.CloseError](err); ok {
				closed.Reason = string(s.mask([]byte(closed.Reason)))
				err = closed
			}
			s.end(providerEnding(err))
			return
		}
		s.received.Add(int64(buffer.Len()))
		var read event
		if kind == websocket.MessageText {
			read = readEvent(buffer.Bytes())
		}
		changed := read.model != "" && read.model != model
		if changed {
			model = read.model
		}
		responses := s.count(&read)
		s.countTranscriptions(read.kind, model)
		if !s.over.Load() {
			//nolint:contextcheck // the write has no deadline, as explained at session
			err := s.client.write(func() error { return s.client.conn.Write(context.Background(), kind, s.mask(buffer.Bytes())) })
			if err != nil {
				_ = s.client.conn.CloseNow() // fromClient reports why the connection to the client ended
			}
		}
		switch {
		case changed:
			err = s.meter.Transcriber(ctx, model)
		case read.kind == transcribed && read.billed:
			err = s.meter.Transcription(ctx, model, read.usage)
		case read.kind == responseDone:
			s.meter.Response(ctx, *read.usage)
			err = s.meter.Reserve(ctx, max(responses, 1)) // the provider may start a response without a request
		case read.kind == responseCreated:
			err = s.meter.Reserve(ctx, responses)
		}
		if err != nil {
			s.end(failed(err))
		}
	}
}

// count updates the number of responses, including requested ones, and returns it. It estimates the usage of a response without usage. It
// ignores the end of a response whose beginning was not received.
func (s *session) count(e *event) (responses int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.kind {
	case responseCreated:
		s.active++
		s.removeRequest("")
	case responseDone:
		s.traffic.receivedText = max(s.traffic.receivedText, e.text) // text may have arrived only with the end
		e.usage = new(s.traffic.endResponse(e.usage, e.failed))
		if s.active == 0 {
			s.removeRequest("")
		} else if s.active--; s.active == 0 {
			select {
			case s.settled <- struct{}{}:
			default:
			}
		}
	case "error":
		if e.refused || e.eventID != "" && slices.Contains(s.requested, e.eventID) {
			s.removeRequest(e.eventID)
		}
	default:
		s.traffic.receivedText, s.traffic.receivedAudio = s.traffic.receivedText+e.text, s.traffic.receivedAudio+e.audio
	}
	return s.active + len(s.requested)
}

// countTranscriptions updates the transcriptions in progress. model is empty if the input is not transcribed.
func (s *session) countTranscriptions(kind, model string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case committed:
		if usage := s.traffic.commit(); model != "" {
			s.writing = append(s.writing, transcription{model, usage})
		}
	case transcribed, notTranscribed:
		if len(s.writing) > 0 {
			s.writing = s.writing[1:]
		}
	}
}

// watch enforces the limits and detects peers that have disconnected without a close frame.
func (s *session) watch() {
	ticker := time.NewTicker(max(min(s.limits.Ping, s.limits.Idle, s.limits.Write)/4, time.Millisecond))
	defer ticker.Stop()
	checked := time.Now()
	for {
		select {
		case <-s.done:
			return
		case <-ticker.C:
		}
		now := time.Now()
		stuck := func(p *peer) bool {
			since := p.blocked.Load()
			return since != 0 && now.Sub(p.began)-time.Duration(since) > s.limits.Write
		}
		switch {
		case stuck(&s.client):
			s.end(ending{reason: ClientDisconnected, err: llm.Errorf(llm.ClientCancelled, "The client stopped reading the session."), provider: websocket.StatusGoingAway})
		case stuck(&s.provider):
			s.end(interrupted("The provider stopped reading the session.", errors.New("write timeout")))
		case min(s.client.silence(now), s.provider.silence(now)) > s.limits.Idle:
			s.end(expired(IdleTimeout, fmt.Sprintf("The session had no message for %s. Open a new session.", s.limits.Idle)))
		}
		s.ping(&s.client, &s.provider, now)
		s.ping(&s.provider, &s.client, now)
		if now.Sub(checked) >= s.limits.Ping {
			checked = now
			if err := s.meter.Check(); err != nil {
				s.end(failed(err))
			}
		}
	}
}

// ping sends a ping to a silent peer and ends the session if the peer does not answer. It does nothing during a write to the other peer,
// because until the write ends, the answer would not be read.
func (s *session) ping(p, other *peer, now time.Time) {
	if p.silence(now) < s.limits.Ping || other.blocked.Load() != 0 || !p.pinging.CompareAndSwap(false, true) {
		return
	}
	s.start(func() {
		defer p.pinging.Store(false)
		ctx, stop := context.WithTimeout(context.Background(), s.limits.Ping)
		defer stop()
		err := p.conn.Ping(ctx)
		switch {
		case err == nil, other.blocked.Load() != 0, p.silence(time.Now()) < s.limits.Ping:
		case p == &s.client:
			s.end(clientEnding(err))
		default:
			s.end(interrupted("The provider did not answer a ping.", err))
		}
	})
}

// finish sends the reason to the client, waits for the usage of a response in progress, and closes both connections.
func (s *session) finish(e ending) {
	s.over.Store(true)
	var closing sync.WaitGroup
	closing.Go(func() {
		if e.notice != (notice{}) {
			ctx, stop := context.WithTimeout(context.Background(), writeTime)
			last := errorEvent(e.notice, id.New("event", time.Now()))
			_ = s.client.conn.Write(ctx, websocket.MessageText, last) // the client may have disconnected
			stop()
		}
		if e.reason == ClientDisconnected {
			_ = s.client.conn.CloseNow()
			return
		}
		_ = s.client.conn.Close(e.client, e.text) // the client may have disconnected
	})
	select {
	case <-s.settled: // discard the signal of an earlier response
	default:
	}
	s.mu.Lock()
	active := s.active
	s.mu.Unlock()
	if active > 0 && e.provider != 0 {
		ctx, stop := context.WithTimeout(context.Background(), cancelTime)
		if s.provider.conn.Write(ctx, websocket.MessageText, []byte(`{"type":"response.cancel"}`)) == nil {
			select {
			case <-s.settled:
			case <-ctx.Done():
			}
		}
		stop()
	}
	if e.provider == 0 { // the provider has disconnected
		_ = s.provider.conn.CloseNow()
	} else {
		_ = s.provider.conn.Close(e.provider, "")
	}
	closing.Wait()
	s.tasks.Wait()
}

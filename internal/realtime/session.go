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
	// Response charges a response of the session's model. u is nil if the provider reports no usage.
	Response(ctx context.Context, u *llm.Usage) error
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
	Unfinished     int64      // number of responses whose usage the provider has not reported
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
	// chunkSize is the size of the chunks in which a long client message is forwarded.
	chunkSize = 32 << 10
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

	sent, received, active atomic.Int64
	settled                chan struct{} // receives a value when no response is in progress
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
	s.start(s.fromClient)
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
	return Result{Reason: e.reason, Err: e.err, Sent: s.sent.Load(), Received: s.received.Load(), Unfinished: s.active.Load()}
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

// fromClient forwards client messages to the provider. A message that does not fit in one chunk is forwarded in parts.
func (s *session) fromClient() {
	buffer := make([]byte, chunkSize)
	ctx := context.Background()
	for {
		kind, message, err := s.client.conn.Reader(ctx)
		if err != nil {
			s.end(clientEnding(err))
			return
		}
		n, err := io.ReadFull(message, buffer)
		s.client.touch()
		whole := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case err != nil && !whole:
			s.end(clientEnding(err))
			return
		case s.over.Load():
			_, err = io.Copy(io.Discard, message)
		case whole:
			s.sent.Add(int64(n))
			err = s.provider.write(func() error { return s.provider.conn.Write(ctx, kind, buffer[:n]) })
		default:
			err = s.passParts(ctx, kind, message, buffer)
		}
		if errors.Is(err, websocket.ErrMessageTooBig) {
			s.end(clientEnding(err))
			return
		}
		if err != nil {
			_ = s.provider.conn.CloseNow() // fromProvider reports why the connection to the provider ended
			return
		}
	}
}

// passParts forwards a message whose first part is in buffer.
func (s *session) passParts(ctx context.Context, kind websocket.MessageType, message io.Reader, buffer []byte) error {
	w, err := s.provider.conn.Writer(ctx, kind)
	if err != nil {
		return err
	}
	for n := len(buffer); ; {
		s.sent.Add(int64(n))
		err := s.provider.write(func() error {
			_, err := w.Write(buffer[:n])
			return err
		})
		if err != nil {
			return err
		}
		n, err = message.Read(buffer)
		s.client.touch()
		if n == 0 && errors.Is(err, io.EOF) {
			return s.provider.write(w.Close)
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
}

// fromProvider forwards provider messages to the client and charges the reported usage.
func (s *session) fromProvider(ctx context.Context) {
	var buffer bytes.Buffer
	model := "" // model that transcribes the input
	for {
		kind, message, err := s.provider.conn.Reader(context.Background()) //nolint:contextcheck // the read has no deadline, as explained at session
		if err == nil {
			buffer.Reset()
			_, err = buffer.ReadFrom(message)
		}
		if err != nil {
			if closed, ok := errors.AsType[websocket.CloseError](err); ok {
				closed.Reason = string(s.mask([]byte(closed.Reason)))
				err = closed
			}
			s.end(providerEnding(err))
			return
		}
		s.provider.touch()
		s.received.Add(int64(buffer.Len()))
		var read event
		if kind == websocket.MessageText {
			read = readEvent(buffer.Bytes())
		}
		changed := read.model != "" && read.model != model
		if changed {
			model = read.model
		}
		s.count(read.kind)
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
		case !read.billed:
		case read.kind == transcribed:
			err = s.meter.Transcription(ctx, model, read.usage)
		default:
			err = s.meter.Response(ctx, read.usage)
		}
		if err != nil {
			s.end(failed(err))
		}
		if buffer.Cap() > keptBuffer {
			buffer = bytes.Buffer{}
		}
	}
}

// count updates the number of responses in progress. It ignores the end of a response whose beginning was not received.
func (s *session) count(kind string) {
	switch {
	case kind == responseCreated:
		s.active.Add(1)
	case kind == responseDone && s.active.Load() > 0 && s.active.Add(-1) == 0:
		select {
		case s.settled <- struct{}{}:
		default:
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
	if s.active.Load() > 0 && e.provider != 0 {
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

package attempt

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
)

// CallStored performs an operation on a response that the provider stores. It uses the credential of the account that
// holds the response and never another one. It reports nothing to health, because no model is called. A response that
// is silent for longer than idle is cancelled. The caller closes the stream.
func (d *Dispatcher) CallStored(ctx context.Context, p *provider.Provider, op *provider.StoredOperation, idle time.Duration) (llm.Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &storedStream{ctx: ctx, cancel: cancel, idle: idle, timer: time.AfterFunc(idle, func() { cancel(errIdle) })}
	if err := s.open(d, p, op); err != nil {
		err = s.translate(err)
		s.Close()
		return nil, err
	}
	return s, nil
}

// storedStream is the response to an operation on a stored response.
type storedStream struct {
	ctx    context.Context //nolint:containedctx // context of this call only, cancelled by Close
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration
	call   *provider.Call
	body   io.Closer // nil before the response
	events llm.Stream
}

func (s *storedStream) open(d *Dispatcher, p *provider.Provider, op *provider.StoredOperation) error {
	secret := ""
	if i := slices.IndexFunc(p.Credentials, func(c provider.Credential) bool { return c.ID == op.Response.Credential }); i >= 0 {
		secret = p.Credentials[i].Secret
	}
	s.call = &provider.Call{
		Secret: secret, Credential: op.Response.Credential, Secrets: p.Secrets(secret), Operation: op, Workspace: op.Response.Workspace, Session: op.Response.Session, SealID: d.SealID,
	}
	if p.Login != nil {
		token, err := p.Login(s.ctx, secret)
		if err != nil {
			return err
		}
		s.call.Secret = token
	}
	req, err := p.Stored.NewRequest(s.ctx, s.call)
	if err != nil {
		return err
	}
	send := d.Egress.Do
	if p.Transport != nil {
		send = p.Transport.RoundTrip
	}
	resp, err := send(req) //nolint:bodyclose // Close closes it
	if err != nil {
		return err
	}
	s.body = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return p.Stored.Failure(s.call, resp)
	}
	s.events = redactStream(p.Stored.Events(s.call, resp), s.call)
	return nil
}

// Next implements llm.Stream.
func (s *storedStream) Next() (llm.Event, bool, error) {
	s.timer.Reset(s.idle)
	ev, ok, err := s.events.Next()
	s.timer.Stop() // a slow client does not count against the provider
	if err != nil {
		return ev, false, s.translate(err)
	}
	return ev, ok, nil
}

// Close implements llm.Stream.
func (s *storedStream) Close() {
	s.timer.Stop()
	if s.events != nil {
		s.events.Close()
	}
	s.cancel(nil)
	if s.body != nil {
		_ = s.body.Close() // the response has been read
	}
}

// translate converts an error of the call to an *llm.Error.
func (s *storedStream) translate(err error) error {
	cause := context.Cause(s.ctx)
	if e, ok := errors.AsType[*llm.Error](cause); ok {
		return e
	}
	switch {
	case errors.Is(cause, errIdle), errors.Is(cause, context.DeadlineExceeded):
		return &llm.Error{Kind: llm.UpstreamTimeout, Message: "The provider did not respond in time. Retry the request.", Err: err}
	case cause != nil:
		return &llm.Error{Kind: llm.ClientCancelled, Message: "The client closed the connection before the response was complete.", Err: cause}
	}
	if _, ok := errors.AsType[*llm.Error](err); ok {
		return redactError(err, newMasker(s.call))
	}
	return &llm.Error{Kind: llm.UpstreamConnect, Message: "The connection to the provider failed. Retry the request.", Err: err}
}

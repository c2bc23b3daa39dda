package upstream

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
)

// CallStored performs an operation on a response that the provider stores. It uses the credential of the account that holds the response
// and never another credential. It reports nothing to health, because no model is called. The call is cancelled if the provider sends no
// data for longer than idle. The caller closes the stream.
func (d *Dispatcher) CallStored(ctx context.Context, p *provider.Provider, op *provider.StoredOperation, idle time.Duration) (llm.Stream, error) {
	return d.callAccount(ctx, p, p.Stored, &provider.Call{
		Access: provider.Access{Credential: op.Response.Credential}, Operation: op, Sealing: provider.Sealing{Workspace: op.Response.Workspace, Session: op.Response.Session, SealID: d.SealID},
	}, idle)
}

// CallObject performs an operation on the files and batches of a provider account. Like CallStored, it uses only the credential of that
// account and reports nothing to health.
func (d *Dispatcher) CallObject(ctx context.Context, p *provider.Provider, op *provider.ObjectOperation, idle time.Duration) (llm.Stream, error) {
	return d.callAccount(ctx, p, p.Objects, &provider.Call{Access: provider.Access{Credential: op.Credential}, Object: op}, idle)
}

func (d *Dispatcher) callAccount(ctx context.Context, p *provider.Provider, exchange provider.Exchange, call *provider.Call, idle time.Duration) (llm.Stream, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &storedStream{call: call, lifetime: lifetime{ctx: ctx, cancel: cancel, idle: idle, timer: time.AfterFunc(idle, func() { cancel(errIdle) })}}
	if err := s.open(d, p, exchange); err != nil {
		err = s.translate(err)
		s.Close()
		return nil, err
	}
	return s, nil
}

// storedStream is the response to an operation on an object that a provider account holds.
type storedStream struct {
	lifetime
	call   *provider.Call
	body   io.Closer // response body; nil before the response
	events llm.Stream
}

func (s *storedStream) open(d *Dispatcher, p *provider.Provider, exchange provider.Exchange) error {
	if i := slices.IndexFunc(p.Credentials, func(c provider.Credential) bool { return c.ID == s.call.Credential }); i >= 0 {
		s.call.Secret = p.Credentials[i].Secret
	}
	s.call.Secrets = p.Secrets(s.call.Secret)
	if p.Login != nil {
		token, err := p.Login(s.ctx, s.call.Secret)
		if err != nil {
			return err
		}
		s.call.Secret = token
	}
	req, err := exchange.NewRequest(s.ctx, s.call)
	if err != nil {
		return err
	}
	send := d.Egress.Do
	if p.Transport != nil {
		send = p.Transport.RoundTrip
	}
	resp, err := send(req) //nolint:bodyclose // Close closes the response body
	if err != nil {
		return err
	}
	s.body = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return exchange.Failure(s.call, resp)
	}
	s.events = redactStream(exchange.Events(s.call, resp), s.call.Access)
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
		_ = s.body.Close() // the error is ignored, because nothing reads the response afterwards
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
		return redactError(err, newMasker(s.call.Access))
	}
	return &llm.Error{Kind: llm.UpstreamConnect, Message: "The connection to the provider failed. Retry the request.", Err: err}
}

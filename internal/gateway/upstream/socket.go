package upstream

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"fairlead.dev/internal/health"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/redact"
)

// handshakeTime limits the handshake of a WebSocket. The limit is short, because the handshake does not wait for a model.
const handshakeTime = 15 * time.Second

// openSocket opens a WebSocket at the target. Until the handshake has succeeded, the gateway can call another target without affecting the
// client. openSocket reports the success of the handshake to health immediately, because the session may last for an hour.
func (a *Attempt) openSocket(ctx context.Context, exchange provider.Exchange) error {
	timer := time.AfterFunc(handshakeTime, func() { a.cancel(errHeaders) })
	defer timer.Stop()
	req, err := exchange.NewRequest(ctx, a.call)
	if err != nil {
		return err
	}
	options := &websocket.DialOptions{
		HTTPClient: &http.Client{
			Transport:     roundTripper(a.send),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		HTTPHeader: req.Header,
	}
	if protocol := a.call.Request.Subprotocol; protocol != "" {
		options.Subprotocols = []string{protocol}
	}
	socket, resp, err := websocket.Dial(ctx, req.URL.String(), options) //nolint:bodyclose // the library replaces the body
	if resp != nil {
		a.note.Status, a.note.Headers = resp.StatusCode, time.Since(a.began)
	}
	if at := a.timing.Connected(); !at.IsZero() {
		a.note.Connect = at.Sub(a.began)
	}
	switch {
	case err == nil:
	case resp != nil && resp.StatusCode >= http.StatusBadRequest:
		return exchange.Failure(a.call, resp)
	case resp != nil:
		return &llm.Error{Kind: llm.UpstreamMalformed, Message: "the provider did not open a WebSocket", Err: err, UpstreamStatus: resp.StatusCode}
	default:
		if e, ok := errors.AsType[*llm.Error](err); ok { // drops the library's error text, which contains the address
			return e
		}
		return err
	}
	if a.timer != nil && !a.timer.Stop() { // the timeout of the handshake fired just now
		_ = socket.CloseNow()
		return errFirstToken
	}
	a.socket, a.state = socket, responding
	a.series.Dispatcher.Health.Report(health.Report{
		Target: a.call.Target.ID(), Credential: a.note.Credential, Probe: a.note.probe, Duration: time.Since(a.began),
	})
	return nil
}

// Socket returns the WebSocket of a realtime session. Close closes it.
func (a *Attempt) Socket() *websocket.Conn { return a.socket }

// Mask masks the credentials of the attempt in a message of its WebSocket.
func (a *Attempt) Mask(message []byte) []byte {
	return redact.Credentials(message, append(slices.Clip(a.call.Secrets), a.call.Secret)...)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

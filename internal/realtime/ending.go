package realtime

import (
	"errors"

	"github.com/coder/websocket"

	"fairlead.dev/internal/llm"
)

// errTotal is the cancellation cause of a session that has reached its maximum duration.
var errTotal = errors.New("the session reached its maximum duration")

// cancelled returns the ending of a session whose context was cancelled.
func cancelled(cause error) ending {
	if errors.Is(cause, errTotal) {
		return expired(TotalTimeout, "The session reached its maximum duration. Open a new session.")
	}
	if _, ok := errors.AsType[*llm.Error](cause); ok {
		return failed(cause)
	}
	return clientEnding(cause)
}

// expired returns the ending of a session that has reached a time limit. OpenAI sends the same error code, session_expired.
func expired(reason, message string) ending {
	return ending{
		reason: reason, client: websocket.StatusGoingAway, provider: websocket.StatusNormalClosure, text: reason,
		notice: notice{"invalid_request_error", "session_expired", message},
	}
}

// noticeOf converts an error to a notice for the client.
func noticeOf(e *llm.Error) notice {
	kind := "invalid_request_error"
	if e.Kind.Status() >= 500 {
		kind = "server_error"
	}
	return notice{kind, e.Kind.Code(), e.Message}
}

// failed returns the ending of a session that the gateway ends with an error.
func failed(err error) ending {
	e := llm.AsError(err)
	ends := ending{reason: Ended, err: e, client: websocket.StatusPolicyViolation, provider: websocket.StatusNormalClosure, text: e.Kind.Code(), notice: noticeOf(e)}
	switch e.Kind { //nolint:exhaustive // the other kinds are violations of key or workspace rules
	case llm.ServerShutdown:
		ends.client = websocket.StatusGoingAway
	case llm.LedgerUnavailable, llm.Overloaded:
		ends.client = websocket.StatusTryAgainLater
	case llm.Internal:
		ends.client = websocket.StatusInternalError
	}
	return ends
}

// clientEnding returns the ending after an error on the client's connection.
func clientEnding(err error) ending {
	if errors.Is(err, websocket.ErrMessageTooBig) { // the library has already sent the close code StatusMessageTooBig
		return ending{
			reason: MessageTooLarge, err: llm.Errorf(llm.PayloadTooLarge, "A message from the client exceeds the size limit realtime.message. Send smaller messages or raise the limit."),
			client: websocket.StatusMessageTooBig, provider: websocket.StatusGoingAway,
		}
	}
	closed, ok := errors.AsType[websocket.CloseError](err)
	if !ok {
		return ending{
			reason: ClientDisconnected, err: &llm.Error{Kind: llm.ClientCancelled, Message: "The client disconnected without closing the session.", Err: err},
			provider: websocket.StatusGoingAway,
		}
	}
	return ending{reason: ClientClosed, client: sendable(closed.Code), provider: sendable(closed.Code)}
}

// providerEnding returns the ending after an error on the provider's connection. The client receives the provider's close code, if any.
func providerEnding(err error) ending {
	if errors.Is(err, websocket.ErrMessageTooBig) {
		return ending{
			reason: MessageTooLarge, err: llm.Errorf(llm.UpstreamMalformed, "A message from the provider exceeds the size limit realtime.message. Raise the limit in the configuration."),
			client: websocket.StatusMessageTooBig, text: "provider message too large",
		}
	}
	closed, ok := errors.AsType[websocket.CloseError](err)
	if !ok {
		return interrupted("The connection to the provider broke during the session. Open a new session.", err)
	}
	switch closed.Code { //nolint:exhaustive // the other codes mean that the provider rejects the session
	case websocket.StatusNormalClosure, websocket.StatusGoingAway, websocket.StatusNoStatusRcvd:
		return ending{reason: ProviderClosed, client: sendable(closed.Code), text: closed.Reason}
	case websocket.StatusInternalError, websocket.StatusServiceRestart, websocket.StatusTryAgainLater, websocket.StatusBadGateway:
		e := interrupted("The provider ended the session with an error. Open a new session.", err)
		e.client, e.text = closed.Code, closed.Reason
		return e
	}
	return ending{
		reason: ProviderClosed, err: llm.Errorf(llm.UpstreamRejected, "The provider closed the session: %s (%d).", closed.Reason, closed.Code),
		client: closed.Code, text: closed.Reason,
	}
}

// interrupted returns the ending of a session whose provider has failed.
func interrupted(message string, err error) ending {
	e := &llm.Error{Kind: llm.StreamInterrupted, Message: message, Err: err}
	return ending{reason: ProviderFailed, err: e, client: websocket.StatusInternalError, text: e.Kind.Code(), notice: noticeOf(e)}
}

// sendable returns the close code to send. A close frame without a code counts as a normal closure.
func sendable(code websocket.StatusCode) websocket.StatusCode {
	if code == websocket.StatusNoStatusRcvd {
		return websocket.StatusNormalClosure
	}
	return code
}

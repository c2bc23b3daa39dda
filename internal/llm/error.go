package llm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Kind classifies errors. The kind determines the code and status, whether a retry may succeed, and whether another
// target is tried; see kinds.
type Kind string

// Errors caused by the client, the key or the workspace.
const (
	MissingAPIKey        Kind = "missing_api_key"
	InvalidAPIKey        Kind = "invalid_api_key"
	ExpiredAPIKey        Kind = "expired_api_key"
	RevokedAPIKey        Kind = "revoked_api_key"
	ScopeDenied          Kind = "scope_denied"
	ModelNotAllowed      Kind = "model_not_allowed"
	BrowserNotAllowed    Kind = "browser_not_allowed"
	InvalidJSON          Kind = "invalid_json"
	InvalidRequest       Kind = "invalid_request"
	UnsupportedMediaType Kind = "unsupported_media_type"
	PayloadTooLarge      Kind = "payload_too_large"
	NotFound             Kind = "not_found"
	MethodNotAllowed     Kind = "method_not_allowed"
	UpgradeRequired      Kind = "upgrade_required"
	ModelNotFound        Kind = "model_not_found"
	ContextTooLong       Kind = "context_too_long"
	PolicyRejected       Kind = "policy_rejected"
	NoRoute              Kind = "no_route"
	RateLimited          Kind = "rate_limited"
	BudgetExceeded       Kind = "budget_exceeded"
	ClientCancelled      Kind = "client_cancelled" // mainly for the log: the client has usually disconnected
)

// Errors caused by the gateway.
const (
	Overloaded        Kind = "overloaded"
	LedgerUnavailable Kind = "ledger_unavailable"
	ServerShutdown    Kind = "server_shutdown"
	Internal          Kind = "internal_error"
)

// Errors caused by a provider. They are also the classes of attempts in the log.
const (
	NoTargetAvailable     Kind = "no_target_available"   // every suitable target is failing or backing off
	UpstreamConnect       Kind = "connect"               // connection refused or reset, unknown host, TLS failure
	UpstreamTimeout       Kind = "timeout"               // no first token or no further data within the timeout
	UpstreamRateLimited   Kind = "rate_limit"            // HTTP status 429
	UpstreamOverloaded    Kind = "overload"              // HTTP status 503 or 529
	UpstreamServer        Kind = "server_error"          // any other 5xx status
	UpstreamAuth          Kind = "credential"            // 401, 402 or exhausted quota: the credential is rejected for every model
	UpstreamDenied        Kind = "access_denied"         // 403: the credential may not use this model
	UpstreamNotFound      Kind = "unknown_model"         // 404: the provider does not have the model
	UpstreamMalformed     Kind = "malformed"             // a 2xx response that is not a model response
	StreamInterrupted     Kind = "stream_interrupted"    // the stream ended before the response was complete
	UpstreamRejected      Kind = "rejected"              // 4xx caused by the client; passed on
	UpstreamUnsupported   Kind = "unsupported"           // 4xx for a parameter or value that this target does not support
	UpstreamContext       Kind = "context_length"        // the prompt exceeds the context window of this model
	UpstreamContentPolicy Kind = "content_policy"        // the provider's content rules reject the request; the error is passed on
	ContinuationMismatch  Kind = "continuation_mismatch" // the continuation of an interrupted response does not match the text already sent
	Untranslatable        Kind = "untranslatable"        // the provider's format cannot express the request
)

// Errors of the admin API.
const (
	SignInRequired   Kind = "sign_in_required"
	WrongCredentials Kind = "wrong_credentials"
	// SecondFactorRequired means that the password is correct but the second-factor code is missing.
	SecondFactorRequired Kind = "second_factor_required"
	PermissionDenied     Kind = "permission_denied"
	CrossOrigin          Kind = "cross_origin"
	Conflict             Kind = "conflict"
)

// Origin is the party that caused an error.
type Origin string

// Origins of an error.
const (
	FromClient   Origin = "client"
	FromGateway  Origin = "gateway"
	FromPolicy   Origin = "policy"
	FromProvider Origin = "provider"
)

type kindFacts struct {
	code      string
	status    int
	origin    Origin
	retryable bool // whether the same request may succeed later
	next      bool // whether another target may succeed now
}

var kinds = map[Kind]kindFacts{
	MissingAPIKey:        {"MISSING_API_KEY", 401, FromClient, false, false},
	InvalidAPIKey:        {"INVALID_API_KEY", 401, FromClient, false, false},
	ExpiredAPIKey:        {"EXPIRED_API_KEY", 401, FromClient, false, false},
	RevokedAPIKey:        {"REVOKED_API_KEY", 401, FromClient, false, false},
	ScopeDenied:          {"SCOPE_DENIED", 403, FromClient, false, false},
	ModelNotAllowed:      {"MODEL_NOT_ALLOWED", 403, FromClient, false, false},
	BrowserNotAllowed:    {"BROWSER_NOT_ALLOWED", 403, FromClient, false, false},
	InvalidJSON:          {"INVALID_JSON", 400, FromClient, false, false},
	InvalidRequest:       {"INVALID_REQUEST", 400, FromClient, false, false},
	UnsupportedMediaType: {"UNSUPPORTED_MEDIA_TYPE", 415, FromClient, false, false},
	PayloadTooLarge:      {"PAYLOAD_TOO_LARGE", 413, FromClient, false, false},
	NotFound:             {"NOT_FOUND", 404, FromClient, false, false},
	MethodNotAllowed:     {"METHOD_NOT_ALLOWED", 405, FromClient, false, false},
	UpgradeRequired:      {"UPGRADE_REQUIRED", 426, FromClient, false, false},
	ModelNotFound:        {"MODEL_NOT_FOUND", 404, FromClient, false, false},
	ContextTooLong:       {"CONTEXT_TOO_LONG", 400, FromClient, false, false},
	PolicyRejected:       {"POLICY_REJECTED", 403, FromPolicy, false, false},
	NoRoute:              {"NO_ROUTE", 400, FromClient, false, false},
	RateLimited:          {"RATE_LIMITED", 429, FromGateway, true, false},
	BudgetExceeded:       {"BUDGET_EXCEEDED", 402, FromGateway, false, false},
	ClientCancelled:      {"CLIENT_CANCELLED", 499, FromClient, false, false},

	Overloaded:        {"OVERLOADED", 503, FromGateway, true, false},
	LedgerUnavailable: {"LEDGER_UNAVAILABLE", 503, FromGateway, true, false},
	ServerShutdown:    {"SERVER_SHUTDOWN", 503, FromGateway, true, false},
	Internal:          {"INTERNAL_ERROR", 500, FromGateway, true, false},

	NoTargetAvailable:     {"PROVIDER_UPSTREAM_ERROR", 503, FromProvider, true, false},
	UpstreamConnect:       {"PROVIDER_UPSTREAM_ERROR", 502, FromProvider, true, true},
	UpstreamTimeout:       {"PROVIDER_TIMEOUT", 504, FromProvider, true, true},
	UpstreamRateLimited:   {"PROVIDER_RATE_LIMITED", 429, FromProvider, true, true},
	UpstreamOverloaded:    {"PROVIDER_UPSTREAM_ERROR", 502, FromProvider, true, true},
	UpstreamServer:        {"PROVIDER_UPSTREAM_ERROR", 502, FromProvider, true, true},
	UpstreamAuth:          {"PROVIDER_UPSTREAM_ERROR", 502, FromProvider, false, true},
	UpstreamDenied:        {"PROVIDER_UPSTREAM_ERROR", 502, FromProvider, false, true},
	UpstreamNotFound:      {"PROVIDER_UPSTREAM_ERROR", 502, FromProvider, false, true},
	UpstreamMalformed:     {"PROVIDER_UPSTREAM_ERROR", 502, FromProvider, true, true},
	StreamInterrupted:     {"PROVIDER_UPSTREAM_ERROR", 502, FromProvider, true, true},
	UpstreamRejected:      {"PROVIDER_UPSTREAM_ERROR", 400, FromClient, false, false},
	UpstreamUnsupported:   {"PROVIDER_UPSTREAM_ERROR", 400, FromClient, false, false}, // another target is tried only if the caller allows another model
	UpstreamContext:       {"CONTEXT_TOO_LONG", 400, FromClient, false, true},
	UpstreamContentPolicy: {"PROVIDER_UPSTREAM_ERROR", 400, FromClient, false, false},
	ContinuationMismatch:  {"PROVIDER_UPSTREAM_ERROR", 502, FromGateway, true, false}, // a retry may produce different text
	Untranslatable:        {"NO_ROUTE", 400, FromClient, false, true},

	SignInRequired:       {"SIGN_IN_REQUIRED", 401, FromClient, false, false},
	WrongCredentials:     {"WRONG_CREDENTIALS", 401, FromClient, false, false},
	SecondFactorRequired: {"SECOND_FACTOR_REQUIRED", 401, FromClient, false, false},
	PermissionDenied:     {"PERMISSION_DENIED", 403, FromClient, false, false},
	CrossOrigin:          {"CROSS_ORIGIN", 403, FromClient, false, false},
	Conflict:             {"CONFLICT", 409, FromClient, false, false},
}

// facts returns the table row of the kind. An unknown kind is a bug and is reported as Internal.
func (k Kind) facts() kindFacts {
	if facts, ok := kinds[k]; ok {
		return facts
	}
	return kinds[Internal]
}

// Code returns the public code of the kind, such as RATE_LIMITED.
func (k Kind) Code() string { return k.facts().code }

// Status returns the HTTP status of the kind.
func (k Kind) Status() int { return k.facts().status }

// Origin returns the party that causes errors of this kind.
func (k Kind) Origin() Origin { return k.facts().origin }

// Retryable reports whether the same request may succeed later.
func (k Kind) Retryable() bool { return k.facts().retryable }

// NextMayHelp reports whether another target may serve the request now.
func (k Kind) NextMayHelp() bool { return k.facts().next }

// FromUpstream reports whether a provider caused the error: by its response, by a missing response, or because its format cannot express
// the request.
func (k Kind) FromUpstream() bool {
	facts := k.facts()
	return facts.next || facts.origin == FromProvider || k.passedOn()
}

// passedOn reports whether the client gets the provider's status, because the request caused the error.
func (k Kind) passedOn() bool {
	return k == UpstreamRejected || k == UpstreamUnsupported || k == UpstreamContentPolicy
}

// Kinds returns every kind, sorted by name, for documentation and tests.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kinds)) }

// Error is an error for a client. Message is a full sentence: what happened, why, what to do.
type Error struct {
	Kind       Kind
	Message    string
	Param      string         // name of the invalid field, if any
	Details    map[string]any // additional members of `details`; never secrets
	RetryAfter time.Duration  // time to wait before a retry; 0 if unknown
	Final      bool           // whether a retry cannot succeed, although the kind is retryable

	UpstreamStatus int    // the provider's HTTP status; 0 without a response
	UpstreamCode   string // the provider's own error code
	Err            error  // cause, for the log; never sent to clients
}

// Cancelled returns an error if ctx is done, otherwise nil: the cause if it is an *Error, such as a revoked key, or an error of kind
// ClientCancelled. Code that processes large requests calls it
// repeatedly, so that it stops soon after the client disconnects.
func Cancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	if e, ok := errors.AsType[*Error](cause); ok {
		return e
	}
	return &Error{Kind: ClientCancelled, Message: "The client closed the connection before the request was sent to a provider.", Err: cause}
}

// Errorf returns an error of the given kind with a formatted message.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// With adds one detail and returns the error.
func (e *Error) With(name string, value any) *Error {
	if e.Details == nil {
		e.Details = map[string]any{}
	}
	e.Details[name] = value
	return e
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Kind, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Status returns the HTTP status for the client: the status of the kind, or the provider's own 4xx if the request
// caused the error. Statuses that make clients retry or ask for another key are not passed on.
func (e *Error) Status() int {
	if e.Kind.passedOn() && e.UpstreamStatus >= 400 && e.UpstreamStatus < 500 && !actedOn[e.UpstreamStatus] {
		return e.UpstreamStatus
	}
	return e.Kind.Status()
}

// actedOn lists the statuses that clients react to. A provider's 401 or 429, for example, is about the gateway's
// credential or quota, so these statuses are not passed on.
var actedOn = map[int]bool{401: true, 402: true, 403: true, 407: true, 408: true, 409: true, 425: true, 429: true}

// AsError returns err as an Error. Any other error becomes Internal, whose message does not reveal the cause.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Message: "The gateway failed internally. Retry the request; if the error persists, report the request id.", Err: err}
}

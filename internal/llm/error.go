package llm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Kind classifies everything that can go wrong with a request. The kind alone decides the code and the status
// the client sees, whether a repeat may help, and whether another target may: see the table below.
type Kind string

// What the client, the key or the workspace did.
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
	ModelNotFound        Kind = "model_not_found"
	ContextTooLong       Kind = "context_too_long"
	PolicyRejected       Kind = "policy_rejected"
	NoRoute              Kind = "no_route"
	RateLimited          Kind = "rate_limited"
	BudgetExceeded       Kind = "budget_exceeded"
	ClientCancelled      Kind = "client_cancelled" // mainly for the log: the client has usually disconnected
)

// What we did.
const (
	Overloaded        Kind = "overloaded"
	LedgerUnavailable Kind = "ledger_unavailable"
	ServerShutdown    Kind = "server_shutdown"
	Internal          Kind = "internal_error"
)

// What a provider did. These are also the classes that attempts carry in the log.
const (
	NoTargetAvailable     Kind = "no_target_available"   // every suitable target is failing or backing off
	UpstreamConnect       Kind = "connect"               // not reached: refused, reset, no such host, TLS
	UpstreamTimeout       Kind = "timeout"               // no first token, or silence, for longer than allowed
	UpstreamRateLimited   Kind = "rate_limit"            // 429
	UpstreamOverloaded    Kind = "overload"              // 503, 529
	UpstreamServer        Kind = "server_error"          // other 5xx
	UpstreamAuth          Kind = "credential"            // 401, 402, a spent quota: our credential is refused for every model
	UpstreamDenied        Kind = "access_denied"         // 403: our credential may not use this model
	UpstreamNotFound      Kind = "unknown_model"         // 404: the provider does not have the model
	UpstreamMalformed     Kind = "malformed"             // a 2xx response that is not a model response
	StreamInterrupted     Kind = "stream_interrupted"    // the stream ended before its finish
	UpstreamRejected      Kind = "rejected"              // 4xx that is the client's own fault: passed on
	UpstreamUnsupported   Kind = "unsupported"           // 4xx for a parameter or value that this target does not support: another may
	UpstreamContext       Kind = "context_length"        // the prompt does not fit this model: another may hold it
	UpstreamContentPolicy Kind = "content_policy"        // refused by the provider's content rules: passed on
	ContinuationMismatch  Kind = "continuation_mismatch" // an answer that should have gone on with another one said something else
	HedgeLost             Kind = "hedge_lost"            // cancelled because a hedged attempt responded first
	Untranslatable        Kind = "untranslatable"        // the provider's format has no place for what the request says: another may
)

// What happened in the admin API.
const (
	SignInRequired   Kind = "sign_in_required"
	WrongCredentials Kind = "wrong_credentials"
	PermissionDenied Kind = "permission_denied"
	CrossOrigin      Kind = "cross_origin"
	Conflict         Kind = "conflict"
)

// Origin says who caused an error.
type Origin string

// The origins of an error.
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
	retryable bool // the same request may succeed later
	next      bool // another target may succeed now
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
	UpstreamUnsupported:   {"PROVIDER_UPSTREAM_ERROR", 400, FromClient, false, false}, // another target only where the caller allows another model
	UpstreamContext:       {"CONTEXT_TOO_LONG", 400, FromClient, false, true},
	UpstreamContentPolicy: {"PROVIDER_UPSTREAM_ERROR", 400, FromClient, false, false},
	ContinuationMismatch:  {"PROVIDER_UPSTREAM_ERROR", 502, FromGateway, true, false}, // no answer has to repeat another
	HedgeLost:             {"PROVIDER_UPSTREAM_ERROR", 502, FromGateway, true, false}, // not reported: another attempt responded
	Untranslatable:        {"NO_ROUTE", 400, FromClient, false, true},

	SignInRequired:   {"SIGN_IN_REQUIRED", 401, FromClient, false, false},
	WrongCredentials: {"WRONG_CREDENTIALS", 401, FromClient, false, false},
	PermissionDenied: {"PERMISSION_DENIED", 403, FromClient, false, false},
	CrossOrigin:      {"CROSS_ORIGIN", 403, FromClient, false, false},
	Conflict:         {"CONFLICT", 409, FromClient, false, false},
}

// facts returns the row of the kind. A kind that is not in the table is a defect of ours, and is answered as one.
func (k Kind) facts() kindFacts {
	if facts, ok := kinds[k]; ok {
		return facts
	}
	return kinds[Internal]
}

// Code is the public code of the kind, such as RATE_LIMITED.
func (k Kind) Code() string { return k.facts().code }

// Status is the HTTP status of the kind.
func (k Kind) Status() int { return k.facts().status }

// Origin says who causes errors of this kind.
func (k Kind) Origin() Origin { return k.facts().origin }

// Retryable reports whether the same request may succeed later.
func (k Kind) Retryable() bool { return k.facts().retryable }

// NextMayHelp reports whether another target may answer the request now.
func (k Kind) NextMayHelp() bool { return k.facts().next }

// FromUpstream reports whether a provider's answer, or the lack of one, is what failed.
func (k Kind) FromUpstream() bool {
	facts := k.facts()
	return facts.next || facts.origin == FromProvider || k.passedOn()
}

// passedOn reports whether the client gets the provider's own status: the request was at fault.
func (k Kind) passedOn() bool {
	return k == UpstreamRejected || k == UpstreamUnsupported || k == UpstreamContentPolicy
}

// Kinds lists every kind by name, for documents and tests.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kinds)) }

// Error is an error for a client. Message is a full sentence: what happened, why, what to do.
type Error struct {
	Kind       Kind
	Message    string
	Param      string         // the field at fault, where there is one
	Details    map[string]any // more facts for `details`; never secrets
	RetryAfter time.Duration  // how long to wait, where known
	Final      bool           // a repeat cannot help, although the kind usually allows one

	UpstreamStatus int    // the provider's status, for upstream kinds; 0 when none came
	UpstreamCode   string // the provider's own error code
	Err            error  // the cause, for our log only: never shown to clients
}

// Cancelled returns an error of kind ClientCancelled once ctx has ended, and nil before. Steps that read large requests call
// it between the parts, so that they stop soon after the client disconnects.
func Cancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return &Error{Kind: ClientCancelled, Message: "The client closed the connection before the request was sent to a provider.", Err: context.Cause(ctx)}
}

// Errorf makes an error of this kind with a formatted sentence.
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

// Status is what the client gets: the kind's, or the provider's own 4xx where the request was at fault. Statuses on which
// clients act by themselves, such as by repeating the request or asking for another key, are not passed on.
func (e *Error) Status() int {
	if e.Kind.passedOn() && e.UpstreamStatus >= 400 && e.UpstreamStatus < 500 && !actedOn[e.UpstreamStatus] {
		return e.UpstreamStatus
	}
	return e.Kind.Status()
}

// actedOn are the 4xx that mean something between the provider and us: a key, a payment, a wait, a repeat.
var actedOn = map[int]bool{401: true, 402: true, 403: true, 407: true, 408: true, 409: true, 425: true, 429: true}

// AsError returns err as an Error; anything else is a defect of ours and says nothing of itself to the client.
func AsError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Kind: Internal, Message: "The gateway failed internally. Retry the request; if the error persists, report the request id.", Err: err}
}

// formerKinds maps the classes that older entries store to today's.
var formerKinds = map[string]Kind{
	"cannot_express":  Untranslatable,
	"cut":             StreamInterrupted,
	"deviated":        ContinuationMismatch,
	"no_target_ready": NoTargetAvailable,
	"outrun":          HedgeLost,
	"refused":         UpstreamRejected,
}

// UnmarshalText reads a stored kind, former ones included.
func (k *Kind) UnmarshalText(text []byte) error {
	*k = Kind(text)
	if renamed, ok := formerKinds[string(text)]; ok {
		*k = renamed
	}
	return nil
}

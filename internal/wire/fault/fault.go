// Package fault classifies provider errors in any format: the kind of failure, a message for the client, and the time
// to wait.
package fault

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
)

// CredentialPrefix is the beginning of the error message for a credential that the provider rejected.
const CredentialPrefix = "The provider does not accept the gateway's credential: "

// Failure classifies a response that is not 2xx. body may be truncated. now is the time at which the response arrived,
// for a Retry-After header that contains a date.
func Failure(status int, h http.Header, body []byte, now time.Time) *llm.Error {
	f := readFault(body)
	f.passes = passes(status, h, f, now)
	e := f.err(kindOf(status, f), status)
	if e.Retryable() { // waiting does not help with other errors
		e.RetryAfter = retryAfter(status, h, f, now)
	}
	return e
}

// Inside classifies an error inside a 2xx response. The body of such an error often contains the actual HTTP status.
func Inside(raw []byte) *llm.Error {
	f := readFault(raw)
	status, reported := f.status, f.status
	if status < 400 {
		status = statusOf(f.code + " " + f.kind)
	}
	f.passes = passes(status, nil, f, time.Time{})
	e := f.err(kindOf(status, f), reported)
	if e.Retryable() {
		e.RetryAfter = retryAfter(status, nil, f, time.Time{})
	}
	return e
}

func (f fault) err(kind llm.Kind, status int) *llm.Error {
	message := redact(f.message)
	if kind == llm.UpstreamAuth || kind == llm.UpstreamDenied {
		message = neutral.Replace(message)
	}
	switch {
	case message == "":
		message = plainMessages[kind]
	case kind == llm.UpstreamAuth:
		message = CredentialPrefix + message
	case kind == llm.UpstreamDenied:
		message = "The provider does not allow the gateway's credential to use this model: " + message
	}
	code := f.code
	if code == "" {
		code = f.kind
	}
	return &llm.Error{Kind: kind, Message: show.Cut(message, maxMessage), UpstreamStatus: status, UpstreamCode: redact(show.Cut(code, 100))}
}

// neutral replaces words from which Claude Code concludes that the client's own key is invalid ("Please run /login") or has no credit.
var neutral = strings.NewReplacer("x-api-key", "credential", "X-Api-Key", "credential", "Your credit balance is too low", "The account has too little credit")

// plainMessages holds the messages for errors without a readable message.
var plainMessages = map[llm.Kind]string{
	llm.UpstreamTimeout:       "The provider took too long to respond.",
	llm.UpstreamRateLimited:   "The provider's rate limit was reached.",
	llm.UpstreamOverloaded:    "The provider is overloaded.",
	llm.UpstreamServer:        "The provider failed with an internal error.",
	llm.UpstreamAuth:          "The provider does not accept the gateway's credential.",
	llm.UpstreamDenied:        "The provider does not allow the gateway's credential to use this model.",
	llm.UpstreamUnsupported:   "The provider does not support a part of the request.",
	llm.UpstreamNotFound:      "The provider does not have this model or address.",
	llm.UpstreamRejected:      "The provider rejected the request without giving a reason.",
	llm.UpstreamContext:       "The request exceeds the model's context window.",
	llm.UpstreamContentPolicy: "The request violates the provider's content policy.",
}

// kindOf classifies a failure. The code in the body takes precedence over the status, because providers use one status
// for several reasons, such as 403 for an invalid credential and for a model that the credential cannot use.
func kindOf(status int, f fault) llm.Kind {
	words := strings.ToLower(f.code + " " + f.kind + " " + f.inner)
	message := strings.ToLower(f.message)
	switch {
	case status == http.StatusTooManyRequests:
		// Google's message about a per-minute limit contains the same words as OpenAI's message about an account without credit. Only
		// Google's response also says how long to wait. A code for missing credit is unambiguous, even if a proxy added a Retry-After
		// header.
		if has(words, reasons.credit.codes) || !f.passes && has(message, reasons.credit.texts) {
			return llm.UpstreamAuth
		}
		return llm.UpstreamRateLimited
	case status == http.StatusServiceUnavailable || status == 529:
		return llm.UpstreamOverloaded
	case status >= 500 || status < 400:
		return llm.UpstreamServer
	case status == http.StatusRequestTimeout:
		return llm.UpstreamTimeout
	case reasons.policy.in(words, message):
		return llm.UpstreamContentPolicy
	case has(words, reasons.key.codes) || has(words, reasons.credit.codes) || refusesCredential(status, message):
		return llm.UpstreamAuth
	case has(words, reasons.model.codes):
		return llm.UpstreamNotFound
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired:
		return llm.UpstreamAuth
	case status == http.StatusForbidden:
		return llm.UpstreamDenied
	case reasons.context.in(words, message):
		return llm.UpstreamContext
	case status == http.StatusRequestEntityTooLarge && has(words, []string{"rate_limit"}):
		return llm.UpstreamContext // the request alone exceeds a per-minute limit; waiting does not help
	case status == http.StatusNotFound && has(message, reasons.resource.texts):
		return llm.UpstreamRejected
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return llm.UpstreamNotFound
	case reasons.unsupported.in(words, message):
		return llm.UpstreamUnsupported
	}
	return llm.UpstreamRejected
}

// refusesCredential reports whether the message says that the credential is invalid or has no credit. The message of a
// 400 or 422 may quote the request, so only its beginning is checked: a client must not be able to disable a
// credential.
func refusesCredential(status int, message string) bool {
	if status == http.StatusForbidden {
		return has(message, reasons.key.texts) || has(message, reasons.credit.texts)
	}
	for _, texts := range [][]string{reasons.key.texts, reasons.credit.texts} {
		for _, text := range texts {
			if strings.HasPrefix(strings.TrimPrefix(message, "your "), text) {
				return true
			}
		}
	}
	return false
}

// statusOf infers the status of an error inside a 2xx response. words contains the code and the type of the error.
func statusOf(words string) int {
	words = strings.ToLower(words)
	for _, row := range []struct {
		status int
		words  []string
	}{
		{http.StatusTooManyRequests, []string{"rate_limit", "ratelimit", "too_many_requests", "resource_exhausted", "throttl", "insufficient_quota"}},
		{529, []string{"overload", "unavailable", "capacity"}},
		{http.StatusRequestTimeout, []string{"timeout", "deadline_exceeded"}},
		{http.StatusInternalServerError, []string{"server_error", "internal", "api_error"}},
		{http.StatusUnauthorized, []string{"authentication", "invalid_api_key", "unauthorized", "unauthenticated", "billing"}},
		{http.StatusForbidden, []string{"permission", "accessdenied"}},
		{http.StatusNotFound, []string{"not_found"}},
		{http.StatusBadRequest, []string{"invalid", "context_length", "content_filter", "content_policy", "bad_request", "validation", "badrequest"}},
	} {
		if has(words, row.words) {
			return row.status
		}
	}
	return http.StatusInternalServerError
}

// signs holds the codes, types and message phrases that identify one cause of an error.
type signs struct{ codes, texts []string }

func (s signs) in(codes, message string) bool { return has(codes, s.codes) || has(message, s.texts) }

// reasons lists causes of errors that cannot be distinguished by the HTTP status.
var reasons = struct{ credit, key, policy, context, model, resource, unsupported signs }{
	credit: signs{
		codes: []string{"insufficient_quota", "billing", "payment_required", "insufficient_balance", "insufficient_credits", "credit_limit", "exceeded_current_quota"},
		texts: []string{
			"exceeded your current quota", "you exceeded your current quota", "credit balance is too low", "insufficient balance", "insufficient credits",
			"billing hard limit", "out of credits", "used all available credits", "monthly spending limit",
		},
	},
	key: signs{
		codes: []string{
			"invalid_api_key", "api_key_invalid", "authentication_error", "invalid_authentication", "account_deactivated", "api_key_service_blocked",
			"consumer_suspended", "service_disabled", "unrecognizedclient", "invalidsignature", "signaturedoesnotmatch", "expiredtoken", "requestexpired",
			"missingauthenticationtoken", "incompletesignature", "invalidclienttokenid",
		},
		texts: []string{"api key not valid", "invalid api key", "incorrect api key", "api key expired", "this organization has been disabled", "canonical string"},
	},
	policy: signs{
		codes: []string{"content_filter", "content_policy", "responsibleaipolicyviolation", "data_inspection_failed", "moderation", "prompt_blocked", "prohibited_content"},
		texts: []string{"content management policy", "content policy", "usage policies", "input was flagged", "flagged by moderation", "flagged for"},
	},
	context: signs{
		codes: []string{"context_length", "context_window", "prompt_too_long", "input_too_long", "context_too_long"},
		texts: []string{
			"maximum context length", "context length", "context window", "context size", "context limit", "prompt is too long",
			"input is too long", "prompt too long", "input too long", "too many tokens", "maximum number of tokens",
			"reduce the length of the messages", "input token count", "longer than the model", "exceeds the model's maximum",
		},
	},
	model: signs{
		codes: []string{"model_not_found", "deploymentnotfound", "unknown_model", "invalid_model", "model_not_available"},
	},
	// resources that a provider might not find: files, earlier responses, caches
	resource: signs{
		texts: []string{
			"file object", "file with", "files/", "file_", "file-", "previous_response", "previous response", "response with id", "conversation", "container", "cachedcontent", "cached content",
			"vector store", "item with id", "prompt with id", "thread", "assistant", "batch",
		},
	},
	unsupported: signs{
		codes: []string{"unsupported_parameter", "unsupported_value", "unknown_parameter", "feature_not_supported"},
		texts: []string{
			"unsupported parameter", "unsupported value", "unknown parameter", "unrecognized request argument", "unrecognized parameter", "not supported",
			"does not support", "doesn't support", "unsupported", "extra inputs are not permitted", "extra fields not permitted", "is deprecated for this model",
			"for this model", "cannot find field", "invalid model", "unknown model", "model not found", "model does not exist", "not a valid model",
		},
	},
}

func has(s string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}

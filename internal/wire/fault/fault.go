// Package fault reads what providers say when they fail, whatever their format: which kind of failure it is, a message fit
// to be passed on, and how long to wait.
package fault

import (
	"net/http"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/wire/show"
)

// Failure classifies a provider's answer that is not 2xx. body may be a bounded part of it. now is when it came, for
// waits that are given as a date.
func Failure(status int, h http.Header, body []byte, now time.Time) *llm.Error {
	f := readFault(body)
	f.passes = passes(status, h, f, now)
	e := f.err(kindOf(status, f), status)
	e.RetryAfter = retryAfter(status, h, f, now)
	return e
}

// Inside classifies an error that came inside a 2xx answer. Such errors often name the status they would have had.
func Inside(raw []byte) *llm.Error {
	f := readFault(raw)
	status, told := f.status, f.status
	if status < 400 {
		status = statusOf(f.code + " " + f.kind)
	}
	f.passes = passes(status, nil, f, time.Time{})
	e := f.err(kindOf(status, f), told)
	e.RetryAfter = retryAfter(status, nil, f, time.Time{})
	return e
}

func (f fault) err(kind llm.Kind, status int) *llm.Error {
	message := redact(f.message)
	switch {
	case message == "":
		message = plainMessages[kind]
	case kind == llm.UpstreamAuth:
		message = "The provider does not accept the gateway's credential: " + message
	}
	code := f.code
	if code == "" {
		code = f.kind
	}
	return &llm.Error{Kind: kind, Message: show.Cut(message, maxMessage), UpstreamStatus: status, UpstreamCode: redact(show.Cut(code, 100))}
}

// plainMessages are for answers that say nothing readable.
var plainMessages = map[llm.Kind]string{
	llm.UpstreamTimeout:       "The provider took too long to answer.",
	llm.UpstreamRateLimited:   "The provider limits the rate of requests.",
	llm.UpstreamOverloaded:    "The provider is overloaded.",
	llm.UpstreamServer:        "The provider failed with an error of its own.",
	llm.UpstreamAuth:          "The provider does not accept the gateway's credential.",
	llm.UpstreamNotFound:      "The provider does not have this model or address.",
	llm.UpstreamInvalid:       "The provider refused the request without saying why.",
	llm.UpstreamContext:       "The request does not fit the model's context window.",
	llm.UpstreamContentPolicy: "The provider's content rules refuse the request.",
}

// kindOf is the table of statuses, corrected by what the body says.
func kindOf(status int, f fault) llm.Kind {
	words := strings.ToLower(f.code + " " + f.kind + " " + f.inner)
	message := strings.ToLower(f.message)
	switch {
	case status == http.StatusTooManyRequests:
		// Google words a limit per minute as OpenAI words an account without money: only the wait tells them apart.
		if !f.passes && (has(words, creditWords) || has(message, creditTexts)) {
			return llm.UpstreamAuth
		}
		return llm.UpstreamRateLimited
	case status == http.StatusServiceUnavailable || status == 529:
		return llm.UpstreamOverloaded
	case status >= 500 || status < 400:
		return llm.UpstreamServer
	case status == http.StatusRequestTimeout:
		return llm.UpstreamTimeout
	case has(words, policyWords) || has(message, policyTexts):
		return llm.UpstreamContentPolicy
	case status == http.StatusUnauthorized, status == http.StatusPaymentRequired, status == http.StatusForbidden:
		return llm.UpstreamAuth
	case has(words, keyWords) || has(words, creditWords) || has(message, creditTexts) || has(message, keyTexts):
		return llm.UpstreamAuth
	case has(words, contextWords) || has(message, contextTexts):
		return llm.UpstreamContext
	case status == http.StatusRequestEntityTooLarge && has(words, []string{"rate_limit"}):
		return llm.UpstreamContext // one request above a limit per minute: waiting does not make it smaller
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed, has(words, modelWords):
		return llm.UpstreamNotFound
	}
	return llm.UpstreamInvalid
}

// statusOf guesses the status of an error inside a 2xx answer by its code and type.
func statusOf(words string) int {
	words = strings.ToLower(words)
	for _, row := range insideStatus {
		if has(words, row.words) {
			return row.status
		}
	}
	return http.StatusInternalServerError
}

var insideStatus = []struct {
	status int
	words  []string
}{
	{http.StatusTooManyRequests, []string{"rate_limit", "ratelimit", "too_many_requests", "resource_exhausted", "throttl", "insufficient_quota"}},
	{529, []string{"overload", "unavailable", "capacity"}},
	{http.StatusRequestTimeout, []string{"timeout", "deadline_exceeded"}},
	{http.StatusInternalServerError, []string{"server_error", "internal", "api_error"}},
	{http.StatusUnauthorized, []string{"authentication", "invalid_api_key", "unauthorized", "permission", "unauthenticated", "billing"}},
	{http.StatusNotFound, []string{"not_found"}},
	{http.StatusBadRequest, []string{"invalid", "context_length", "content_filter", "content_policy", "bad_request", "validation", "badrequest"}},
}

// The words by which providers tell what the status does not: codes and types first, then sentences.
var (
	creditWords  = []string{"insufficient_quota", "billing", "payment_required", "insufficient_balance", "insufficient_credits", "credit_limit"}
	creditTexts  = []string{"exceeded your current quota", "credit balance is too low", "insufficient balance", "insufficient credits", "billing hard limit", "out of credits"}
	keyWords     = []string{"invalid_api_key", "api_key_invalid", "authentication_error", "invalid_authentication"}
	keyTexts     = []string{"api key not valid", "invalid api key", "incorrect api key", "api key expired"}
	policyWords  = []string{"content_filter", "content_policy", "responsibleaipolicyviolation", "data_inspection_failed", "moderation", "prompt_blocked", "prohibited_content"}
	policyTexts  = []string{"content management policy", "content policy", "usage policies", "input was flagged", "flagged by moderation", "flagged for"}
	contextWords = []string{"context_length", "context_window", "prompt_too_long", "input_too_long", "context_too_long"}
	contextTexts = []string{
		"maximum context length", "context length", "context window", "context size", "context limit", "prompt is too long",
		"input is too long", "prompt too long", "input too long", "too many tokens", "maximum number of tokens",
		"reduce the length of the messages", "input token count", "longer than the model", "exceeds the model's maximum",
	}
	modelWords = []string{"model_not_found", "deploymentnotfound", "unknown_model", "model_not_available"}
)

func has(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

package gateway

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/llm"
)

// writeError answers with the error's status, headers and body.
func writeError(w http.ResponseWriter, e *llm.Error, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff") // errors quote what callers wrote
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Fairlead-Error-Code", e.Kind.Code())
	h.Set("X-Should-Retry", strconv.FormatBool(e.Retryable()))
	status := e.Status()
	if wait := retryAfter(e, status); wait > 0 {
		h.Set("Retry-After", strconv.Itoa(wait))
	}
	if status == http.StatusRequestEntityTooLarge {
		h.Set("Connection", "close") // the rest of the body is not read
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may be gone; there is nothing else to tell it
}

// retryAfter is whole seconds from 1 to 60 for answers that ask to come back; clients wait as long as they are told.
func retryAfter(e *llm.Error, status int) int {
	asks := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	if !asks || !e.Retryable() {
		return 0
	}
	wait := max(e.RetryAfter, time.Second)
	return int(min(math.Ceil(wait.Seconds()), 60))
}

// errorBody is the error object in the shape the client can read.
func errorBody(r *http.Request, grant *account.Grant, e *llm.Error, requestID string) []byte {
	wanted := r.Header.Get("X-Fairlead-Error-Format")
	if wanted == "" && grant != nil {
		wanted = grant.Key.ErrorFormat
	}
	if wanted == "openai" || (wanted == "" && needsNested(r.UserAgent())) {
		return e.OpenAIBody(requestID)
	}
	return e.Body(requestID)
}

// needsNested reports whether the client is an official Go SDK that cannot parse a sentence in `error` (from 3.53 on).
func needsNested(agent string) bool {
	version, found := strings.CutPrefix(agent, "OpenAI/Go ")
	if !found {
		return false
	}
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return errA == nil && errB == nil && (a > 3 || (a == 3 && b >= 53))
}

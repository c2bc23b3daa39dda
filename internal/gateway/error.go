package gateway

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"fairlead/internal/account"
	"fairlead/internal/llm"
	"fairlead/internal/wire"
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

// ErrorBody returns the error object in the shape that the client of r can read, for an error outside the model API.
func ErrorBody(r *http.Request, e *llm.Error, requestID string) []byte {
	return errorBody(r, nil, nil, e, requestID)
}

// errorBody returns the error object in the shape that the client can read. The header X-Fairlead-Error-Format decides; without
// it the request's format, the key and the client library do, in this order. The default is the flat shape.
func errorBody(r *http.Request, f wire.Format, grant *account.Grant, e *llm.Error, requestID string) []byte {
	shaped, hasShape := f.(wire.ErrorFormat)
	asked := r.Header.Get("X-Fairlead-Error-Format")
	switch {
	case asked == "flat":
		return e.Body(requestID)
	case asked == "openai":
		return e.OpenAIBody(requestID)
	case hasShape:
		return shaped.ErrorBody(e.Body(requestID))
	case grant != nil && grant.Key.ErrorFormat == "openai", needsNested(r.UserAgent()):
		return e.OpenAIBody(requestID)
	default:
		return e.Body(requestID)
	}
}

// needsNested reports whether the client library hides the message of a flat error: openai-go from 3.53 on cannot parse it,
// openai-python from 3 on and the Vercel AI SDK print only the status.
func needsNested(agent string) bool {
	if strings.Contains(agent, "ai-sdk/") {
		return true
	}
	product, version, _ := strings.Cut(agent, " ")
	major, minor := leadingVersion(version)
	switch {
	case product == "OpenAI/Go":
		return major > 3 || (major == 3 && minor >= 53)
	case strings.HasSuffix(product, "OpenAI/Python"): // also AsyncOpenAI and AzureOpenAI
		return major >= 3
	}
	return false
}

// leadingVersion returns the first two numbers of a version; a part that is not a number counts as 0.
func leadingVersion(version string) (major, minor int) {
	parts := strings.SplitN(version, ".", 3)
	major, _ = strconv.Atoi(parts[0])
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	return major, minor
}

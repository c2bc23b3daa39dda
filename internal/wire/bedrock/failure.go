package bedrock

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/fault"
)

// Failure classifies a response that is not 2xx. body may be truncated; now is the time of arrival.
func Failure(status int, h http.Header, body []byte, now time.Time) *llm.Error {
	kind, as := errorType(h, body), status
	switch kind { // the error type is more specific than the HTTP status
	case "ServiceQuotaExceededException", "ThrottlingException", "ModelNotReadyException":
		as = http.StatusTooManyRequests
	case "ModelErrorException": // 424: the model failed
		as = http.StatusInternalServerError
	case "IncompleteSignatureException", "IncompleteSignature", "InvalidClientTokenId", "ExpiredTokenException", "RequestExpired",
		"UnrecognizedClientException", "InvalidSignatureException", "MissingAuthenticationToken":
		as = http.StatusUnauthorized
	}
	message := strings.ToLower(string(body))
	// These messages mean that the account cannot use the model. The credential and the request are valid.
	noAccess := slices.ContainsFunc([]string{
		"don't have access to the model", "model identifier is invalid", "on-demand throughput isn", "model access is denied",
		"is not supported in this region", "reached the end of its life",
	}, func(words string) bool { return strings.Contains(message, words) })
	if as < 500 && noAccess {
		as = http.StatusNotFound
	}
	e := fault.Failure(as, h, withType(body, kind), now)
	e.UpstreamStatus = status
	return e
}

// errorType returns the name of the error from a header or from the body. In the header, a URL may follow the name. In
// the body, a namespace may precede it.
func errorType(h http.Header, body []byte) string {
	name, _, _ := strings.Cut(h.Get("X-Amzn-Errortype"), ":")
	if name != "" {
		return name
	}
	var parsed struct {
		Type string `json:"__type"`
	}
	if decode(body, &parsed) != nil {
		return ""
	}
	return parsed.Type[strings.LastIndexByte(parsed.Type, '#')+1:]
}

// withType adds the type of an error to its body, where package fault expects it.
func withType(body []byte, kind string) []byte {
	var parsed map[string]jsontext.Value
	if kind == "" {
		return body
	}
	if decode(body, &parsed) != nil || parsed == nil {
		parsed = map[string]jsontext.Value{}
		if text := bytes.TrimSpace(body); len(text) > 0 && text[0] != '<' {
			parsed["message"], _ = encode(string(text)) // encoding a string cannot fail
		}
	}
	if parsed["message"] == nil && parsed["Message"] != nil {
		parsed["message"] = parsed["Message"]
	}
	parsed["type"], _ = encode(kind)
	out, err := encode(parsed)
	if err != nil {
		return body
	}
	return out
}

package converse

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"fairlead/internal/llm"
	"fairlead/internal/wire/fault"
)

// Failure classifies a response that is not 2xx. body may be truncated; now is the time of arrival.
func Failure(status int, h http.Header, body []byte, now time.Time) *llm.Error {
	kind := errorType(h, body)
	as := asStatus(status, kind)
	if as < 500 && saysNoModel(strings.ToLower(string(body))) {
		as = http.StatusNotFound
	}
	e := fault.Failure(as, h, withType(body, kind), now)
	e.UpstreamStatus = status
	return e
}

// errorType returns the name of the error: from a header, where a URL may follow it, or from the body, where a
// namespace may precede it.
func errorType(h http.Header, body []byte) string {
	name, _, _ := strings.Cut(h.Get("X-Amzn-Errortype"), ":")
	if name != "" {
		return name
	}
	var said struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	return said.Type[strings.LastIndexByte(said.Type, '#')+1:]
}

// asStatus returns the status that matches the type of the error, because the service's status is not specific enough.
func asStatus(status int, kind string) int {
	switch kind {
	case "ServiceQuotaExceededException", "ThrottlingException", "ModelNotReadyException":
		return http.StatusTooManyRequests
	case "ModelErrorException": // 424: the model failed
		return http.StatusInternalServerError
	case "IncompleteSignatureException", "IncompleteSignature", "InvalidClientTokenId", "ExpiredTokenException", "RequestExpired",
		"UnrecognizedClientException", "InvalidSignatureException", "MissingAuthenticationToken":
		return http.StatusUnauthorized
	}
	return status
}

// saysNoModel reports whether the message says that the account has no access to the model. In this case, neither the
// credential nor the request is invalid.
func saysNoModel(message string) bool {
	for _, words := range []string{
		"don't have access to the model", "model identifier is invalid", "on-demand throughput isn", "model access is denied",
		"is not supported in this region", "reached the end of its life",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// withType adds the type of an error to its body, where package fault expects it.
func withType(body []byte, kind string) []byte {
	var said map[string]json.RawMessage
	if kind == "" {
		return body
	}
	if json.Unmarshal(body, &said) != nil || said == nil {
		said = map[string]json.RawMessage{}
		if text := bytes.TrimSpace(body); len(text) > 0 && text[0] != '<' {
			said["message"], _ = encode(string(text)) // a string always encodes
		}
	}
	if said["message"] == nil && said["Message"] != nil {
		said["message"] = said["Message"]
	}
	said["type"], _ = encode(kind)
	out, err := encode(said)
	if err != nil {
		return body
	}
	return out
}

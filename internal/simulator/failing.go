package simulator

import (
	"fmt"
	"net/http"

	"fairlead.dev/internal/simulator/inprocess"
	"fairlead.dev/internal/simulator/openai"
)

const page = "<!doctype html><html><head><title>SIMULATED maintenance page</title></head><body><h1>Back soon</h1></body></html>\n"

// refusals returns the error responses for the faults that return an error status.
func refusals() map[Fault]openai.Error {
	limit := fmt.Sprintf("SIMULATED: this model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", 8192, 9000)
	return map[Fault]openai.Error{
		Fault401: {Status: http.StatusUnauthorized, Message: "SIMULATED: incorrect API key provided.", Type: openai.InvalidRequest, Code: openai.Optional("invalid_api_key")},
		Fault404: {Status: http.StatusNotFound, Message: "SIMULATED: the model does not exist.", Type: openai.InvalidRequest, Code: openai.Optional("model_not_found")},
		Fault429: {
			Status: http.StatusTooManyRequests, Message: "SIMULATED: rate limit reached for requests.", Type: "requests", Code: openai.Optional("rate_limit_exceeded"),
			Header: map[string]string{"Retry-After": "2", "X-Ratelimit-Remaining-Requests": "0", "X-Ratelimit-Reset-Requests": "2s"},
		},
		Fault500: {Status: http.StatusInternalServerError, Message: "SIMULATED: the server had an error while processing your request.", Type: "server_error"},
		Fault503: {
			Status: http.StatusServiceUnavailable, Message: "SIMULATED: the engine is currently overloaded, please try again later.", Type: "server_error",
			Header: map[string]string{"Retry-After": "1"},
		},
		Fault529:           {Status: 529, Message: "SIMULATED: overloaded.", Type: "overloaded_error"},
		FaultContentFilter: openai.BadRequest("SIMULATED: the response was filtered due to the prompt triggering the content management policy.", "prompt", "content_filter"),
		FaultContextLength: openai.BadRequest(limit, "messages", "context_length_exceeded"),
	}
}

// fail simulates a fault that replaces the normal response, such as an error response, a timeout or a connection reset, and returns true.
// For other faults it does nothing and returns false.
func (s *Simulator) fail(w http.ResponseWriter, r *http.Request, fault Fault, stream bool) bool {
	if refusal, ok := refusals()[fault]; ok {
		writeError(w, refusal)
		return true
	}
	switch fault { // the other faults change a response instead of replacing it
	case FaultTimeout:
		<-r.Context().Done()
	case FaultReset:
		inprocess.Reset(w)
	case FaultEmpty:
		writeRaw(w, openai.ContentType(stream), "")
	case FaultHTML:
		writeRaw(w, "text/html; charset=utf-8", page)
	case FaultGarbage:
		writeRaw(w, openai.ContentType(stream), framed(`{"id":"chatcmpl-sim","choices":[{"delta":{"con`, stream))
	case FaultErrorIn200:
		writeRaw(w, openai.ContentType(stream), framed(errorEvent, stream))
	default:
		return false
	}
	return true
}

const errorEvent = `{"error":{"message":"SIMULATED: the server had an error while processing your request.","type":"server_error","param":null,"code":null}}`

func framed(data string, stream bool) string {
	if stream {
		return "data: " + data + "\n\n"
	}
	return data
}

func writeRaw(w http.ResponseWriter, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write([]byte(body))
}

// writeBody writes a complete body, or the part that the fault allows.
func writeBody(w http.ResponseWriter, r *http.Request, body []byte, fault Fault) {
	switch fault { // the other faults do not affect writing
	case FaultRoleThenError:
		writeRaw(w, openai.JSON, errorEvent)
	case FaultCut, FaultStall:
		writeRaw(w, openai.JSON, string(body[:len(body)/2]))
		_ = http.NewResponseController(w).Flush()
		if fault == FaultStall {
			<-r.Context().Done()
			return
		}
		panic(http.ErrAbortHandler)
	default:
		writeRaw(w, openai.JSON, string(body)+"\n")
	}
}

// fault returns the fault for a call: the fault that the request names in label, otherwise the fault of an active rule.
func (s *Simulator) fault(label, model string) (Fault, error) {
	fault, err := parseFaults(label, model)
	if err != nil || fault != "" {
		return fault, err
	}
	return s.faults.pick(model), nil
}

package realtime

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

const (
	// Protocol is the WebSocket subprotocol of a session.
	Protocol = "realtime"
	// keyProtocol and betaProtocol are prefixes of subprotocols. Browsers cannot set headers on a WebSocket request, so they send the API
	// key and the beta version in subprotocols.
	keyProtocol, betaProtocol = "openai-insecure-api-key.", "openai-beta."
)

// CheckUpgrade returns an error for a request that does not open a WebSocket.
func CheckUpgrade(r *http.Request) error {
	hasToken := func(header, token string) bool {
		return slices.ContainsFunc(offers(r.Header, header), func(s string) bool { return strings.EqualFold(s, token) })
	}
	switch key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(r.Header.Get("Sec-Websocket-Key"))); {
	case r.ProtoMajor != 1 || !hasToken("Connection", "upgrade") || !hasToken("Upgrade", "websocket") || !hasToken("Sec-Websocket-Version", "13"):
		return llm.Errorf(llm.UpgradeRequired, "%s is a WebSocket. Connect with a WebSocket client over HTTP/1.1.", show.Shorten(r.URL.Path))
	case err != nil || len(key) != 16 || len(r.Header.Values("Sec-Websocket-Key")) > 1:
		return strict.Reject(strict.Problem{Param: "Sec-WebSocket-Key", Message: "Sec-WebSocket-Key must be 16 bytes in base64."})
	}
	return nil
}

// offers returns the elements of a comma-separated header.
func offers(h http.Header, name string) []string {
	var all []string
	for _, value := range h.Values(name) {
		for one := range strings.SplitSeq(value, ",") {
			all = append(all, strings.TrimSpace(one))
		}
	}
	return all
}

// WithProtocols returns the request with the API key and the beta version moved from subprotocols to headers. A beta header that the client
// has set takes precedence.
func WithProtocols(r *http.Request) *http.Request {
	moved := r.Clone(r.Context())
	var rest []string
	for _, one := range offers(r.Header, "Sec-Websocket-Protocol") {
		if key, ok := strings.CutPrefix(one, keyProtocol); ok {
			moved.Header.Add("Authorization", "Bearer "+key) // Add, not Set: the request is rejected if it contains different keys
		} else if beta, ok := strings.CutPrefix(one, betaProtocol); ok {
			if moved.Header.Get("Openai-Beta") == "" {
				moved.Header.Set("Openai-Beta", strings.Replace(beta, "-", "=", 1)) // realtime-v1 becomes realtime=v1
			}
		} else {
			rest = append(rest, one)
		}
	}
	moved.Header.Del("Sec-Websocket-Protocol") // the key must not appear in a response or in a log
	if len(rest) > 0 {
		moved.Header.Set("Sec-Websocket-Protocol", strings.Join(rest, ", "))
	}
	return moved
}

// ReadRequest returns the request that a handshake describes. The handshake's query must name the model.
func ReadRequest(r *http.Request, format string) (*llm.Request, error) {
	query := r.URL.Query()
	var problems []strict.Problem
	for name := range query {
		if name != "model" { // other parameters are rejected: call_id, for example, could join a call of another workspace
			problems = append(problems, strict.Problem{Param: show.Shorten(name), Message: fmt.Sprintf("The parameter %s is not supported. Configure the session with session.update.", show.Shorten(name))})
		}
	}
	req := &llm.Request{
		Op: llm.Realtime, Model: query.Get("model"), Payload: llm.Payload{Format: format},
		ResponseOptions: llm.ResponseOptions{Choices: 1},
		Attachments:     llm.Attachments{Unsized: 1},
		Headers:         llm.Headers{Beta: strings.Join(r.Header.Values("Openai-Beta"), ",")},
	}
	if len(query["model"]) != 1 || req.Model == "" {
		problems = append(problems, strict.Problem{Param: "model", Message: "model is required once. Name a model in the query: /realtime?model=NAME."})
	}
	if len(problems) > 0 {
		slices.SortFunc(problems, func(a, b strict.Problem) int { return strings.Compare(a.Param, b.Param) })
		return nil, strict.Reject(problems...)
	}
	if slices.Contains(offers(r.Header, "Sec-Websocket-Protocol"), Protocol) {
		req.Subprotocol = Protocol
	}
	return req, nil
}

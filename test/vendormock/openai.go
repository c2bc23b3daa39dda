package vendormock

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// NewOpenAI returns a mock of the chat completions API. Its base URL ends in /v1.
func NewOpenAI(o Options) *Server { return newServer(&openAI{shapes: loadShapes("openai")}, o) }

// NewAzure returns a mock of the same API as Azure serves it: below /openai/v1, or by deployment with an api-version.
func NewAzure(o Options) *Server {
	return newServer(&openAI{shapes: loadShapes("openai"), azure: true}, o)
}

type openAI struct {
	shapes shapes
	azure  bool
}

// reasoners refuse max_tokens and sampling.
var reasoners = regexp.MustCompile(`^(o\d|gpt-[5-9])`)

var openAIModels = regexp.MustCompile(`^(gpt-|o\d|text-embedding-|chatgpt-)`)

func (a *openAI) routes(s *Server) {
	bases := []string{"/v1"}
	if a.azure {
		bases = []string{"/openai/v1", "/openai/deployments/{deployment}"}
	}
	for _, base := range bases {
		s.mux.HandleFunc("POST "+base+"/chat/completions", s.handle((*visit).converse))
		s.mux.HandleFunc("POST "+base+"/embeddings", s.handle(a.embed))
	}
	s.mux.HandleFunc("GET "+bases[0]+"/models", s.handle(func(v *visit) {
		list := []obj{}
		for _, name := range []string{"gpt-4.1", "gpt-5", "text-embedding-3-small"} {
			list = append(list, obj{"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "openai"})
		}
		writeJSON(v.w, http.StatusOK, "application/json", obj{"object": "list", "data": list})
	}))
}

func (a *openAI) authorize(v *visit) *refusal {
	v.w.Header().Set("x-request-id", "req_"+digest(v.r.URL.Path, string(v.call.Body))[:24])
	h, key := v.r.Header, v.server.options.Key
	given := strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	if a.azure {
		given = or(h.Get("api-key"), given)
		if v.r.PathValue("deployment") != "" && v.r.URL.Query().Get("api-version") == "" {
			return &refusal{status: http.StatusNotFound, kind: "404", message: "Resource not found"}
		}
	}
	if given != key {
		return &refusal{status: http.StatusUnauthorized, kind: "invalid_request_error", message: "Incorrect API key provided.", details: "invalid_api_key"}
	}
	return nil
}

var openAIKinds = map[int]string{
	400: "invalid_request_error", 401: "invalid_request_error", 403: "invalid_request_error", 404: "invalid_request_error",
	429: "requests", 500: "server_error", 503: "server_error",
}

func (a *openAI) overloaded() int { return http.StatusServiceUnavailable }

func (a *openAI) fault(status int) refusal {
	f := refusal{status: status, kind: or(openAIKinds[status], "server_error"), message: http.StatusText(status)}
	if status == http.StatusTooManyRequests {
		f.message, f.details = "Rate limit reached for requests.", "rate_limit_exceeded"
		f.header = map[string]string{
			"retry-after": "7", "retry-after-ms": "7000", "x-ratelimit-limit-requests": "500", "x-ratelimit-remaining-requests": "0",
			"x-ratelimit-reset-requests": "7s", "x-ratelimit-limit-tokens": "30000", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7s",
		}
	}
	return f
}

// refuse writes the error object; what stands in details is its code.
func (a *openAI) refuse(v *visit, why refusal) {
	e := obj{"message": why.message, "type": why.kind, "param": nil, "code": why.details}
	if a.azure && why.details == "content_filter" {
		e["innererror"] = obj{"code": "ResponsibleAIPolicyViolation", "content_filter_result": filterResults(true)}
	}
	writeJSON(v.w, why.status, "application/json", obj{"error": e})
}

func filterResults(filtered bool) obj {
	severity := "safe"
	if filtered {
		severity = "high"
	}
	return obj{"hate": obj{"filtered": false, "severity": "safe"}, "violence": obj{"filtered": filtered, "severity": severity}}
}

func (a *openAI) check(v *visit) *refusal {
	invalid := func(message string) *refusal { return &refusal{status: http.StatusBadRequest, message: message} }
	root := gjson.ParseBytes(v.call.Body)
	if deployment := v.r.PathValue("deployment"); deployment != "" {
		document := v.document.(map[string]any)
		document["model"] = deployment // the path names it; what the body says is not looked at
	}
	if found := a.shapes.check("request", v.document); len(found) > 0 {
		return invalid(a.words(found[0]))
	}
	v.model, _ = v.document.(map[string]any)["model"].(string)
	v.stream = root.Get("stream").Bool()
	if !openAIModels.MatchString(v.model) {
		code := "model_not_found"
		if a.azure {
			code = "DeploymentNotFound"
		}
		return &refusal{status: http.StatusNotFound, message: "The model `" + v.model + "` does not exist or you do not have access to it.", details: code}
	}
	c := a.read(v)
	for _, rule := range openAIRules {
		if message := rule(root, c); message != "" {
			return invalid(message)
		}
	}
	if a.azure && strings.Contains(c.prompt(), "[block]") {
		return &refusal{status: http.StatusBadRequest, message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", details: "content_filter"}
	}
	return nil
}

func (a *openAI) words(p problem) string {
	at := index.ReplaceAllString(p.path, "[$1]")
	switch p.kind {
	case missing:
		return fmt.Sprintf("Missing required parameter: '%s'.", at)
	case unknown:
		return fmt.Sprintf("Unknown parameter: '%s'.", strings.TrimPrefix(at+"."+p.want, "."))
	case wrongType:
		return fmt.Sprintf("Invalid type for '%s': expected %s.", at, p.want)
	case notListed:
		return fmt.Sprintf("Invalid value at '%s'. Supported values are: %s.", at, p.want)
	default:
		return fmt.Sprintf("Invalid '%s': expected %s.", at, p.want)
	}
}

// openAIRules are what the shapes cannot say. A rule returns the vendor's complaint, or nothing.
var openAIRules = []func(root gjson.Result, c *conversation) string{
	func(root gjson.Result, c *conversation) string { // reasoning models
		for _, name := range []string{"max_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "logit_bias", "stop"} {
			value := root.Get(name)
			standard := value.Type == gjson.Null || (name == "temperature" || name == "top_p") && value.Float() == 1
			if reasoners.MatchString(c.model) && !standard {
				return fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name)
			}
		}
		if !reasoners.MatchString(c.model) && root.Get("reasoning_effort").Type == gjson.String {
			return "Unrecognized request argument supplied: reasoning_effort"
		}
		return ""
	},
	func(root gjson.Result, c *conversation) string { // tool messages
		open := map[string]bool{}
		for i, m := range root.Get("messages").Array() {
			if m.Get("role").String() == "tool" {
				id := m.Get("tool_call_id").String()
				if !open[id] {
					return fmt.Sprintf("Invalid parameter: messages[%d] with role 'tool' must be a response to a preceding message with 'tool_calls'.", i)
				}
				delete(open, id)
				continue
			}
			if len(open) > 0 {
				break
			}
			for _, call := range m.Get("tool_calls").Array() {
				open[call.Get("id").String()] = true
			}
		}
		if len(open) > 0 {
			return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
		}
		return ""
	},
	func(root gjson.Result, c *conversation) string { // what only goes together
		switch {
		case root.Get("stream_options").IsObject() && !root.Get("stream").Bool():
			return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
		case len(c.tools) == 0 && (root.Get("tool_choice").Exists() || root.Get("parallel_tool_calls").Exists()):
			return "'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified."
		case c.only != "" && !c.offers(c.only):
			return "Tool choice '" + c.only + "' not found in 'tools' parameter."
		case root.Get("response_format.type").String() == "json_object" && !strings.Contains(strings.ToLower(root.Get("messages").Raw), "json"):
			return "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
		case root.Get("response_format.json_schema.strict").Bool() && openObject(gjson.ParseBytes(c.schema)):
			return "Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false."
		}
		return ""
	},
}

func (a *openAI) read(v *visit) *conversation {
	root := gjson.ParseBytes(v.call.Body)
	choice := root.Get("tool_choice")
	limit := or(root.Get("max_completion_tokens").Int(), root.Get("max_tokens").Int())
	c := &conversation{
		model: v.model, stream: v.stream, limit: int(limit), answers: int(root.Get("n").Int()), callID: "call_",
		must:   choice.String() == "required" || choice.IsObject() && choice.Get("type").String() == "function",
		never:  choice.String() == "none",
		only:   choice.Get("function.name").String(),
		single: root.Get("parallel_tool_calls").Raw == "false",
		json:   root.Get("response_format.type").String() == "json_object",
		think:  reasoners.MatchString(v.model),
	}
	if stop := root.Get("stop"); stop.IsArray() || stop.Type == gjson.String {
		for _, s := range stop.Array() {
			c.stops = append(c.stops, s.String())
		}
	}
	for _, t := range root.Get("tools").Array() {
		c.tools = append(c.tools, tool{name: t.Get("function.name").String(), schema: json.RawMessage(t.Get("function.parameters").Raw)})
	}
	if schema := root.Get("response_format.json_schema.schema"); schema.Exists() {
		c.schema = json.RawMessage(schema.Raw)
	}
	for _, m := range root.Get("messages").Array() {
		switch m.Get("role").String() {
		case "system", "developer":
			c.system = strings.TrimSpace(c.system + " " + turn{parts: chatParts(m.Get("content"))}.text())
		case "tool":
			c.turns = append(c.turns, turn{parts: []part{{kind: result, id: m.Get("tool_call_id").String(), text: turn{parts: chatParts(m.Get("content"))}.text()}}})
		default:
			c.turns = append(c.turns, turn{assistant: m.Get("role").String() == "assistant", parts: append(chatParts(m.Get("content")), chatCalls(m)...)})
		}
	}
	return c
}

func chatParts(content gjson.Result) []part {
	if content.Type == gjson.String {
		return []part{{kind: said, text: content.String()}}
	}
	var list []part
	for _, p := range content.Array() {
		switch p.Get("type").String() {
		case "image_url":
			address := p.Get("image_url.url").String()
			m := part{kind: media, mediaType: address}
			if rest, found := strings.CutPrefix(address, "data:"); found {
				mediaType, data, _ := strings.Cut(rest, ";base64,")
				if decoded, err := picture(mediaType, data); err == nil {
					m = decoded
				}
			}
			list = append(list, m)
		case "text":
			list = append(list, part{kind: said, text: p.Get("text").String()})
		}
	}
	return list
}

func chatCalls(message gjson.Result) []part {
	var list []part
	for _, call := range message.Get("tool_calls").Array() {
		input := call.Get("function.arguments").String()
		list = append(list, part{kind: called, id: call.Get("id").String(), name: call.Get("function.name").String(), input: json.RawMessage(or(input, "{}"))})
	}
	return list
}

func (a *openAI) embed(v *visit) {
	if found := a.shapes.check("embed", v.document); len(found) > 0 {
		v.refuse(refusal{status: http.StatusBadRequest, message: a.words(found[0])})
		return
	}
	root := gjson.ParseBytes(v.call.Body)
	v.call.Model = root.Get("model").String()
	count, data := 0, []obj{}
	for i, input := range root.Get("input").Array() {
		count += tokens(len(input.Raw))
		values := vector(input.Raw, or(int(root.Get("dimensions").Int()), 1536))
		embedding := any(values)
		if root.Get("encoding_format").String() == "base64" {
			var raw []byte
			for _, value := range values {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(value)))
			}
			embedding = base64.StdEncoding.EncodeToString(raw)
		}
		data = append(data, obj{"object": "embedding", "index": i, "embedding": embedding})
	}
	writeJSON(v.w, http.StatusOK, "application/json", obj{
		"object": "list", "model": v.call.Model, "data": data, "usage": obj{"prompt_tokens": count, "total_tokens": count},
	})
}

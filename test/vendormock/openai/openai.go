// Package openai imitates the OpenAI API (chat completions and responses) and its Azure variant for tests.
package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/test/vendormock"
)

// New returns a mock of both APIs. Its base URL ends in /v1.
func New(o vendormock.Options) *vendormock.Server { return vendormock.NewServer(newDialect(false), o) }

// NewAzure returns a mock of the same API as served by Azure: under /openai/v1, or by deployment with an api-version.
func NewAzure(o vendormock.Options) *vendormock.Server {
	return vendormock.NewServer(newDialect(true), o)
}

type openAI struct {
	shapes    vendormock.Shapes // shapes written by hand, with limits
	chat      vendormock.Shapes // shapes generated from the vendor's package
	responses vendormock.Shapes // shapes generated from the vendor's package
	azure     bool
}

func newDialect(azure bool) *openAI {
	return &openAI{
		shapes: vendormock.LoadShapes("openai"), chat: vendormock.LoadShapes("openai-chat"), responses: vendormock.LoadShapes("openai-responses"),
		azure: azure,
	}
}

// onResponses reports whether a request is for the Responses API.
func onResponses(v *vendormock.Request) bool { return strings.HasSuffix(v.HTTP.URL.Path, "/responses") }

func (a *openAI) Routes(s *vendormock.Server) {
	bases := []string{"/v1"}
	if a.azure {
		bases = []string{"/openai/v1", "/openai/deployments/{deployment}"}
	}
	for _, base := range bases {
		s.Mux.HandleFunc("POST "+base+"/chat/completions", s.Handle((*vendormock.Request).Converse))
		s.Mux.HandleFunc("POST "+base+"/embeddings", s.Handle(a.embed))
	}
	if !a.azure {
		(&batches{files: map[string]storedFile{}, jobs: map[string]vendormock.Object{}}).routes(s)
	}
	for _, base := range bases[:1] {
		s.Mux.HandleFunc("POST "+base+"/responses", s.Handle((*vendormock.Request).Converse))
	}
	s.Mux.HandleFunc("GET "+bases[0]+"/models", s.Handle(func(v *vendormock.Request) {
		list := []vendormock.Object{}
		for _, name := range []string{"gpt-4.1", "gpt-5", "text-embedding-3-small"} {
			list = append(list, vendormock.Object{"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "openai"})
		}
		vendormock.WriteJSON(v.Writer, http.StatusOK, "application/json", vendormock.Object{"object": "list", "data": list})
	}))
}

func (a *openAI) Authorize(v *vendormock.Request) *vendormock.Rejection {
	v.Writer.Header().Set("x-request-id", "req_"+vendormock.Digest(v.HTTP.URL.Path, string(v.Call.Body))[:24])
	h, key := v.HTTP.Header, v.Server.Options.Key
	given := strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
	if a.azure {
		given = cmp.Or(h.Get("api-key"), given)
		if v.HTTP.PathValue("deployment") != "" && v.HTTP.URL.Query().Get("api-version") == "" {
			return &vendormock.Rejection{Status: http.StatusNotFound, Kind: "404", Message: "Resource not found"}
		}
	}
	if given != key {
		return &vendormock.Rejection{Status: http.StatusUnauthorized, Kind: "invalid_request_error", Message: "Incorrect API key provided.", Details: "invalid_api_key"}
	}
	return nil
}

var openAIKinds = map[int]string{
	400: "invalid_request_error", 401: "invalid_request_error", 403: "invalid_request_error", 404: "invalid_request_error",
	429: "requests", 500: "server_error", 503: "server_error",
}

func (a *openAI) Overloaded() int { return http.StatusServiceUnavailable }

func (a *openAI) Fault(status int) vendormock.Rejection {
	f := vendormock.Rejection{Status: status, Kind: cmp.Or(openAIKinds[status], "server_error"), Message: http.StatusText(status)}
	if status == http.StatusTooManyRequests {
		f.Message, f.Details = "Rate limit reached for requests.", "rate_limit_exceeded"
		f.Header = map[string]string{
			"retry-after": "7", "retry-after-ms": "7000", "x-ratelimit-limit-requests": "500", "x-ratelimit-remaining-requests": "0",
			"x-ratelimit-reset-requests": "7s", "x-ratelimit-limit-tokens": "30000", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "7s",
		}
	}
	return f
}

// Refuse writes the error object. why.Details is the code in the error object.
func (a *openAI) Refuse(v *vendormock.Request, why vendormock.Rejection) {
	e := vendormock.Object{"message": why.Message, "type": why.Kind, "param": nil, "code": why.Details}
	if a.azure && why.Details == "content_filter" {
		e["innererror"] = vendormock.Object{"code": "ResponsibleAIPolicyViolation", "content_filter_result": filterResults(true)}
	}
	vendormock.WriteJSON(v.Writer, why.Status, "application/json", vendormock.Object{"error": e})
}

func filterResults(filtered bool) vendormock.Object {
	severity := "safe"
	if filtered {
		severity = "high"
	}
	return vendormock.Object{"hate": vendormock.Object{"filtered": false, "severity": "safe"}, "violence": vendormock.Object{"filtered": filtered, "severity": severity}}
}

func (a *openAI) Check(v *vendormock.Request) *vendormock.Rejection {
	invalid := func(message string) *vendormock.Rejection {
		return &vendormock.Rejection{Status: http.StatusBadRequest, Message: message}
	}
	root := gjson.ParseBytes(v.Call.Body)
	if deployment := v.HTTP.PathValue("deployment"); deployment != "" {
		document := v.Document.(map[string]any)
		document["model"] = deployment // the path names the model, and the model in the body is ignored
	}
	if found := a.checkShape(v); len(found) > 0 {
		return invalid(a.problemMessage(found[0]))
	}
	v.Model, _ = v.Document.(map[string]any)["model"].(string)
	v.Stream = root.Get("stream").Bool()
	if v.Model == "" {
		return invalid("Missing required parameter: 'model'.")
	}
	traits := findFamily(v.Model)
	if traits == nil {
		code := "model_not_found"
		if a.azure {
			code = "DeploymentNotFound"
		}
		return &vendormock.Rejection{Status: http.StatusNotFound, Message: "The model `" + v.Model + "` does not exist or you do not have access to it.", Details: code}
	}
	if traits.responsesOnly && !onResponses(v) {
		return &vendormock.Rejection{Status: http.StatusNotFound, Message: "This is not a chat model and thus not supported in the v1/chat/completions endpoint."}
	}
	c := a.Read(v)
	rules := chatRules
	if onResponses(v) {
		rules = responsesRules
	}
	for _, rule := range rules {
		if message := rule(request{server: v.Server, root: root, traits: traits, c: c}); message != "" {
			return invalid(message)
		}
	}
	if a.azure && strings.Contains(c.Prompt(), "[block]") {
		return &vendormock.Rejection{Status: http.StatusBadRequest, Message: "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.", Details: "content_filter"}
	}
	return nil
}

// checkShape checks the body against the types in the vendor's package and, for chat completions, against the limits.
func (a *openAI) checkShape(v *vendormock.Request) []vendormock.Problem {
	if onResponses(v) {
		dropUndocumented(v.Document)
		return a.responses.Check("request", v.Document)
	}
	if found := a.shapes.Check("request", v.Document); len(found) > 0 {
		return found
	}
	return a.chat.Check("request", v.Document)
}

// dropUndocumented removes members that the vendor's own coding agent sends although the vendor's package does not describe them: client
// metadata, IDs of input messages, reasoning items whose content is null, and the status of custom tool calls.
func dropUndocumented(document any) {
	root, _ := document.(map[string]any)
	delete(root, "client_metadata")
	items, _ := root["input"].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok && m["role"] != nil && m["role"] != "assistant" {
			delete(m, "id")
		} else if ok && m["type"] == "reasoning" && m["content"] == nil {
			delete(m, "content")
		} else if ok && m["type"] == "custom_tool_call" {
			delete(m, "status")
		}
	}
}

func (a *openAI) problemMessage(p vendormock.Problem) string {
	at := vendormock.Index.ReplaceAllString(p.Path, "[$1]")
	switch p.Kind {
	case vendormock.Missing:
		return fmt.Sprintf("Missing required parameter: '%s'.", at)
	case vendormock.Unknown:
		return fmt.Sprintf("Unknown parameter: '%s'.", strings.TrimPrefix(at+"."+p.Want, "."))
	case vendormock.WrongType:
		return fmt.Sprintf("Invalid type for '%s': expected %s.", at, p.Want)
	case vendormock.NotListed:
		return fmt.Sprintf("Invalid value at '%s'. Supported values are: %s.", at, p.Want)
	default:
		return fmt.Sprintf("Invalid '%s': expected %s.", at, p.Want)
	}
}

// request is a request with a valid shape.
type request struct {
	server *vendormock.Server
	root   gjson.Result
	traits *family
	c      *vendormock.Conversation
}

// chatRules lists rules that the shapes cannot express. A rule returns the vendor's error message, or "".
var chatRules = []func(q request) string{
	chatReasoning, chatVerbosity, chatResults, chatTogether,
}

func chatReasoning(q request) string {
	effort := q.root.Get("reasoning_effort")
	if q.traits.reasons() && q.root.Get("max_tokens").Type != gjson.Null {
		return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	}
	if q.traits.reasons() && q.root.Get("stop").Type != gjson.Null {
		return "Unsupported parameter: 'stop' is not supported with this model."
	}
	for _, name := range []string{"temperature", "top_p", "presence_penalty", "frequency_penalty", "logprobs", "top_logprobs", "logit_bias"} {
		value := q.root.Get(name)
		standard := value.Type == gjson.Null || (name == "temperature" || name == "top_p") && value.Float() == 1
		if !q.traits.samples(effort.String()) && !standard {
			return fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name)
		}
	}
	switch {
	case effort.Type != gjson.String:
	case !q.traits.reasons():
		return "Unrecognized request argument supplied: reasoning_effort"
	case !slices.Contains(q.traits.efforts, effort.String()):
		return q.effortMessage("reasoning_effort", effort.String())
	}
	if q.traits.toolsNeedResponses && q.root.Get(`tools.#(type=="function")`).Exists() && effort.String() != "none" {
		return fmt.Sprintf("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "+
			"To use function tools, use /v1/responses or set reasoning_effort to 'none'.", q.c.Model)
	}
	return ""
}

func (q request) effortMessage(name, value string) string {
	return fmt.Sprintf("Unsupported value: '%s' does not support '%s' with this model. Supported values are: '%s'.", name, value,
		strings.Join(q.traits.efforts, "', '"))
}

func chatVerbosity(q request) string { return q.verbosity("verbosity") }

// verbosity checks the verbosity at path, and that the model supports prompt cache breakpoints if the request has any.
func (q request) verbosity(path string) string {
	if v := q.root.Get(path); v.Type == gjson.String && v.String() != "medium" && !q.traits.verbosity {
		return fmt.Sprintf("Unsupported value: '%s' is not supported with the '%s' model. Supported values are: 'medium'.", v, q.c.Model)
	}
	if !q.traits.breakpoints && strings.Contains(q.root.Raw, `"prompt_cache_breakpoint"`) {
		return "Unsupported parameter: 'prompt_cache_breakpoint' is not supported with this model."
	}
	return ""
}

func chatResults(q request) string {
	open := map[string]bool{}
	for i, m := range q.root.Get("messages").Array() {
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
}

// chatTogether checks members that are allowed only together with other members.
func chatTogether(q request) string {
	switch {
	case q.root.Get("stream_options").IsObject() && !q.root.Get("stream").Bool():
		return "The 'stream_options' parameter is only allowed when 'stream' is enabled."
	case len(q.c.Tools) == 0 && (q.root.Get("tool_choice").Exists() || q.root.Get("parallel_tool_calls").Exists()):
		return "'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified."
	case q.c.Only != "" && !q.c.Offers(q.c.Only):
		return "Tool choice '" + q.c.Only + "' not found in 'tools' parameter."
	case q.root.Get("response_format.type").String() == "json_object" && !strings.Contains(strings.ToLower(q.root.Get("messages").Raw), "json"):
		return "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
	case q.root.Get("response_format.json_schema.strict").Bool() && vendormock.OpenObject(gjson.ParseBytes(q.c.Schema)):
		return "Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false."
	}
	return ""
}

func (a *openAI) Read(v *vendormock.Request) *vendormock.Conversation {
	if onResponses(v) {
		return readResponses(v)
	}
	root := gjson.ParseBytes(v.Call.Body)
	choice := root.Get("tool_choice")
	limit := cmp.Or(root.Get("max_completion_tokens").Int(), root.Get("max_tokens").Int())
	c := &vendormock.Conversation{
		Model: v.Model, Stream: v.Stream, Limit: int(limit), Answers: int(root.Get("n").Int()), CallID: "call_",
		Must:   choice.String() == "required" || choice.Get("function").Exists() || choice.Get("custom").Exists() || choice.Get("allowed_tools.mode").String() == "required",
		Never:  choice.String() == "none",
		Only:   cmp.Or(choice.Get("function.name").String(), choice.Get("custom.name").String()),
		Single: root.Get("parallel_tool_calls").Raw == "false",
		JSON:   root.Get("response_format.type").String() == "json_object",
		Think:  findFamily(v.Model).reasons() && root.Get("reasoning_effort").String() != "none",
	}
	if stop := root.Get("stop"); stop.IsArray() || stop.Type == gjson.String {
		for _, s := range stop.Array() {
			c.Stops = append(c.Stops, s.String())
		}
	}
	for _, t := range root.Get("tools").Array() {
		tool := vendormock.Tool{Name: t.Get("function.name").String(), Schema: json.RawMessage(t.Get("function.parameters").Raw)}
		if t.Get("custom").Exists() {
			tool = vendormock.Tool{Name: t.Get("custom.name").String(), Custom: true}
		}
		c.Tools = append(c.Tools, tool)
	}
	if schema := root.Get("response_format.json_schema.schema"); schema.Exists() {
		c.Schema = json.RawMessage(schema.Raw)
	}
	for _, m := range root.Get("messages").Array() {
		switch m.Get("role").String() {
		case "system", "developer":
			c.System = strings.TrimSpace(c.System + " " + vendormock.Turn{Parts: chatParts(m.Get("content"))}.Text())
		case "tool":
			c.Turns = append(c.Turns, vendormock.Turn{Parts: []vendormock.Part{{Kind: vendormock.ResultPart, ID: m.Get("tool_call_id").String(), Text: vendormock.Turn{Parts: chatParts(m.Get("content"))}.Text()}}})
		default:
			c.Turns = append(c.Turns, vendormock.Turn{Assistant: m.Get("role").String() == "assistant", Parts: append(chatParts(m.Get("content")), chatCalls(m)...)})
		}
	}
	return c
}

func chatParts(content gjson.Result) []vendormock.Part {
	if content.Type == gjson.String {
		return []vendormock.Part{{Kind: vendormock.TextPart, Text: content.String()}}
	}
	var list []vendormock.Part
	for _, p := range content.Array() {
		switch p.Get("type").String() {
		case "image_url":
			address := p.Get("image_url.url").String()
			m := vendormock.Part{Kind: vendormock.MediaPart, MediaType: address}
			if rest, found := strings.CutPrefix(address, "data:"); found {
				mediaType, data, _ := strings.Cut(rest, ";base64,")
				if decoded, err := vendormock.Picture(mediaType, data); err == nil {
					m = decoded
				}
			}
			list = append(list, m)
		case "text":
			list = append(list, vendormock.Part{Kind: vendormock.TextPart, Text: p.Get("text").String()})
		}
	}
	return list
}

func chatCalls(message gjson.Result) []vendormock.Part {
	var list []vendormock.Part
	for _, call := range message.Get("tool_calls").Array() {
		if custom := call.Get("custom"); custom.Exists() {
			list = append(list, vendormock.Part{Kind: vendormock.CallPart, ID: call.Get("id").String(), Name: custom.Get("name").String(), Custom: true, Input: json.RawMessage(custom.Get("input").String())})
			continue
		}
		input := call.Get("function.arguments").String()
		list = append(list, vendormock.Part{Kind: vendormock.CallPart, ID: call.Get("id").String(), Name: call.Get("function.name").String(), Input: json.RawMessage(cmp.Or(input, "{}"))})
	}
	return list
}

func (a *openAI) embed(v *vendormock.Request) {
	if found := a.shapes.Check("embed", v.Document); len(found) > 0 {
		v.Refuse(vendormock.Rejection{Status: http.StatusBadRequest, Message: a.problemMessage(found[0])})
		return
	}
	root := gjson.ParseBytes(v.Call.Body)
	v.Call.Model = root.Get("model").String()
	count, data := 0, []vendormock.Object{}
	for i, input := range root.Get("input").Array() {
		count += vendormock.Tokens(len(input.Raw))
		values := vendormock.Vector(input.Raw, cmp.Or(int(root.Get("dimensions").Int()), 1536))
		embedding := any(values)
		if root.Get("encoding_format").String() == "base64" {
			var raw []byte
			for _, value := range values {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(value)))
			}
			embedding = base64.StdEncoding.EncodeToString(raw)
		}
		data = append(data, vendormock.Object{"object": "embedding", "index": i, "embedding": embedding})
	}
	vendormock.WriteJSON(v.Writer, http.StatusOK, "application/json", vendormock.Object{
		"object": "list", "model": v.Call.Model, "data": data, "usage": vendormock.Object{"prompt_tokens": count, "total_tokens": count},
	})
}

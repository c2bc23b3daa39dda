// Package gemini imitates the Gemini API for tests.
package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/test/vendormock"
)

// New returns a mock of the Gemini API. Its base URL has no path; clients add /v1beta or /v1.
func New(o vendormock.Options) *vendormock.Server {
	return vendormock.NewServer(&gemini{shapes: vendormock.LoadShapes("gemini"), types: vendormock.LoadShapes("gemini-generate")}, o)
}

type gemini struct {
	shapes vendormock.Shapes // shapes written by hand, with types and limits
	types  vendormock.Shapes // shapes generated from the vendor's package, with member names
}

// geminiTraits describes what a family of models accepts.
type geminiTraits struct {
	names      *regexp.Regexp
	level      bool // whether reasoning with a level is accepted
	budget     bool // whether reasoning with a token budget is accepted
	signatures bool // whether calls must be sent back with their signatures
	callIDs    bool
	toolsJSON  bool // whether tools and JSON are accepted in one request
	noSystem   bool
	embeds     bool
}

// geminis lists the families. A model belongs to the first row whose pattern matches its name.
var geminis = []geminiTraits{
	{names: regexp.MustCompile(`embedding`), embeds: true},
	{names: regexp.MustCompile(`^gemini-2\.0`)},
	{names: regexp.MustCompile(`^gemini-2\.5`), budget: true},
	{names: regexp.MustCompile(`^gemini-[3-9]`), level: true, budget: true, signatures: true, callIDs: true, toolsJSON: true},
	{names: regexp.MustCompile(`^gemma-`), noSystem: true},
}

func findGemini(model string) *geminiTraits {
	for i, row := range geminis {
		if row.names.MatchString(model) {
			return &geminis[i]
		}
	}
	return nil
}

func (g *gemini) Routes(s *vendormock.Server) {
	for _, version := range []string{"/v1beta", "/v1"} {
		s.Mux.HandleFunc("GET "+version+"/models", s.Handle(g.models))
		s.Mux.HandleFunc("POST "+version+"/models/{call}", s.Handle(g.serve))
	}
}

// serve handles the method after the colon in the last segment of the path.
func (g *gemini) serve(v *vendormock.Request) {
	model, method, _ := strings.Cut(v.HTTP.PathValue("call"), ":")
	v.Model, v.Document = model, vendormock.DropNulls(v.Document)
	serve, ok := map[string]func(*vendormock.Request){
		"generateContent":       (*vendormock.Request).Converse,
		"streamGenerateContent": func(v *vendormock.Request) { v.Stream = true; v.Converse() },
		"embedContent":          g.embedOne,
		"batchEmbedContents":    g.embedMany,
	}[method]
	if !ok {
		v.Refuse(vendormock.Rejection{Status: http.StatusNotFound, Message: "Requested entity was not found."})
		return
	}
	if traits := findGemini(model); traits == nil || traits.embeds != strings.Contains(method, "mbed") {
		v.Refuse(vendormock.Rejection{Status: http.StatusNotFound, Message: fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for %s. "+
			"Call ListModels to see the list of available models and their supported methods.", model, method)})
		return
	}
	v.Document = g.shapes.Camel(map[string]string{"embedContent": "embed", "batchEmbedContents": "batchEmbed"}[method], v.Document)
	v.Raw = vendormock.Encode(v.Document)
	serve(v)
}

func (g *gemini) Authorize(v *vendormock.Request) *vendormock.Rejection {
	key := cmp.Or(v.HTTP.Header.Get("x-goog-api-key"), v.HTTP.URL.Query().Get("key"))
	switch key {
	case v.Server.Options.Key:
		return nil
	case "":
		return &vendormock.Rejection{Status: http.StatusForbidden, Message: "Method doesn't allow unregistered callers (callers without established identity). " +
			"Please use API Key or other form of API consumer identity to call this API."}
	}
	return &vendormock.Rejection{Status: http.StatusBadRequest, Message: "API key not valid. Please pass a valid API key.", Details: []vendormock.Object{{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
	}}}
}

var geminiKinds = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
	499: "CANCELLED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func (g *gemini) Overloaded() int { return http.StatusServiceUnavailable }

func (g *gemini) Fault(status int) vendormock.Rejection {
	f := vendormock.Rejection{Status: status, Kind: cmp.Or(geminiKinds[status], "UNKNOWN"), Message: http.StatusText(status)}
	switch status {
	case http.StatusTooManyRequests:
		f.Message = "You exceeded your current quota, please check your plan and billing details. Please retry in 7.5s."
		f.Details = []vendormock.Object{
			{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []vendormock.Object{{
				"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
				"quotaId":     "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "quotaValue": "10",
			}}},
			{"@type": "type.googleapis.com/google.rpc.Help", "links": []vendormock.Object{{
				"description": "Learn more about Gemini API quotas", "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
			}}},
			{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"},
		}
	case http.StatusServiceUnavailable:
		f.Message = "The model is overloaded. Please try again later."
	}
	return f
}

func (g *gemini) Refuse(v *vendormock.Request, why vendormock.Rejection) {
	e := vendormock.Object{"code": why.Status, "message": why.Message, "status": why.Kind}
	if why.Details != nil {
		e["details"] = why.Details
	}
	body := any(vendormock.Object{"error": e})
	if v.Stream && v.HTTP.URL.Query().Get("alt") != "sse" {
		body = []any{body}
	}
	vendormock.WriteJSON(v.Writer, why.Status, "application/json; charset=UTF-8", body)
}

func (g *gemini) Check(v *vendormock.Request) *vendormock.Rejection {
	if why := g.checkShape(v, "request"); why != nil {
		return why
	}
	q := &geminiRequest{server: v.Server, root: gjson.ParseBytes(v.Raw), traits: findGemini(v.Model), c: g.Read(v)}
	for _, rule := range geminiRules {
		if message := rule(q); message != "" {
			return &vendormock.Rejection{Status: http.StatusBadRequest, Message: message}
		}
	}
	return nil
}

// checkShape rejects requests with unknown or mistyped members. Like the vendor's JSON parser, it reports all problems in one
// error.
func (g *gemini) checkShape(v *vendormock.Request, name string) *vendormock.Rejection {
	found := g.shapes.Check(name, v.Document)
	if len(found) == 0 && name == "request" {
		found = g.types.Check(name, v.Document)
	}
	if len(found) == 0 {
		return nil
	}
	var lines []string
	var violations []vendormock.Object
	for _, p := range found {
		line := g.problemMessage(p)
		lines = append(lines, line)
		violations = append(violations, vendormock.Object{"field": snake(p.Path), "description": line})
	}
	return &vendormock.Rejection{
		Status: http.StatusBadRequest, Message: strings.Join(lines, "\n"),
		Details: []vendormock.Object{{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}},
	}
}

func (g *gemini) problemMessage(p vendormock.Problem) string {
	at := snake(p.Path)
	switch p.Kind {
	case vendormock.Unknown:
		if at == "" {
			return fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot find field.", p.Want)
		}
		return fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", p.Want, at)
	case vendormock.WrongType, vendormock.NotListed, vendormock.NoMatch:
		return fmt.Sprintf("Invalid value at '%s' (%s)", at, p.Want)
	case vendormock.NotOne:
		return fmt.Sprintf("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", at)
	default:
		return fmt.Sprintf("* GenerateContentRequest.%s: must be %s", at, p.Want)
	}
}

var upper = regexp.MustCompile(`[A-Z]`)

// snake formats a path as in the vendor's errors: contents[0].inline_data.
func snake(path string) string {
	path = vendormock.Index.ReplaceAllString(path, "[$1]")
	return upper.ReplaceAllStringFunc(path, func(s string) string { return "_" + strings.ToLower(s) })
}

func (g *gemini) Read(v *vendormock.Request) *vendormock.Conversation {
	root := gjson.ParseBytes(v.Raw)
	config := root.Get("generationConfig")
	calling := root.Get("toolConfig.functionCallingConfig")
	c := &vendormock.Conversation{
		Model: v.Model, Stream: v.Stream, Limit: int(config.Get("maxOutputTokens").Int()), Answers: int(config.Get("candidateCount").Int()),
		Think:    config.Get("thinkingConfig.includeThoughts").Bool(),
		Must:     calling.Get("mode").String() == "ANY",
		Never:    calling.Get("mode").String() == "NONE",
		JSON:     config.Get("responseMimeType").String() == "application/json",
		SignCall: findGemini(v.Model).signatures || config.Get("thinkingConfig").Exists(),
		Prefix:   geminiPrefix(root),
	}
	if names := calling.Get("allowedFunctionNames").Array(); c.Must && len(names) == 1 {
		c.Only = names[0].String()
	}
	c.Schema = geminiSchema(config.Get("responseSchema"), config.Get("responseJsonSchema"))
	for _, s := range config.Get("stopSequences").Array() {
		c.Stops = append(c.Stops, s.String())
	}
	c.System = vendormock.Turn{Parts: geminiParts(root.Get("systemInstruction"))}.Text()
	for _, t := range root.Get("tools").Array() {
		for _, d := range t.Get("functionDeclarations").Array() {
			c.Tools = append(c.Tools, vendormock.Tool{Name: d.Get("name").String(), Schema: geminiSchema(d.Get("parameters"), d.Get("parametersJsonSchema"))})
		}
	}
	for _, content := range root.Get("contents").Array() {
		c.Turns = append(c.Turns, vendormock.Turn{Assistant: content.Get("role").String() == "model", Parts: geminiParts(content)})
	}
	return c
}

// geminiPrefix returns the prefix that the vendor caches implicitly: everything before the last content, or "" if this prefix is short.
func geminiPrefix(root gjson.Result) string {
	contents := root.Get("contents").Array()
	text := root.Get("systemInstruction").Raw
	for i, content := range contents {
		if i < len(contents)-1 {
			text += content.Raw
		}
	}
	const worthwhile = 4096
	if len(text) < worthwhile {
		return ""
	}
	return text
}

// geminiSchema returns a schema as JSON Schema. The request contains either own, in the vendor's format, or plain, which is already
// JSON Schema.
func geminiSchema(own, plain gjson.Result) json.RawMessage {
	if plain.Exists() {
		return json.RawMessage(plain.Raw)
	}
	if !own.Exists() {
		return nil
	}
	return json.RawMessage(typeWord.ReplaceAllStringFunc(own.Raw, strings.ToLower))
}

var typeWord = regexp.MustCompile(`"type"\s*:\s*"[A-Z]+"`)

func geminiParts(content gjson.Result) []vendormock.Part {
	var list []vendormock.Part
	for _, p := range content.Get("parts").Array() {
		signature := plainBase64(p.Get("thoughtSignature").String())
		switch {
		case p.Get("functionCall").Exists():
			call := p.Get("functionCall")
			input := call.Get("args").Raw
			list = append(list, vendormock.Part{Kind: vendormock.CallPart, ID: call.Get("id").String(), Name: call.Get("name").String(), Input: json.RawMessage(cmp.Or(input, "{}")), Signature: signature})
		case p.Get("functionResponse").Exists():
			answer := p.Get("functionResponse")
			list = append(list, vendormock.Part{
				Kind: vendormock.ResultPart, ID: answer.Get("id").String(), Name: answer.Get("name").String(),
				Text: geminiResult(answer.Get("response")), Failed: answer.Get("response.error").Exists(),
			})
		case p.Get("inlineData").Exists():
			data := p.Get("inlineData")
			m, err := vendormock.Picture(data.Get("mimeType").String(), plainBase64(data.Get("data").String()))
			if err != nil { // a rule rejects it later
				m = vendormock.Part{Kind: vendormock.MediaPart, MediaType: data.Get("mimeType").String()}
			}
			list = append(list, m)
		case p.Get("fileData").Exists():
			list = append(list, vendormock.Part{Kind: vendormock.MediaPart, MediaType: p.Get("fileData.mimeType").String()})
		case p.Get("thought").Bool():
			list = append(list, vendormock.Part{Kind: vendormock.ThinkingPart, Text: p.Get("text").String(), Signature: signature})
		default:
			list = append(list, vendormock.Part{Kind: vendormock.TextPart, Text: p.Get("text").String(), Signature: signature})
		}
	}
	return list
}

// geminiResult returns the text of a tool's response: its only member if that has a common name, otherwise the complete JSON.
func geminiResult(response gjson.Result) string {
	for _, name := range []string{"output", "result", "error", "content"} {
		if member := response.Get(name); member.Exists() && len(response.Map()) == 1 {
			return member.String()
		}
	}
	return vendormock.Compact(json.RawMessage(response.Raw))
}

// plainBase64 converts base64 to the standard alphabet. The vendor accepts both alphabets, and its clients send the
// URL-safe one.
func plainBase64(text string) string {
	if text == skipSignature {
		return text
	}
	return strings.NewReplacer("-", "+", "_", "/").Replace(text)
}

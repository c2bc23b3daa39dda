package vendormock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// NewGemini returns a mock of the Gemini API. Its base URL has no path; clients add /v1beta or /v1.
func NewGemini(o Options) *Server { return newServer(&gemini{shapes: loadShapes("gemini")}, o) }

type gemini struct{ shapes shapes }

// geminiTraits is what a family of models accepts.
type geminiTraits struct {
	names      *regexp.Regexp
	level      bool // reasoning by a word
	budget     bool // reasoning by a number of tokens
	signatures bool // calls must come back with theirs
	callIDs    bool
	toolsJSON  bool // tools and JSON in one request
	noSystem   bool
	embeds     bool
}

// geminis are looked up by name, the first row wins.
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

func (g *gemini) routes(s *Server) {
	for _, version := range []string{"/v1beta", "/v1"} {
		s.mux.HandleFunc("GET "+version+"/models", s.handle(g.models))
		s.mux.HandleFunc("POST "+version+"/models/{call}", s.handle(g.serve))
	}
}

// serve does what stands behind the colon in the last piece of the path.
func (g *gemini) serve(v *visit) {
	model, method, _ := strings.Cut(v.r.PathValue("call"), ":")
	v.model, v.document = model, dropNulls(v.document)
	serve, ok := map[string]func(*visit){
		"generateContent":       (*visit).converse,
		"streamGenerateContent": func(v *visit) { v.stream = true; v.converse() },
		"embedContent":          g.embedOne,
		"batchEmbedContents":    g.embedMany,
	}[method]
	if !ok {
		v.refuse(refusal{status: http.StatusNotFound, message: "Requested entity was not found."})
		return
	}
	if traits := findGemini(model); traits == nil || traits.embeds != strings.Contains(method, "mbed") {
		v.refuse(refusal{status: http.StatusNotFound, message: fmt.Sprintf("models/%s is not found for API version v1beta, or is not supported for %s. "+
			"Call ListModels to see the list of available models and their supported methods.", model, method)})
		return
	}
	v.document = g.shapes.camel(map[string]string{"embedContent": "embed", "batchEmbedContents": "batchEmbed"}[method], v.document)
	v.raw = encode(v.document)
	serve(v)
}

func (g *gemini) authorize(v *visit) *refusal {
	key := or(v.r.Header.Get("x-goog-api-key"), v.r.URL.Query().Get("key"))
	switch key {
	case v.server.options.Key:
		return nil
	case "":
		return &refusal{status: http.StatusForbidden, message: "Method doesn't allow unregistered callers (callers without established identity). " +
			"Please use API Key or other form of API consumer identity to call this API."}
	}
	return &refusal{status: http.StatusBadRequest, message: "API key not valid. Please pass a valid API key.", details: []obj{{
		"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
	}}}
}

var geminiKinds = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
	499: "CANCELLED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func (g *gemini) overloaded() int { return http.StatusServiceUnavailable }

func (g *gemini) fault(status int) refusal {
	f := refusal{status: status, kind: or(geminiKinds[status], "UNKNOWN"), message: http.StatusText(status)}
	switch status {
	case http.StatusTooManyRequests:
		f.message = "You exceeded your current quota, please check your plan and billing details. Please retry in 7.5s."
		f.details = []obj{
			{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": []obj{{
				"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
				"quotaId":     "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "quotaValue": "10",
			}}},
			{"@type": "type.googleapis.com/google.rpc.Help", "links": []obj{{
				"description": "Learn more about Gemini API quotas", "url": "https://ai.google.dev/gemini-api/docs/rate-limits",
			}}},
			{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"},
		}
	case http.StatusServiceUnavailable:
		f.message = "The model is overloaded. Please try again later."
	}
	return f
}

func (g *gemini) refuse(v *visit, why refusal) {
	e := obj{"code": why.status, "message": why.message, "status": why.kind}
	if why.details != nil {
		e["details"] = why.details
	}
	body := any(obj{"error": e})
	if v.stream && v.r.URL.Query().Get("alt") != "sse" {
		body = []any{body}
	}
	writeJSON(v.w, why.status, "application/json; charset=UTF-8", body)
}

func (g *gemini) check(v *visit) *refusal {
	if why := g.checkShape(v, "request"); why != nil {
		return why
	}
	q := &geminiRequest{root: gjson.ParseBytes(v.raw), traits: findGemini(v.model), c: g.read(v)}
	for _, rule := range geminiRules {
		if message := rule(q); message != "" {
			return &refusal{status: http.StatusBadRequest, message: message}
		}
	}
	return nil
}

// checkShape reports problems as the vendor's JSON reader does: all unknown members together.
func (g *gemini) checkShape(v *visit, name string) *refusal {
	found := g.shapes.check(name, v.document)
	if len(found) == 0 {
		return nil
	}
	var lines []string
	var violations []obj
	for _, p := range found {
		line := g.words(p)
		lines = append(lines, line)
		violations = append(violations, obj{"field": snake(p.path), "description": line})
	}
	return &refusal{
		status: http.StatusBadRequest, message: strings.Join(lines, "\n"),
		details: []obj{{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}},
	}
}

func (g *gemini) words(p problem) string {
	at := snake(p.path)
	switch p.kind {
	case unknown:
		if at == "" {
			return fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot find field.", p.want)
		}
		return fmt.Sprintf("Invalid JSON payload received. Unknown name %q at '%s': Cannot find field.", p.want, at)
	case wrongType, notListed, noMatch:
		return fmt.Sprintf("Invalid value at '%s' (%s)", at, p.want)
	case notOne:
		return fmt.Sprintf("* GenerateContentRequest.%s.data: required oneof field 'data' must have one initialized field", at)
	default:
		return fmt.Sprintf("* GenerateContentRequest.%s: must be %s", at, p.want)
	}
}

var (
	upper = regexp.MustCompile(`[A-Z]`)
	index = regexp.MustCompile(`\.(\d+)`)
)

// snake writes a path as the vendor's errors do: contents[0].inline_data.
func snake(path string) string {
	path = index.ReplaceAllString(path, "[$1]")
	return upper.ReplaceAllStringFunc(path, func(s string) string { return "_" + strings.ToLower(s) })
}

func (g *gemini) read(v *visit) *conversation {
	root := gjson.ParseBytes(v.raw)
	config := root.Get("generationConfig")
	calling := root.Get("toolConfig.functionCallingConfig")
	c := &conversation{
		model: v.model, stream: v.stream, limit: int(config.Get("maxOutputTokens").Int()), answers: int(config.Get("candidateCount").Int()),
		think:    config.Get("thinkingConfig.includeThoughts").Bool(),
		must:     calling.Get("mode").String() == "ANY",
		never:    calling.Get("mode").String() == "NONE",
		json:     config.Get("responseMimeType").String() == "application/json",
		signCall: findGemini(v.model).signatures || config.Get("thinkingConfig").Exists(),
		prefix:   geminiPrefix(root),
	}
	if names := calling.Get("allowedFunctionNames").Array(); c.must && len(names) == 1 {
		c.only = names[0].String()
	}
	c.schema = geminiSchema(config.Get("responseSchema"), config.Get("responseJsonSchema"))
	for _, s := range config.Get("stopSequences").Array() {
		c.stops = append(c.stops, s.String())
	}
	c.system = turn{parts: geminiParts(root.Get("systemInstruction"))}.text()
	for _, t := range root.Get("tools").Array() {
		for _, d := range t.Get("functionDeclarations").Array() {
			c.tools = append(c.tools, tool{name: d.Get("name").String(), schema: geminiSchema(d.Get("parameters"), d.Get("parametersJsonSchema"))})
		}
	}
	for _, content := range root.Get("contents").Array() {
		c.turns = append(c.turns, turn{assistant: content.Get("role").String() == "model", parts: geminiParts(content)})
	}
	return c
}

// geminiPrefix is what the vendor would find in its implicit cache: all but the last content, when it is long.
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

// geminiSchema is either kind of schema as plain JSON Schema.
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

func geminiParts(content gjson.Result) []part {
	var list []part
	for _, p := range content.Get("parts").Array() {
		signature := plainBase64(p.Get("thoughtSignature").String())
		switch {
		case p.Get("functionCall").Exists():
			call := p.Get("functionCall")
			input := call.Get("args").Raw
			list = append(list, part{kind: called, id: call.Get("id").String(), name: call.Get("name").String(), input: json.RawMessage(or(input, "{}")), signature: signature})
		case p.Get("functionResponse").Exists():
			answer := p.Get("functionResponse")
			list = append(list, part{
				kind: result, id: answer.Get("id").String(), name: answer.Get("name").String(),
				text: geminiResult(answer.Get("response")), failed: answer.Get("response.error").Exists(),
			})
		case p.Get("inlineData").Exists():
			data := p.Get("inlineData")
			m, err := picture(data.Get("mimeType").String(), plainBase64(data.Get("data").String()))
			if err != nil { // a rule refuses it later
				m = part{kind: media, mediaType: data.Get("mimeType").String()}
			}
			list = append(list, m)
		case p.Get("fileData").Exists():
			list = append(list, part{kind: media, mediaType: p.Get("fileData.mimeType").String()})
		case p.Get("thought").Bool():
			list = append(list, part{kind: thought, text: p.Get("text").String(), signature: signature})
		default:
			list = append(list, part{kind: said, text: p.Get("text").String(), signature: signature})
		}
	}
	return list
}

// geminiResult returns the only member of a tool's response, or the whole response.
func geminiResult(response gjson.Result) string {
	for _, name := range []string{"output", "result", "error", "content"} {
		if member := response.Get(name); member.Exists() && len(response.Map()) == 1 {
			return member.String()
		}
	}
	return compact(json.RawMessage(response.Raw))
}

// plainBase64 writes base64 in its usual alphabet: the vendor reads both, and its clients send the other one.
func plainBase64(text string) string {
	if text == skipSignature {
		return text
	}
	return strings.NewReplacer("-", "+", "_", "/").Replace(text)
}

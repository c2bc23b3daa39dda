package vendormock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// NewBedrock returns a mock of the Bedrock runtime. Its base URL has no path.
func NewBedrock(o Options) *Server { return newServer(&bedrock{shapes: loadShapes("bedrock")}, o) }

type bedrock struct{ shapes shapes }

// bedrockTraits is what a family of models accepts.
type bedrockTraits struct {
	names   *regexp.Regexp
	claude  bool // takes the vendor's own extra fields, and reasons
	tools   bool
	images  bool
	nine    bool   // ids of calls are nine letters and digits
	invokes string // the shape that /invoke takes
}

// bedrocks are looked up by name without the region, the first row wins.
var bedrocks = []bedrockTraits{
	{names: regexp.MustCompile(`anthropic\.claude`), claude: true, tools: true, images: true},
	{names: regexp.MustCompile(`amazon\.titan-embed`), invokes: "titan"},
	{names: regexp.MustCompile(`cohere\.embed`), invokes: "cohere"},
	{names: regexp.MustCompile(`amazon\.nova`), tools: true, images: true},
	{names: regexp.MustCompile(`mistral\.`), tools: true, nine: true},
	{names: regexp.MustCompile(`meta\.llama`), tools: true},
}

func findBedrock(model string) *bedrockTraits {
	for i, row := range bedrocks {
		if row.names.MatchString(model) {
			return &bedrocks[i]
		}
	}
	return nil
}

// routes looks at the escaped path: ids of models hold colons and slashes, which must come escaped.
func (b *bedrock) routes(s *Server) {
	s.mux.HandleFunc("POST /model/", s.handle(func(v *visit) {
		parts := strings.Split(strings.TrimPrefix(v.r.URL.EscapedPath(), "/model/"), "/")
		model, err := url.PathUnescape(parts[0])
		if len(parts) != 2 || err != nil {
			v.refuse(refusal{status: http.StatusNotFound, kind: "UnknownOperationException", message: ""})
			return
		}
		v.model, v.document = model, dropNulls(v.document)
		traits := findBedrock(model)
		switch {
		case traits == nil:
			v.refuse(refusal{status: http.StatusBadRequest, message: "The provided model identifier is invalid."})
		case parts[1] == "invoke" && traits.invokes != "":
			b.invoke(v, traits)
		case parts[1] == "converse" && traits.invokes == "":
			v.converse()
		case parts[1] == "converse-stream" && traits.invokes == "":
			v.stream = true
			v.converse()
		default:
			v.refuse(refusal{status: http.StatusBadRequest, message: "This action doesn't support the model that you provided. Try again with a supported text or chat model."})
		}
	}))
}

func (b *bedrock) authorize(v *visit) *refusal {
	v.w.Header().Set("x-amzn-RequestId", digest(v.r.URL.Path, string(v.call.Body))[:32])
	if key, found := strings.CutPrefix(v.r.Header.Get("Authorization"), "Bearer "); found {
		if key == v.server.options.Key {
			return nil
		}
		return &refusal{status: http.StatusForbidden, message: "Authentication failed: Please make sure your API Key is valid."}
	}
	return checkSignature(v.r, v.call.Body, v.server.options)
}

var bedrockKinds = map[int]string{
	400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException", 408: "ModelTimeoutException",
	424: "ModelErrorException", 429: "ThrottlingException", 500: "InternalServerException", 503: "ServiceUnavailableException",
}

func (b *bedrock) overloaded() int { return http.StatusServiceUnavailable }

func (b *bedrock) fault(status int) refusal {
	f := refusal{status: status, kind: or(bedrockKinds[status], "InternalServerException"), message: http.StatusText(status)}
	switch status {
	case http.StatusTooManyRequests:
		f.message = "Too many requests, please wait before trying again."
	case http.StatusServiceUnavailable:
		f.message = "Bedrock is unable to process your request."
	}
	return f
}

func (b *bedrock) refuse(v *visit, why refusal) {
	v.w.Header().Set("x-amzn-ErrorType", why.kind+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	writeJSON(v.w, why.status, "application/json", obj{"message": why.message})
}

func (b *bedrock) check(v *visit) *refusal {
	if why := b.checkShape(v, "request", v.document); why != nil {
		return why
	}
	traits := findBedrock(v.model)
	extra, given := v.document.(map[string]any)["additionalModelRequestFields"]
	if given && traits.claude {
		if found := b.shapes.check("claudeFields", extra); len(found) > 0 {
			return &refusal{status: http.StatusBadRequest, message: "The model returned the following errors: " + (&anthropic{}).words(found[0])}
		}
	}
	q := &bedrockRequest{root: gjson.ParseBytes(v.call.Body), traits: traits, c: b.read(v), server: v.server}
	for _, rule := range bedrockRules {
		if message := rule(q); message != "" {
			return &refusal{status: http.StatusBadRequest, message: message}
		}
	}
	return nil
}

func (b *bedrock) checkShape(v *visit, name string, document any) *refusal {
	found := b.shapes.check(name, document)
	if len(found) == 0 {
		return nil
	}
	var lines []string
	for _, p := range found {
		lines = append(lines, b.words(p))
	}
	plural := ""
	if len(lines) > 1 {
		plural = "s"
	}
	return &refusal{status: http.StatusBadRequest, message: fmt.Sprintf("%d validation error%s detected: %s", len(lines), plural, strings.Join(lines, "; "))}
}

func (b *bedrock) words(p problem) string {
	at := index.ReplaceAllStringFunc(p.path, func(s string) string { return s + ".member" })
	switch p.kind {
	case missing:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: Member must not be null", at)
	case unknown:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: extraneous key [%s] is not permitted", at, p.want)
	case notListed:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: Member must satisfy enum value set: [%s]", at, p.want)
	case noMatch:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: Member must satisfy regular expression pattern: %s", at, p.want)
	case notOne:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: exactly one member of the union must be set", at)
	default:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: Member must be %s", at, p.want)
	}
}

func (b *bedrock) read(v *visit) *conversation {
	root := gjson.ParseBytes(v.call.Body)
	thinking := root.Get("additionalModelRequestFields.thinking.type").String()
	choice := root.Get("toolConfig.toolChoice")
	c := &conversation{
		model: v.model, stream: v.stream, limit: int(root.Get("inferenceConfig.maxTokens").Int()), callID: "tooluse_",
		think: thinking != "" && thinking != "disabled",
		must:  choice.Get("any").Exists() || choice.Get("tool").Exists(),
		only:  choice.Get("tool.name").String(),
	}
	if findBedrock(v.model).nine {
		c.callID, c.nine = "", true
	}
	c.system = turn{parts: converseParts(root.Get("system"))}.text()
	for _, t := range root.Get("toolConfig.tools").Array() {
		if spec := t.Get("toolSpec"); spec.Exists() {
			c.tools = append(c.tools, tool{name: spec.Get("name").String(), schema: json.RawMessage(spec.Get("inputSchema.json").Raw)})
		}
	}
	for _, s := range root.Get("inferenceConfig.stopSequences").Array() {
		c.stops = append(c.stops, s.String())
	}
	if schema := root.Get("outputConfig.textFormat.structure.jsonSchema.schema"); schema.Exists() {
		c.schema = json.RawMessage(schema.String())
	}
	for _, m := range root.Get("messages").Array() {
		c.turns = append(c.turns, turn{assistant: m.Get("role").String() == "assistant", parts: converseParts(m.Get("content"))})
	}
	c.prefix = conversePrefix(root)
	return c
}

func converseParts(content gjson.Result) []part {
	var list []part
	for _, b := range content.Array() {
		switch {
		case b.Get("toolUse").Exists():
			call := b.Get("toolUse")
			list = append(list, part{kind: called, id: call.Get("toolUseId").String(), name: call.Get("name").String(), input: json.RawMessage(call.Get("input").Raw)})
		case b.Get("toolResult").Exists():
			list = append(list, converseResult(b.Get("toolResult")))
		case b.Get("reasoningContent.redactedContent").Exists():
			list = append(list, part{kind: hidden, signature: b.Get("reasoningContent.redactedContent").String()})
		case b.Get("reasoningContent").Exists():
			text := b.Get("reasoningContent.reasoningText")
			list = append(list, part{kind: thought, text: text.Get("text").String(), signature: text.Get("signature").String()})
		case b.Get("image").Exists():
			list = append(list, converseMedia("image/"+b.Get("image.format").String(), b.Get("image.source.bytes").String()))
		case b.Get("document").Exists():
			list = append(list, converseMedia("application/"+b.Get("document.format").String(), b.Get("document.source.bytes").String()))
		case b.Get("text").Exists():
			list = append(list, part{kind: said, text: b.Get("text").String()})
		}
	}
	return list
}

func converseMedia(mediaType, data string) part {
	p, err := picture(mediaType, data)
	if err != nil { // elsewhere than in the request, or what a rule refuses later
		return part{kind: media, mediaType: mediaType}
	}
	return p
}

func converseResult(r gjson.Result) part {
	var texts []string
	for _, b := range r.Get("content").Array() {
		if b.Get("json").Exists() {
			texts = append(texts, compact(json.RawMessage(b.Get("json").Raw)))
		} else if b.Get("text").Exists() {
			texts = append(texts, b.Get("text").String())
		}
	}
	return part{kind: result, id: r.Get("toolUseId").String(), text: strings.Join(texts, " "), failed: r.Get("status").String() == "error"}
}

// conversePrefix is the request up to the last cache point.
func conversePrefix(root gjson.Result) string {
	var read, marked strings.Builder
	note := func(list gjson.Result) {
		for _, b := range list.Array() {
			if b.Get("cachePoint").Exists() {
				marked.Reset()
				marked.WriteString(read.String())
				continue
			}
			read.WriteString(b.Raw)
		}
	}
	note(root.Get("toolConfig.tools"))
	note(root.Get("system"))
	for _, m := range root.Get("messages").Array() {
		note(m.Get("content"))
	}
	return marked.String()
}

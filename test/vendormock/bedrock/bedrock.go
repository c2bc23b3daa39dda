// Package bedrock imitates the Bedrock runtime API for tests.
package bedrock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/test/vendormock"
	"fairlead.dev/test/vendormock/anthropic"
)

// New returns a mock of the Bedrock runtime. Its base URL has no path.
func New(o vendormock.Options) *vendormock.Server {
	return vendormock.NewServer(&bedrock{shapes: vendormock.LoadShapes("bedrock")}, o)
}

type bedrock struct{ shapes vendormock.Shapes }

// bedrockTraits describes what a family of models accepts.
type bedrockTraits struct {
	names       *regexp.Regexp
	claude      bool // whether Anthropic's additional fields are accepted and reasoning is returned
	tools       bool
	images      bool
	nineCharIDs bool   // whether call IDs must be nine letters and digits
	invokes     string // shape of the body of /invoke
}

// bedrocks lists the families. A model belongs to the first row whose pattern matches its name.
var bedrocks = []bedrockTraits{
	{names: regexp.MustCompile(`anthropic\.claude`), claude: true, tools: true, images: true},
	{names: regexp.MustCompile(`amazon\.titan-embed`), invokes: "titan"},
	{names: regexp.MustCompile(`cohere\.embed`), invokes: "cohere"},
	{names: regexp.MustCompile(`amazon\.nova`), tools: true, images: true},
	{names: regexp.MustCompile(`mistral\.`), tools: true, nineCharIDs: true},
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

// Routes uses the escaped path, because model IDs contain colons and slashes, which must be escaped.
func (b *bedrock) Routes(s *vendormock.Server) {
	s.Mux.HandleFunc("POST /model/", s.Handle(func(v *vendormock.Request) {
		parts := strings.Split(strings.TrimPrefix(v.HTTP.URL.EscapedPath(), "/model/"), "/")
		model, err := url.PathUnescape(parts[0])
		if len(parts) != 2 || err != nil {
			v.Refuse(vendormock.Rejection{Status: http.StatusNotFound, Kind: "UnknownOperationException", Message: ""})
			return
		}
		v.Model, v.Document = model, vendormock.DropNulls(v.Document)
		traits := findBedrock(model)
		switch {
		case traits == nil:
			v.Refuse(vendormock.Rejection{Status: http.StatusBadRequest, Message: "The provided model identifier is invalid."})
		case parts[1] == "invoke" && traits.invokes != "":
			b.invoke(v, traits)
		case parts[1] == "converse" && traits.invokes == "":
			v.Converse()
		case parts[1] == "converse-stream" && traits.invokes == "":
			v.Stream = true
			v.Converse()
		default:
			v.Refuse(vendormock.Rejection{Status: http.StatusBadRequest, Message: "This action doesn't support the model that you provided. Try again with a supported text or chat model."})
		}
	}))
}

func (b *bedrock) Authorize(v *vendormock.Request) *vendormock.Rejection {
	v.Writer.Header().Set("x-amzn-RequestId", vendormock.Digest(v.HTTP.URL.Path, string(v.Call.Body))[:32])
	if key, found := strings.CutPrefix(v.HTTP.Header.Get("Authorization"), "Bearer "); found {
		if key == v.Server.Options.Key {
			return nil
		}
		return &vendormock.Rejection{Status: http.StatusForbidden, Message: "Authentication failed: Please make sure your API Key is valid."}
	}
	return checkSignature(v.HTTP, v.Call.Body, v.Server.Options)
}

var bedrockKinds = map[int]string{
	400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException", 408: "ModelTimeoutException",
	424: "ModelErrorException", 429: "ThrottlingException", 500: "InternalServerException", 503: "ServiceUnavailableException",
}

func (b *bedrock) Overloaded() int { return http.StatusServiceUnavailable }

func (b *bedrock) Fault(status int) vendormock.Rejection {
	f := vendormock.Rejection{Status: status, Kind: cmp.Or(bedrockKinds[status], "InternalServerException"), Message: http.StatusText(status)}
	switch status {
	case http.StatusTooManyRequests:
		f.Message = "Too many requests, please wait before trying again."
	case http.StatusServiceUnavailable:
		f.Message = "Bedrock is unable to process your request."
	}
	return f
}

func (b *bedrock) Refuse(v *vendormock.Request, why vendormock.Rejection) {
	v.Writer.Header().Set("x-amzn-ErrorType", why.Kind+":http://internal.amazon.com/coral/com.amazon.bedrock/")
	vendormock.WriteJSON(v.Writer, why.Status, "application/json", vendormock.Object{"message": why.Message})
}

func (b *bedrock) Check(v *vendormock.Request) *vendormock.Rejection {
	if why := b.checkShape(v, "request", v.Document); why != nil {
		return why
	}
	traits := findBedrock(v.Model)
	extra, given := v.Document.(map[string]any)["additionalModelRequestFields"]
	if given && traits.claude {
		if found := b.shapes.Check("claudeFields", extra); len(found) > 0 {
			return &vendormock.Rejection{Status: http.StatusBadRequest, Message: "The model returned the following errors: " + anthropic.ErrorMessage(found[0])}
		}
	}
	q := &bedrockRequest{root: gjson.ParseBytes(v.Call.Body), traits: traits, c: b.Read(v), server: v.Server}
	for _, rule := range bedrockRules {
		if message := rule(q); message != "" {
			return &vendormock.Rejection{Status: http.StatusBadRequest, Message: message}
		}
	}
	return nil
}

func (b *bedrock) checkShape(v *vendormock.Request, name string, document any) *vendormock.Rejection {
	found := b.shapes.Check(name, document)
	if len(found) == 0 {
		return nil
	}
	var lines []string
	for _, p := range found {
		lines = append(lines, b.problemMessage(p))
	}
	plural := ""
	if len(lines) > 1 {
		plural = "s"
	}
	return &vendormock.Rejection{Status: http.StatusBadRequest, Message: fmt.Sprintf("%d validation error%s detected: %s", len(lines), plural, strings.Join(lines, "; "))}
}

func (b *bedrock) problemMessage(p vendormock.Problem) string {
	at := vendormock.Index.ReplaceAllStringFunc(p.Path, func(s string) string { return s + ".member" })
	switch p.Kind {
	case vendormock.Missing:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: Member must not be null", at)
	case vendormock.Unknown:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: extraneous key [%s] is not permitted", at, p.Want)
	case vendormock.NotListed:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: Member must satisfy enum value set: [%s]", at, p.Want)
	case vendormock.NoMatch:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: Member must satisfy regular expression pattern: %s", at, p.Want)
	case vendormock.NotOne:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: exactly one member of the union must be set", at)
	default:
		return fmt.Sprintf("Value at '%s' failed to satisfy constraint: Member must be %s", at, p.Want)
	}
}

func (b *bedrock) Read(v *vendormock.Request) *vendormock.Conversation {
	root := gjson.ParseBytes(v.Call.Body)
	thinking := root.Get("additionalModelRequestFields.thinking.type").String()
	choice := root.Get("toolConfig.toolChoice")
	c := &vendormock.Conversation{
		Model: v.Model, Stream: v.Stream, Limit: int(root.Get("inferenceConfig.maxTokens").Int()), CallID: "tooluse_",
		Think: thinking != "" && thinking != "disabled",
		Must:  choice.Get("any").Exists() || choice.Get("tool").Exists(),
		Only:  choice.Get("tool.name").String(),
	}
	if findBedrock(v.Model).nineCharIDs {
		c.CallID, c.NineCharIDs = "", true
	}
	c.System = vendormock.Turn{Parts: converseParts(root.Get("system"))}.Text()
	for _, t := range root.Get("toolConfig.tools").Array() {
		if spec := t.Get("toolSpec"); spec.Exists() {
			c.Tools = append(c.Tools, vendormock.Tool{Name: spec.Get("name").String(), Schema: json.RawMessage(spec.Get("inputSchema.json").Raw)})
		}
	}
	for _, s := range root.Get("inferenceConfig.stopSequences").Array() {
		c.Stops = append(c.Stops, s.String())
	}
	if schema := root.Get("outputConfig.textFormat.structure.jsonSchema.schema"); schema.Exists() {
		c.Schema = json.RawMessage(schema.String())
	}
	for _, m := range root.Get("messages").Array() {
		c.Turns = append(c.Turns, vendormock.Turn{Assistant: m.Get("role").String() == "assistant", Parts: converseParts(m.Get("content"))})
	}
	c.Prefix = conversePrefix(root)
	return c
}

func converseParts(content gjson.Result) []vendormock.Part {
	var list []vendormock.Part
	for _, b := range content.Array() {
		switch {
		case b.Get("toolUse").Exists():
			call := b.Get("toolUse")
			list = append(list, vendormock.Part{Kind: vendormock.CallPart, ID: call.Get("toolUseId").String(), Name: call.Get("name").String(), Input: json.RawMessage(call.Get("input").Raw)})
		case b.Get("toolResult").Exists():
			list = append(list, converseResult(b.Get("toolResult")))
		case b.Get("reasoningContent.redactedContent").Exists():
			list = append(list, vendormock.Part{Kind: vendormock.RedactedPart, Signature: b.Get("reasoningContent.redactedContent").String()})
		case b.Get("reasoningContent").Exists():
			text := b.Get("reasoningContent.reasoningText")
			list = append(list, vendormock.Part{Kind: vendormock.ThinkingPart, Text: text.Get("text").String(), Signature: text.Get("signature").String()})
		case b.Get("image").Exists():
			list = append(list, converseMedia("image/"+b.Get("image.format").String(), b.Get("image.source.bytes").String()))
		case b.Get("document").Exists():
			list = append(list, converseMedia("application/"+b.Get("document.format").String(), b.Get("document.source.bytes").String()))
		case b.Get("text").Exists():
			list = append(list, vendormock.Part{Kind: vendormock.TextPart, Text: b.Get("text").String()})
		}
	}
	return list
}

func converseMedia(mediaType, data string) vendormock.Part {
	p, err := vendormock.Picture(mediaType, data)
	if err != nil { // the media is not inline, or a rule rejects it later
		return vendormock.Part{Kind: vendormock.MediaPart, MediaType: mediaType}
	}
	return p
}

func converseResult(r gjson.Result) vendormock.Part {
	var texts []string
	for _, b := range r.Get("content").Array() {
		if b.Get("json").Exists() {
			texts = append(texts, vendormock.Compact(json.RawMessage(b.Get("json").Raw)))
		} else if b.Get("text").Exists() {
			texts = append(texts, b.Get("text").String())
		}
	}
	return vendormock.Part{Kind: vendormock.ResultPart, ID: r.Get("toolUseId").String(), Text: strings.Join(texts, " "), Failed: r.Get("status").String() == "error"}
}

// conversePrefix returns the request up to the last cache point.
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

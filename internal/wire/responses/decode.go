package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
	"fairlead.dev/internal/wire/websearch"
)

// DecodeRequest implements wire.Format. It checks the members that routing, limits and translations need. The provider checks all others.
func (Format) DecodeRequest(ctx context.Context, op llm.Op, body []byte) (*llm.Request, error) {
	if op != llm.Chat && op != llm.Count {
		return nil, strict.Reject(strict.Problem{Message: "The responses format does not support the operation " + string(op) + "."})
	}
	var in request
	doc, err := strict.Decode(ctx, body, &in, strict.Rules{Messages: "input"})
	if err != nil {
		return nil, err
	}
	d := decoder{
		ctx: ctx, doc: doc, conv: &llm.Conversation{Choices: 1},
		req: &llm.Request{Op: op, Payload: llm.Payload{Format: Name}, ResponseOptions: llm.ResponseOptions{Choices: 1}},
	}
	d.addControls(&in)
	d.addStored(&in)
	d.addSettings(&in)
	d.addTools("tools", in.Tools, "")
	d.addToolChoice(&in.ToolChoice)
	d.addInput(&in)
	d.addFields(&in)
	if err := llm.Cancelled(ctx); err != nil {
		return nil, err
	}
	if err := doc.Finish(d.req, d.conv); err != nil {
		return nil, err
	}
	d.describe(&in)
	return d.req, nil
}

// decoder converts a decoded request to a conversation.
type decoder struct {
	ctx  context.Context
	doc  *strict.Document
	req  *llm.Request
	conv *llm.Conversation

	toolNames      map[string]string           // tool names by call ID
	callSignatures map[string]wrappedSignature // signatures by call ID

	last             llm.Role // role of the last message of the input
	hasText, hasCall bool     // whether this message has text, and whether it has a tool call

	extends bool // whether the provider adds stored text to the input, or the input has items that only the provider interprets
	wrapped bool // whether the input has signatures that the gateway wrapped
}

// addControls decodes the members that concern the account, routing and the response as a whole.
func (d *decoder) addControls(in *request) {
	req, doc := d.req, d.doc
	doc.RejectUnknownLookAlikes(in)
	in.Apply(doc, req)
	doc.Require("model", req.Model != "", `Name a model, or send "auto" to have one chosen.`)
	req.Stream, req.Background = in.Stream, in.Background
	req.Stores = string(in.Store) != "false"
	if req.Background {
		req.Needs |= llm.ResponsesAPI
		if !req.Stores {
			doc.Problem("background", "background needs a stored response. Remove store: false.")
		}
	}
	req.EndUser, req.Metadata = cmp.Or(string(in.User), string(in.SafetyIdentifier)), in.Metadata
	d.conv.EndUser, d.conv.ServiceTier = req.EndUser, req.ServiceTier
}

// addStored decodes references to an earlier response, a conversation and a prompt template, which the provider stores.
func (d *decoder) addStored(in *request) {
	if id := in.PreviousResponseID; id != nil {
		d.req.Previous = *id // later, the gateway restricts the request to the account that holds this response
		d.markStoredInput()
	}
	if c := in.Conversation; !c.IsZero() {
		id := c.String
		if c.Other != nil {
			id = c.Other.ID
		}
		if id == "" && !d.isReported("conversation.id") {
			d.doc.Problem("conversation", "conversation must be the id of a conversation, or an object with its id.")
		}
		d.req.Account = "conversation"
		d.markStoredInput()
	}
	if p := in.Prompt; p != nil {
		d.doc.RejectLookAlikes("prompt.", p.Unknown, *p)
		if p.ID == "" {
			d.requireMember("prompt.id", "Set it to the id of the prompt template.")
		}
		d.addFiles("prompt.variables", p.Variables)
		d.markStoredInput()
	}
}

// markStoredInput records that the provider adds stored text to the prompt, which only the Responses API supports.
func (d *decoder) markStoredInput() {
	d.extends = true
	d.req.Needs |= llm.ResponsesAPI
	d.req.Hosted = true // as with hosted tools, the provider adds text of unknown length to the prompt
}

// addFiles records the files that a value names. Only the provider interprets the value.
func (d *decoder) addFiles(param string, v jsontext.Value) {
	for id := range strict.FileIDs(v) {
		d.req.AddStoredFile(id, param)
	}
}

func (d *decoder) addSettings(in *request) {
	c, doc := d.conv, d.doc
	c.MaxOutput = doc.Int("max_output_tokens", in.MaxOutput, 1, strict.MaxTokens)
	d.req.MaxOutput = c.MaxOutput
	c.Sampling.Temperature, c.Sampling.TopP = json.Number(in.Temperature), json.Number(in.TopP)
	c.ParallelTools = in.ParallelTools
	if r := in.Reasoning; r != nil {
		doc.RejectLookAlikes("reasoning.", r.Unknown, *r)
		c.Effort.Level = strings.Clone(r.Effort) // the log keeps the level, but must not keep the body
	}
	t := in.Text
	if t == nil {
		return
	}
	doc.RejectLookAlikes("text.", t.Unknown, *t)
	c.Verbosity = t.Verbosity
	f := t.Format
	if f == nil {
		return
	}
	doc.RejectLookAlikes("text.format.", f.Unknown, *f)
	switch f.Type {
	case "text":
	case "json_object":
		c.Output.Kind = llm.OutputJSON
	case "json_schema":
		c.Output = llm.Output{Kind: llm.OutputSchema, Name: f.Name, Description: f.Description, Schema: rawOf(f.Schema), Strict: f.Strict}
		if c.Output.Schema == nil {
			d.requireMember("text.format.schema", "Send the schema of the response.")
		}
	default:
		if !d.isReported("text.format.type") {
			doc.Problem("text.format.type", "text.format.type must be one of text, json_object, json_schema; it is %s.", show.Quote(f.Type))
		}
	}
}

// IncludeLogprobs is the value of include that requests log probabilities.
const IncludeLogprobs = "message.output_text.logprobs"

// accountFields are members that concern the account and the stream, not the conversation.
var accountFields = []string{"stream_options", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "prompt_cache_diagnostics", "client_metadata"}

// addFields records the sampling parameters and the members that a conversation cannot represent, in the order of the body.
func (d *decoder) addFields(in *request) {
	d.doc.OneOf("truncation", in.Truncation, "auto", "disabled")
	unknown := slices.Collect(d.doc.UnknownFields(in))
	for _, f := range d.doc.Fields {
		if !d.doc.Given(f.Name) {
			continue
		}
		switch f.Name {
		case "temperature", "top_p":
			d.req.Sampling = append(d.req.Sampling, f.Name)
		case "top_logprobs":
			if in.TopLogprobs != "0" {
				d.req.Sampling = append(d.req.Sampling, f.Name)
				d.conv.DropField(f.Name)
			}
		case "truncation":
			if in.Truncation == "auto" {
				d.conv.DropField(f.Name)
			}
		case "include":
			// The other values need no action: signatures are always included, and the remaining values concern hosted tools.
			if slices.Contains(in.Include, IncludeLogprobs) {
				d.conv.DropField(IncludeLogprobs)
			}
		case "max_tool_calls":
			d.conv.DropField(f.Name)
		default:
			if slices.Contains(unknown, f) && !slices.Contains(accountFields, f.Name) {
				d.conv.DropField(f.Name)
			}
		}
	}
}

// addTools decodes tools. The name of a tool in a namespace is joined with the name of the namespace.
func (d *decoder) addTools(list string, tools []tool, namespace string) {
	for n := range tools {
		if t := &tools[n]; t.Given() { // null is ignored
			d.addTool(list+"["+strconv.Itoa(n)+"]", t, namespace)
		}
	}
}

func (d *decoder) addTool(param string, t *tool, namespace string) {
	d.doc.RejectLookAlikes(param+".", t.Unknown, *t)
	tool := llm.Tool{Name: joinNamespace(namespace, t.Name), Description: t.Description}
	switch t.Type {
	case "function":
		d.requireName(param, t.Name)
		tool.Schema, tool.Strict = rawOf(t.Parameters), t.Strict
	case "custom":
		d.requireName(param, t.Name)
		tool.Format, tool.Custom = rawOf(t.Format), true
	case "namespace":
		d.requireName(param, t.Name)
		if namespace != "" {
			d.doc.Problem(param+".type", "%s.type is namespace. A namespace cannot contain another one.", param)
			return
		}
		d.addTools(param+".tools", t.Tools, t.Name)
		return
	case "":
		d.requireMember(param+".type", "Send function, custom, or the type of a tool that the provider runs.")
	default:
		tool = llm.Tool{Hosted: t.Type, Description: t.Description, Raw: d.doc.RawAt(t.Position)}
		if websearch.Is(t.Type) {
			tool = llm.Tool{Hosted: t.Type, Raw: tool.Raw, Search: websearch.Read(tool.Raw)}
		}
		d.addFiles(param, jsontext.Value(tool.Raw))
	}
	d.conv.Tools = append(d.conv.Tools, tool)
}

func (d *decoder) requireName(param, name string) {
	if name == "" {
		d.requireMember(param+".name", "Name the tool.")
	}
}

// isReported reports whether a problem with a member of an object, or with the object, is recorded.
func (d *decoder) isReported(param string) bool {
	return d.doc.HasProblem(param) || d.doc.HasProblem(param[:strings.LastIndexByte(param, '.')])
}

// requireMember records that a member of an object is missing, unless a problem with it is already recorded.
func (d *decoder) requireMember(param, advice string) {
	if !d.isReported(param) {
		d.doc.Problem(param, "%s is missing. %s", param, advice)
	}
}

func (d *decoder) addToolChoice(c *strict.StringOr[toolChoice]) {
	choice, doc := &d.conv.ToolChoice, d.doc
	if c.Other == nil {
		choice.Mode = llm.ChoiceMode(doc.OneOf("tool_choice", c.String, "none", "auto", "required"))
		return
	}
	named := c.Other
	doc.RejectLookAlikes("tool_choice.", named.Unknown, *named)
	switch named.Type {
	case "function", "custom":
		d.requireName("tool_choice", named.Name)
		*choice = llm.ToolChoice{Mode: llm.ChoiceMust, Names: []string{joinNamespace(named.Namespace, named.Name)}}
	case "allowed_tools":
		choice.Mode = llm.ChoiceMode(doc.OneOf("tool_choice.mode", named.Mode, "auto", "required"))
		for _, tool := range named.Tools {
			if tool.Name != "" {
				choice.Names = append(choice.Names, joinNamespace(tool.Namespace, tool.Name))
			}
		}
	default:
		d.conv.DropField("tool_choice")
	}
}

// describe adds the properties of the request that do not follow from the conversation.
func (d *decoder) describe(in *request) {
	req := d.req
	req.Plain, req.HasSignatures = !d.wrapped, false
	for i := range d.conv.Tools {
		switch tool := &d.conv.Tools[i]; {
		case tool.Hosted == "":
		case tool.Search == nil:
			req.Needs |= llm.ResponsesAPI
		case tool.Search.MaxUses == 0:
			limit, _ := rawjson.ParseInteger(in.MaxToolCalls) // 0 for any other value, which the provider rejects
			req.MaxSearches = max(limit, req.MaxSearches)
		}
	}
}

// rawOf returns a raw value; nil for null.
func rawOf(v jsontext.Value) json.RawMessage {
	if len(v) == 0 || v.Kind() == 'n' {
		return nil
	}
	return json.RawMessage(v)
}

// joinNamespace returns the name of a tool for formats that have no namespaces.
func joinNamespace(namespace, name string) string {
	if namespace == "" || strings.HasSuffix(namespace, "__") {
		return namespace + name
	}
	return namespace + "__" + name
}

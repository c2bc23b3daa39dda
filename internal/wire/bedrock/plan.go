package bedrock

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/wire/upstream"
)

// Plan describes how the tools and the output format of a conversation are sent. NewPlan is deterministic, so the plan of a request can be
// computed again to decode the response.
type Plan struct {
	providerNames map[string]string     // provider's tool names by the client's name
	clientTools   map[string]clientTool // client's tools by the provider's name
	mode          outputMode
	outputTool    string // name of the tool whose input is the response; empty for none
}

type clientTool struct {
	name   string
	custom bool
}

// outputMode describes how a schema is sent to the model.
type outputMode int

const (
	outputAsText        outputMode = iota // no schema is sent
	outputByFormat                        // the schema is sent as the native output format
	outputByTool                          // the schema is sent as the input schema of a forced tool; the input is the response
	outputByInstruction                   // an instruction asks for JSON and contains the schema, if any
)

// NewPlan returns the plan of a conversation.
func NewPlan(conv *llm.Conversation, d Dialect) Plan {
	p := Plan{providerNames: map[string]string{}, clientTools: map[string]clientTool{}}
	for _, t := range conv.Tools {
		p.add(t.Name, t.Custom)
	}
	for _, m := range conv.Messages {
		for _, part := range m.Parts {
			if part.Kind == llm.CallPart {
				p.add(part.Call.Name, part.Call.Custom)
			}
		}
	}
	switch out := conv.Output; {
	case out.Kind == llm.OutputText:
		p.mode = outputAsText
	case out.Kind == llm.OutputJSON || len(out.Schema) == 0:
		p.mode = outputByInstruction
	case d.Schema && isClosed(jsontext.Value(out.Schema)):
		p.mode = outputByFormat
	case d.Force >= ForceAny && !d.AlwaysThinks && isObject(jsontext.Value(out.Schema)):
		p.mode = outputByTool
	default:
		p.mode = outputByInstruction
	}
	if p.mode == outputByTool {
		p.outputTool = "answer"
		for p.clientTools[p.outputTool].name != "" {
			p.outputTool += "_"
		}
	}
	return p
}

func (p *Plan) add(name string, custom bool) {
	if name == "" || p.providerNames[name] != "" {
		return
	}
	sent := toolName(name)
	p.providerNames[name] = sent
	p.clientTools[sent] = clientTool{name: name, custom: custom}
}

func (p *Plan) providerName(name string) string {
	if sent := p.providerNames[name]; sent != "" {
		return sent
	}
	return toolName(name)
}

const (
	maxToolName = 64
	maxCallID   = 64
	customInput = "input" // name of the argument that contains the text for a tool that accepts free text
)

// toolName returns a valid tool name for the given name. A name is valid if it consists of a letter, followed by letters, digits,
// underscores and hyphens, and has at most maxToolName bytes; it is returned unchanged. In any other name, invalid characters are replaced.
// It is truncated and a hash is appended, so that different names stay different.
func toolName(name string) string {
	if fits(name, maxToolName) && isLetter(name[0]) {
		return name
	}
	clean := strings.Map(func(c rune) rune {
		if c < 128 && isNameByte(byte(c)) {
			return c
		}
		return '_'
	}, name)
	if clean == "" || !isLetter(clean[0]) {
		clean = "t" + clean
	}
	return clean[:min(len(clean), maxToolName-9)] + "_" + hash(name)
}

// callID returns a tool-call ID that the model accepts. The call and its result get the same ID.
func (r *renderer) callID(id string) string {
	switch {
	case r.d.CallID != nil:
		return r.d.CallID(id)
	case fits(id, maxCallID):
		return id
	}
	return "call_" + hash(id)
}

// hash returns an eight-character alphanumeric hash of s.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

func fits(s string, limit int) bool {
	return s != "" && len(s) <= limit && !slices.ContainsFunc([]byte(s), func(c byte) bool { return !isNameByte(c) })
}

func isNameByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isObject reports whether the schema describes an object, as required for tool inputs.
func isObject(schema jsontext.Value) bool {
	var s struct {
		Type jsontext.Value `json:"type"`
	}
	return decode(schema, &s) == nil && upstream.Text(s.Type) == "object"
}

package converse

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"

	"fairlead/internal/llm"
)

// Plan is how the tools and the output of a conversation travel. The same conversation always has the same plan, so that
// who reads the answer knows what who wrote the request did.
type Plan struct {
	theirs map[string]string     // by our name
	ours   map[string]toolOfOurs // by their name
	way    outputWay
	answer string // the tool that takes the answer, where a tool does
}

type toolOfOurs struct {
	name   string
	custom bool
}

// outputWay is how a schema reaches the model.
type outputWay int

const (
	asText   outputWay = iota // there is none
	byFormat                  // the model's own output format
	byTool                    // a tool that must be called, whose input is the answer
	byWords                   // an instruction
)

// NewPlan plans for a conversation.
func NewPlan(conv *llm.Conversation, d Dialect) Plan {
	p := Plan{theirs: map[string]string{}, ours: map[string]toolOfOurs{}}
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
	p.way = wayOf(conv.Output, d)
	if p.way == byTool {
		p.answer = "answer"
		for p.ours[p.answer].name != "" {
			p.answer += "_"
		}
	}
	return p
}

func (p *Plan) add(name string, custom bool) {
	if name == "" || p.theirs[name] != "" {
		return
	}
	theirs := toolName(name)
	p.theirs[name] = theirs
	p.ours[theirs] = toolOfOurs{name: name, custom: custom}
}

func (p *Plan) theirName(name string) string {
	if theirs := p.theirs[name]; theirs != "" {
		return theirs
	}
	return toolName(name)
}

// ourTool is the caller's tool of a name that the model was told. A model may make one up: that stays as it is.
func (p *Plan) ourTool(name string) toolOfOurs {
	if t, known := p.ours[name]; known {
		return t
	}
	return toolOfOurs{name: name}
}

const (
	maxToolName = 64
	maxCallID   = 64
	customInput = "input" // the argument of a tool that takes free text
)

// toolName keeps a name that fits: a letter, then letters, digits, underscores and hyphens. Any other gets a name made of
// what fits of it and of its hash, so that different names stay different.
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

// callID is the id of a tool call as the model takes it. Calls and results of the same id keep the same.
func (r *renderer) callID(id string) string {
	switch {
	case r.d.CallID != nil:
		return r.d.CallID(id)
	case fits(id, maxCallID):
		return id
	}
	return "call_" + hash(id)
}

// hash is eight letters and digits.
func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

func fits(s string, most int) bool {
	return s != "" && len(s) <= most && !slices.ContainsFunc([]byte(s), func(c byte) bool { return !isNameByte(c) })
}

func isNameByte(c byte) bool { return isLetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// wayOf decides how a schema travels: by the model's own format where it takes this schema, else by a forced tool.
func wayOf(out llm.Output, d Dialect) outputWay {
	switch {
	case out.Kind == llm.OutputText:
		return asText
	case out.Kind == llm.OutputJSON || len(out.Schema) == 0:
		return byWords
	case d.Schema && isClosed(out.Schema):
		return byFormat
	case d.Force >= ForceAny && !d.AlwaysThinks && isObject(out.Schema):
		return byTool
	}
	return byWords
}

// isObject reports whether the schema describes an object, as the input of every tool must be.
func isObject(schema json.RawMessage) bool {
	var s struct{ Type json.RawMessage }
	return json.Unmarshal(schema, &s) == nil && string(s.Type) == `"object"`
}

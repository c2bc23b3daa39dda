package vendormock

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Conversation is the vendor-independent part of a request that determines the response.
type Conversation struct {
	Model       string
	System      string
	Turns       []Turn
	Tools       []Tool
	Must        bool   // whether a tool must be called
	Only        string // name of the tool that must be called
	Never       bool   // whether no tool may be called
	Single      bool   // whether at most one tool may be called at a time
	Schema      json.RawMessage
	JSON        bool // whether the response must be JSON of any shape
	Limit       int  // output limit in tokens; 0 for none
	Stops       []string
	Think       bool
	Omit        bool   // whether reasoning is signed, but not shown
	Prefix      string // prefix that may be cached for the next request; empty for none
	Stream      bool
	Answers     int    // number of requested choices; 0 counts as 1
	SignCall    bool   // whether the first call of a turn has the signature
	CallID      string // prefix of call IDs
	NineCharIDs bool   // whether call IDs have nine characters
}

// Tool is a function that the request offers to the model.
type Tool struct {
	Name   string
	Schema json.RawMessage
	Custom bool // whether the tool accepts free text
}

// Turn is the content of one turn of the user or the assistant.
type Turn struct {
	Assistant bool
	Parts     []Part
}

type partKind int

// Kinds of parts.
const (
	TextPart partKind = iota
	MediaPart
	CallPart
	ResultPart
	ThinkingPart
	RedactedPart // encrypted reasoning
)

// Part is one piece of a turn's content, such as a text, an image, a tool call or its result.
type Part struct {
	Kind      partKind
	Text      string          // content of a text, a result or reasoning
	MediaType string          // only for media
	Size      int             // only for media
	ID        string          // call ID; only for calls and results
	Name      string          // tool name; only for calls and results
	Input     json.RawMessage // arguments of a call; free text if Custom
	Custom    bool            // whether the tool takes free text; only for calls
	Failed    bool            // whether the call failed; only for results
	Signature string          // signature of reasoning, of a text or of a call; for encrypted reasoning, the encrypted data
}

// Prompt returns the last user prompt. Everything after it is one tool loop.
func (c *Conversation) Prompt() string {
	if i := c.LastPrompt(); i >= 0 {
		return c.Turns[i].Text()
	}
	return ""
}

// LastPrompt returns the index of the last user turn without tool results, or -1 if there is none.
func (c *Conversation) LastPrompt() int {
	for i, t := range slices.Backward(c.Turns) {
		if !t.Assistant && !slices.ContainsFunc(t.Parts, func(p Part) bool { return p.Kind == ResultPart }) {
			return i
		}
	}
	return -1
}

// Text joins the text parts of the turn with spaces.
func (t Turn) Text() string {
	var texts []string
	for _, p := range t.Parts {
		if p.Kind == TextPart {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, " ")
}

// OfKind returns the parts of one kind in order.
func (t Turn) OfKind(kind partKind) []Part {
	var list []Part
	for _, p := range t.Parts {
		if p.Kind == kind {
			list = append(list, p)
		}
	}
	return list
}

// media returns the media parts in order.
func (c *Conversation) media() []Part {
	var list []Part
	for _, t := range c.Turns {
		list = append(list, t.OfKind(MediaPart)...)
	}
	return list
}

// loop returns the calls since the last prompt with their results.
func (c *Conversation) loop() []exchange {
	var list []exchange
	for _, t := range c.Turns[c.LastPrompt()+1:] {
		for _, p := range t.Parts {
			switch p.Kind {
			case CallPart:
				list = append(list, exchange{call: p})
			case ResultPart:
				for i := range list {
					if !list[i].done && (list[i].call.ID == p.ID || p.ID == "" && list[i].call.Name == p.Name) {
						list[i].result, list[i].done = p, true
						break
					}
				}
			default:
			}
		}
	}
	return list
}

type exchange struct {
	call, result Part
	done         bool
}

var bracketed = regexp.MustCompile(`\[([a-z0-9 ]+)\]`)

// bracketedNames returns the instructions in brackets in a text, such as [tool loop].
func bracketedNames(text string) []string {
	var list []string
	for _, found := range bracketed.FindAllStringSubmatch(text, -1) {
		list = append(list, found[1])
	}
	return list
}

// Length returns the size of the request in tokens of about four characters each.
func (c *Conversation) Length() int {
	n := len(c.System)
	for _, t := range c.Tools {
		n += len(t.Name) + len(t.Schema)
	}
	for _, t := range c.Turns {
		for _, p := range t.Parts {
			n += len(p.Text) + len(p.Input) + p.Size/100
		}
	}
	return Tokens(n)
}

// Tokens estimates a number of tokens: one for every four characters, rounded up.
func Tokens(characters int) int { return (characters + 3) / 4 }

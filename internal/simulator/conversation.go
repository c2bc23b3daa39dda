package simulator

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
)

// Conversation is the content of a request, independent of the API format.
type Conversation struct {
	Model   string
	System  string
	Turns   []Turn
	Tools   []Tool
	Must    bool   // whether a tool must be called
	Only    string // name of the tool that must be called
	Never   bool   // whether no tool may be called
	Single  bool   // whether at most one tool may be called at a time
	Schema  json.RawMessage
	JSON    bool // whether the response must be JSON of any shape
	Limit   int  // output limit in tokens; 0 for none
	Stops   []string
	Think   bool   // whether the request asks for reasoning
	NoThink bool   // whether the request forbids reasoning
	Prefix  string // prefix that the client marked for caching; empty for none
	Marks   bool   // whether the format caches only marked prefixes
	Count   int    // number of requested choices; 0 counts as 1

	callID string // prefix of call IDs
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

// Kind is the kind of a Part.
type Kind int

// Kinds of parts.
const (
	TextPart Kind = iota
	MediaPart
	CallPart
	ResultPart
	ThinkingPart
	RedactedPart // encrypted reasoning
)

// Part is one piece of a turn's content, such as a text, an image, a tool call or its result.
type Part struct {
	Kind      Kind
	Text      string          // content of a text, a result or reasoning
	Pieces    []string        // pieces of Text in a stream; nil to split Text
	MediaType string          // media type, or the address of media that the request does not contain
	Size      int             // bytes of media
	ID        string          // call ID; only for calls and results
	Name      string          // tool name; only for calls and results
	Input     json.RawMessage // arguments of a call; free text if Custom
	Custom    bool            // whether the tool takes free text; only for calls
	Failed    bool            // whether the call failed; only for results
	Signature string          // signature of reasoning or of a call; for encrypted reasoning, the encrypted data
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
		if !t.Assistant && len(t.OfKind(ResultPart)) == 0 {
			return i
		}
	}
	return -1
}

// Text joins the text parts of the turn with spaces.
func (t Turn) Text() string {
	var texts []string
	for _, p := range t.OfKind(TextPart) {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, " ")
}

// OfKind returns the parts of one kind in order.
func (t Turn) OfKind(kind Kind) []Part {
	var list []Part
	for _, p := range t.Parts {
		if p.Kind == kind {
			list = append(list, p)
		}
	}
	return list
}

// Offers reports whether the request has a tool with the given name.
func (c *Conversation) Offers(name string) bool {
	return slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.Name == name })
}

// add appends parts to the conversation. Consecutive parts of the same speaker form one turn if merge is set.
func (c *Conversation) add(assistant, merge bool, parts ...Part) {
	if n := len(c.Turns); merge && n > 0 && c.Turns[n-1].Assistant == assistant {
		c.Turns[n-1].Parts = append(c.Turns[n-1].Parts, parts...)
		return
	}
	c.Turns = append(c.Turns, Turn{Assistant: assistant, Parts: parts})
}

// addSystem appends to the system prompt.
func (c *Conversation) addSystem(parts []Part) {
	c.System = strings.TrimSpace(c.System + " " + Turn{Parts: parts}.Text())
}

// size returns the size of a turn in characters. A byte of media counts as a hundredth.
func (t Turn) size() int {
	n := 0
	for _, p := range t.Parts {
		n += len(p.Text) + len(p.Input) + p.Size/100
	}
	return n
}

// Length returns the size of the request in tokens.
func (c *Conversation) Length() int {
	n := len(c.System)
	for _, t := range c.Tools {
		n += len(t.Name) + len(t.Schema)
	}
	for _, t := range c.Turns {
		n += t.size()
	}
	return Tokens(n)
}

// Tokens estimates a number of tokens: one for every four characters, rounded up.
func Tokens(characters int) int { return (characters + 3) / 4 }

// media returns the part for an address, which may be a data URL.
func media(address string) Part {
	if rest, found := strings.CutPrefix(address, "data:"); found {
		mediaType, data, _ := strings.Cut(rest, ";base64,")
		return inlineMedia(mediaType, data)
	}
	return Part{Kind: MediaPart, MediaType: address}
}

func inlineMedia(mediaType, data string) Part {
	return Part{Kind: MediaPart, MediaType: mediaType, Size: base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))}
}

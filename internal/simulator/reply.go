package simulator

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Reply is a response, independent of the API format.
type Reply struct {
	ID      string
	Parts   []Part
	Finish  Finish
	Stopped string // stop sequence that ended the reply
	Usage   Usage

	usageJSON string // JSON for the usage member in place of Usage; "none" omits the member
	model     string // model name in the response
}

// Finish is the reason why a reply ended.
type Finish int

// Reasons why a reply ends.
const (
	Completed Finish = iota
	CallsTools
	LimitReached
	StopSequence
	Rejected
	Blocked // the prompt was blocked
)

// Usage is the token usage of a reply. Input includes cached tokens, and Output includes reasoning tokens.
type Usage struct{ Input, CacheRead, CacheWrite, Output, Thinking int }

// Digest returns the beginning of the SHA-256 of the texts in hexadecimal.
func Digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// Sign returns a signature that identifies a text as written by a model of the simulator.
func Sign(model, text string) string {
	sum := sha256.Sum256([]byte("signature of " + model + ": " + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// NewReply returns an empty reply. The same conversation gets the same ID.
func NewReply(c *Conversation) *Reply {
	return &Reply{ID: Digest(c.Model, c.System, fmt.Sprint(c.Turns)), Usage: Usage{Input: c.Length()}, model: c.Model}
}

// AddThinking adds reasoning with a signature. The response does not contain a hidden text.
func (r *Reply) AddThinking(text string, hidden bool) {
	r.Usage.Thinking += Tokens(len(text))
	r.Usage.Output += Tokens(len(text))
	if hidden {
		text = ""
	}
	r.Parts = append(r.Parts, Part{Kind: ThinkingPart, Text: text, Signature: Sign(r.model, text)})
}

// reasonedCall marks the IDs of calls that follow reasoning, so that a check can require the reasoning together with the call.
const reasonedCall = "r"

var reasonedID = regexp.MustCompile("_" + reasonedCall + "[0-9a-f]{20}$")

// FollowsReasoning reports whether the call with this ID followed reasoning.
func FollowsReasoning(callID string) bool { return reasonedID.MatchString(callID) }

// AddCalls ends the reply with tool calls and sets their IDs.
func (r *Reply) AddCalls(c *Conversation, calls ...Part) {
	r.Finish = CallsTools
	mark := ""
	if r.Usage.Thinking > 0 {
		mark = reasonedCall
	}
	for i, call := range calls {
		call.Kind, call.ID = CallPart, c.callID+mark+Digest(r.ID, strconv.Itoa(i))[:20]
		if call.Custom && call.Input == nil {
			call.Input = json.RawMessage("simulated input")
		}
		r.Parts = append(r.Parts, call)
		r.Usage.Output += Tokens(len(call.Name) + len(call.Input))
	}
}

// AddText ends the reply with text and applies the stop sequences and the output limit of the request.
func (r *Reply) AddText(c *Conversation, text string) {
	for _, stop := range c.Stops {
		if before, _, found := strings.Cut(text, stop); found && stop != "" {
			text, r.Finish, r.Stopped = before, StopSequence, stop
		}
	}
	if left := (c.Limit - r.Usage.Thinking) * 4; c.Limit > 0 && len(text) > left {
		text, r.Finish, r.Stopped = strings.ToValidUTF8(text[:max(left, 0)], ""), LimitReached, ""
	}
	r.Usage.Output += Tokens(len(text))
	if text != "" {
		r.Parts = append(r.Parts, Part{Kind: TextPart, Text: text})
	}
}

// pieceLength is the length of the pieces of a stream in characters.
const pieceLength = 12

// pieces splits a text for a stream.
func pieces(text string) []string {
	var list []string
	for part := range slices.Chunk([]rune(text), pieceLength) {
		list = append(list, string(part))
	}
	return list
}

func (p Part) pieces() []string {
	if p.Pieces != nil {
		return p.Pieces
	}
	return pieces(p.Text)
}

// text returns the joined text of the reply.
func (r *Reply) text() string {
	var out strings.Builder
	for _, p := range (Turn{Parts: r.Parts}).OfKind(TextPart) {
		out.WriteString(p.Text)
	}
	return out.String()
}

// setUsage sets the usage member, unless the reply omits or replaces it.
func (r *Reply) setUsage(o Object, name string, computed Object) {
	switch r.usageJSON {
	case "":
		o[name] = computed
	case "none":
		delete(o, name)
	default:
		o[name] = json.RawMessage(r.usageJSON)
	}
}

// sampleCall returns a call to a tool, with arguments that match its schema.
func (t Tool) sampleCall() Part {
	if t.Custom {
		return Part{Name: t.Name, Custom: true}
	}
	return Part{Name: t.Name, Input: Sample(t.Schema)}
}

// RequiredCall returns a call to the tool that the request requires.
func (c *Conversation) RequiredCall() Part {
	i := max(slices.IndexFunc(c.Tools, func(t Tool) bool { return t.Name == c.Only }), 0)
	return c.Tools[i].sampleCall()
}

// sseEvent encodes a server-sent event. The event name is optional.
func sseEvent(name string, data any) []byte {
	if name != "" {
		name = "event: " + name + "\n"
	}
	return []byte(name + "data: " + string(Encode(data)) + "\n\n")
}

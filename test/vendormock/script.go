package vendormock

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"fairlead.dev/internal/simulator"
)

// Reply is the vendor-independent response of the mock.
type Reply struct {
	ID      string
	Parts   []Part
	Finish  Finish
	Stopped string // stop sequence that ended the reply
	Usage   usage
	fault   fault
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

type usage struct{ Input, CacheRead, CacheWrite, Output, Thinking int }

// fault is a failure while a response is sent.
type fault struct {
	inStream bool // whether an error event follows part of the response
	cut      bool // whether the connection breaks after part of the response
	slow     bool // whether the first token is late
}

// instruction describes how an instruction in brackets affects a reply.
type instruction struct {
	text   string
	finish Finish
	fault  fault
	hide   bool // whether part of the reasoning is encrypted
}

// instructions maps the instructions that a prompt may contain in brackets. [error STATUS] and [error STATUS once] are
// handled separately.
var instructions = map[string]instruction{
	"count":           {text: counted},
	"refuse":          {finish: Rejected},
	"block":           {finish: Blocked},
	"redacted":        {hide: true},
	"error in stream": {fault: fault{inStream: true}},
	"cut":             {fault: fault{cut: true}},
	"slow":            {fault: fault{slow: true}},
}

// counted is the reply to [count]. It is long enough for stop sequences and token limits to take effect.
const counted = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"

// Greeting is part of every plain reply. It has characters of two, three and four bytes.
const Greeting = "Grüße, 日本語, 🚀."

// answer returns the reply to a conversation. The same conversation gets the same reply.
func answer(c *Conversation, names []string) Reply {
	r := Reply{ID: Digest(c.Model, c.System, fmt.Sprint(c.Turns))[:24]}
	var w instruction
	for _, word := range names {
		if found, ok := instructions[word]; ok {
			w = found
		}
	}
	r.Finish, r.fault = w.finish, w.fault
	r.Usage.Input = c.Length()
	if r.Finish == Rejected || r.Finish == Blocked {
		return r
	}
	if c.Think {
		r.addReasoning(c, w.hide)
	}
	if calls := c.calls(names); len(calls) > 0 {
		r.addCalls(c, calls)
	} else {
		r.addText(c, w)
	}
	return r
}

func (r *Reply) addReasoning(c *Conversation, hide bool) {
	text := fmt.Sprintf("Thinking about %q, step %d.", c.Prompt(), 1+len(c.loop()))
	r.Usage.Thinking = Tokens(len(text))
	if c.Omit {
		text = ""
	}
	r.Parts = append(r.Parts, Part{Kind: ThinkingPart, Text: text, Signature: Sign(c.Model, text)})
	if hide {
		r.Parts = append(r.Parts, Part{Kind: RedactedPart, Signature: Sign(c.Model, "hidden")})
	}
	r.Usage.Output += r.Usage.Thinking
}

func (r *Reply) addCalls(c *Conversation, calls []Part) {
	r.Finish = CallsTools
	if len(c.loop()) == 0 && !c.Must {
		r.Parts = append(r.Parts, Part{Kind: TextPart, Text: "Let me look that up."})
	}
	for i, call := range calls {
		call.Kind = CallPart
		call.ID = c.CallID + Digest(r.ID, strconv.Itoa(i))[:20]
		if c.NineCharIDs {
			call.ID = call.ID[:9]
		}
		if c.SignCall && i == 0 {
			call.Signature = Sign(c.Model, call.Name+Canonical(call.Input))
		}
		r.Parts = append(r.Parts, call)
		r.Usage.Output += Tokens(len(call.Name) + len(call.Input))
	}
}

// addText ends the reply with text and applies the stop sequences and the output limit of the request.
func (r *Reply) addText(c *Conversation, w instruction) {
	text := w.text
	if text == "" {
		text = c.text()
	}
	for _, stop := range c.Stops {
		if before, _, found := strings.Cut(text, stop); found {
			text, r.Finish, r.Stopped = before, StopSequence, stop
		}
	}
	if left := c.Limit*4 - r.Usage.Thinking*4; c.Limit > 0 && len(text) > left {
		text, r.Finish, r.Stopped = strings.ToValidUTF8(text[:max(left, 0)], ""), LimitReached, ""
	}
	r.Usage.Output += Tokens(len(text))
	if text != "" {
		r.Parts = append(r.Parts, Part{Kind: TextPart, Text: text})
	}
}

// text returns the reply to a conversation without instructions. It describes what the mock received.
func (c *Conversation) text() string {
	switch {
	case c.Schema != nil:
		return string(simulator.Sample(c.Schema))
	case c.JSON:
		return `{"answer":"yes"}`
	}
	if loop := c.loop(); len(loop) > 0 {
		if slices.Contains(bracketedNames(c.Prompt()), "edit loop") {
			return editReport(loop)
		}
		return summary(loop)
	}
	if slices.Contains(bracketedNames(c.Prompt()), "edit text") {
		return c.editText()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "You said %q.", c.Prompt())
	if c.System != "" {
		fmt.Fprintf(&out, " The system said %q.", c.System)
	}
	if n := len(c.Turns); n > 1 {
		fmt.Fprintf(&out, " That was turn %d.", n)
	}
	for _, m := range c.media() {
		fmt.Fprintf(&out, " I see %s of %d bytes.", m.MediaType, m.Size)
	}
	return out.String() + " " + Greeting
}

// calls returns the tool calls to make now: the next step of the tool loop, or a call that the request requires.
func (c *Conversation) calls(names []string) []Part {
	if c.Never || len(c.Tools) == 0 {
		return nil
	}
	var list []Part
	if slices.Contains(names, "tool loop") {
		list = c.nextStep()
	}
	if slices.Contains(names, "edit loop") {
		list = c.nextEdit()
	}
	list = slices.DeleteFunc(list, func(p Part) bool { return !c.Offers(p.Name) || c.Only != "" && p.Name != c.Only })
	if len(list) == 0 && c.Must {
		list = []Part{c.sampled()}
	}
	if c.Single && len(list) > 1 {
		list = list[:1]
	}
	return list
}

// Offers reports whether the request has a tool with the given name.
func (c *Conversation) Offers(name string) bool {
	return slices.ContainsFunc(c.Tools, func(t Tool) bool { return t.Name == name })
}

// sampled returns a call to the required tool with an input that matches the tool's schema.
func (c *Conversation) sampled() Part {
	chosen := c.Tools[0]
	for _, t := range c.Tools {
		if t.Name == c.Only {
			chosen = t
		}
	}
	if chosen.Custom {
		return Part{Name: chosen.Name, Custom: true, Input: json.RawMessage("text of the call")}
	}
	return Part{Name: chosen.Name, Input: simulator.Sample(chosen.Schema)}
}

// nextStep returns the next calls of the tool loop: the temperature of two cities, then their sum together with the
// time, then nothing.
func (c *Conversation) nextStep() []Part {
	loop := c.loop()
	if slices.ContainsFunc(loop, func(e exchange) bool { return e.result.Failed }) {
		return nil
	}
	paris, rome := `{"city":"Paris"}`, `{"city":"Rome"}`
	first := pending(loop, Part{Name: "get_temperature", Input: json.RawMessage(paris)}, Part{Name: "get_temperature", Input: json.RawMessage(rome)})
	if len(first) > 0 {
		return first
	}
	sum := fmt.Sprintf(`{"a":%d,"b":%d}`, number(loop, "get_temperature", paris), number(loop, "get_temperature", rome))
	return pending(loop, Part{Name: "add", Input: json.RawMessage(sum)}, Part{Name: "clock", Input: json.RawMessage(`{}`)})
}

// pending returns the calls that were not made yet.
func pending(loop []exchange, calls ...Part) []Part {
	return slices.DeleteFunc(calls, func(p Part) bool { return find(loop, p.Name, string(p.Input)) != nil })
}

func find(loop []exchange, name, input string) *exchange {
	for i, e := range loop {
		if e.call.Name == name && Canonical(e.call.Input) == Canonical(json.RawMessage(input)) {
			return &loop[i]
		}
	}
	return nil
}

// Canonical returns JSON with sorted members and without white space.
func Canonical(raw json.RawMessage) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	return string(Encode(value))
}

var digits = regexp.MustCompile(`-?\d+`)

// number returns the first integer in the result of a call, or 0 if there is none.
func number(loop []exchange, name, input string) int {
	e := find(loop, name, input)
	if e == nil {
		return 0
	}
	n, err := strconv.Atoi(digits.FindString(e.result.Text))
	if err != nil {
		return 0
	}
	return n
}

// summary returns a text that repeats every result, so that lost or mixed-up results are visible.
func summary(loop []exchange) string {
	var lines []string
	for _, e := range loop {
		verb := "gave"
		if e.result.Failed {
			verb = "failed with"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s.", e.call.Name, Compact(e.call.Input), verb, e.result.Text))
	}
	return strings.Join(lines, " ")
}

// Compact removes insignificant white space. It returns invalid JSON unchanged.
func Compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// Sign returns a signature that identifies a text as the mock's own.
func Sign(model, text string) string {
	sum := sha256.Sum256([]byte("signature of " + model + ": " + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Digest returns the SHA-256 of the texts in hexadecimal.
func Digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:])
}

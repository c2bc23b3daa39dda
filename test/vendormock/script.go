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

	"fairlead/internal/simulator/openai"
)

// reply is what the mock answers, before a vendor has put it into its own format.
type reply struct {
	id      string
	parts   []part
	finish  finish
	stopped string // the stop sequence that ended it
	usage   usage
	fault   fault
}

type finish int

const (
	ended finish = iota
	calling
	cutShort
	stopped
	refused
	blocked // the prompt itself
)

type usage struct{ input, cacheRead, cacheWrite, output, thinking int }

// fault is what goes wrong on the way of a good answer.
type fault struct {
	inStream bool // an error event after some of the answer
	cut      bool // the connection breaks after some of the answer
	slow     bool // the first token takes its time
}

// wish is what a word in brackets does to an answer.
type wish struct {
	text   string
	finish finish
	fault  fault
	hide   bool // some of the reasoning is not for reading
}

// wishes are the words that a prompt may hold in brackets; [error STATUS] and [error STATUS once] come on top.
var wishes = map[string]wish{
	"count":           {text: counted},
	"refuse":          {finish: refused},
	"block":           {finish: blocked},
	"redacted":        {hide: true},
	"error in stream": {fault: fault{inStream: true}},
	"cut":             {fault: fault{cut: true}},
	"slow":            {fault: fault{slow: true}},
}

// counted is long enough for stop sequences and token limits to have something to end.
const counted = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"

// greeting stands in every plain answer: signs of two, three and four bytes.
const greeting = "Grüße, 日本語, 🚀."

// answer decides what to say. The same conversation gets the same answer.
func answer(c *conversation, asked []string) reply {
	r := reply{id: digest(c.model, c.system, fmt.Sprint(c.turns))[:24]}
	var w wish
	for _, word := range asked {
		if found, ok := wishes[word]; ok {
			w = found
		}
	}
	r.finish, r.fault = w.finish, w.fault
	r.usage.input = c.length()
	if r.finish == refused || r.finish == blocked {
		return r
	}
	if c.think {
		r.think(c, w.hide)
	}
	if calls := c.calls(asked); len(calls) > 0 {
		r.call(c, calls)
	} else {
		r.say(c, w)
	}
	return r
}

func (r *reply) think(c *conversation, hide bool) {
	text := fmt.Sprintf("Thinking about %q, step %d.", c.prompt(), 1+len(c.loop()))
	r.usage.thinking = tokens(len(text))
	if c.omit {
		text = ""
	}
	r.parts = append(r.parts, part{kind: thought, text: text, signature: sign(c.model, text)})
	if hide {
		r.parts = append(r.parts, part{kind: hidden, signature: sign(c.model, "hidden")})
	}
	r.usage.output += r.usage.thinking
}

func (r *reply) call(c *conversation, calls []part) {
	r.finish = calling
	if len(c.loop()) == 0 && !c.must {
		r.parts = append(r.parts, part{kind: said, text: "Let me look that up."})
	}
	for i, call := range calls {
		call.kind = called
		call.id = c.callID + digest(r.id, strconv.Itoa(i))[:20]
		if c.nine {
			call.id = call.id[:9]
		}
		if c.signCall && i == 0 {
			call.signature = sign(c.model, call.name+canonical(call.input))
		}
		r.parts = append(r.parts, call)
		r.usage.output += tokens(len(call.name) + len(call.input))
	}
}

// say ends the turn with text, within the limits that the request sets.
func (r *reply) say(c *conversation, w wish) {
	text := w.text
	if text == "" {
		text = c.text()
	}
	for _, stop := range c.stops {
		if before, _, found := strings.Cut(text, stop); found {
			text, r.finish, r.stopped = before, stopped, stop
		}
	}
	if room := c.limit*4 - r.usage.thinking*4; c.limit > 0 && len(text) > room {
		text, r.finish, r.stopped = strings.ToValidUTF8(text[:max(room, 0)], ""), cutShort, ""
	}
	r.usage.output += tokens(len(text))
	if text != "" {
		r.parts = append(r.parts, part{kind: said, text: text})
	}
}

// text is the answer of a conversation that asks for nothing special: it says what arrived.
func (c *conversation) text() string {
	switch {
	case c.schema != nil:
		return string(openai.Instance(c.schema, 1))
	case c.json:
		return `{"answer":"yes"}`
	}
	if loop := c.loop(); len(loop) > 0 {
		return summary(loop)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "You said %q.", c.prompt())
	if c.system != "" {
		fmt.Fprintf(&out, " The system said %q.", c.system)
	}
	if n := len(c.turns); n > 1 {
		fmt.Fprintf(&out, " That was turn %d.", n)
	}
	for _, m := range c.media() {
		fmt.Fprintf(&out, " I see %s of %d bytes.", m.mediaType, m.size)
	}
	return out.String() + " " + greeting
}

// calls are the tools to call now: the next step of the tool loop, or whatever the request insists on.
func (c *conversation) calls(asked []string) []part {
	if c.never || len(c.tools) == 0 {
		return nil
	}
	var list []part
	if slices.Contains(asked, "tool loop") {
		list = c.nextStep()
	}
	list = slices.DeleteFunc(list, func(p part) bool { return !c.offers(p.name) || c.only != "" && p.name != c.only })
	if len(list) == 0 && c.must {
		list = []part{c.sampled()}
	}
	if c.single && len(list) > 1 {
		list = list[:1]
	}
	return list
}

func (c *conversation) offers(name string) bool {
	return slices.ContainsFunc(c.tools, func(t tool) bool { return t.name == name })
}

// sampled calls the tool that must be called with some input that its schema allows.
func (c *conversation) sampled() part {
	chosen := c.tools[0]
	for _, t := range c.tools {
		if t.name == c.only {
			chosen = t
		}
	}
	return part{name: chosen.name, input: openai.Instance(chosen.schema, 1)}
}

// nextStep of the loop: the temperature of two cities, then their sum together with the time, then nothing more.
func (c *conversation) nextStep() []part {
	loop := c.loop()
	if slices.ContainsFunc(loop, func(e exchange) bool { return e.result.failed }) {
		return nil
	}
	paris, rome := `{"city":"Paris"}`, `{"city":"Rome"}`
	first := pending(loop, part{name: "get_temperature", input: json.RawMessage(paris)}, part{name: "get_temperature", input: json.RawMessage(rome)})
	if len(first) > 0 {
		return first
	}
	sum := fmt.Sprintf(`{"a":%d,"b":%d}`, number(loop, "get_temperature", paris), number(loop, "get_temperature", rome))
	return pending(loop, part{name: "add", input: json.RawMessage(sum)}, part{name: "clock", input: json.RawMessage(`{}`)})
}

// pending leaves those of the calls that were not made yet.
func pending(loop []exchange, calls ...part) []part {
	return slices.DeleteFunc(calls, func(p part) bool { return find(loop, p.name, string(p.input)) != nil })
}

func find(loop []exchange, name, input string) *exchange {
	for i, e := range loop {
		if e.call.name == name && canonical(e.call.input) == canonical(json.RawMessage(input)) {
			return &loop[i]
		}
	}
	return nil
}

// canonical is JSON without the order and the spacing that a client gave it.
func canonical(raw json.RawMessage) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	return string(encode(value))
}

var digits = regexp.MustCompile(`-?\d+`)

// number is the first whole number in the result of a call; 0 where there is none.
func number(loop []exchange, name, input string) int {
	e := find(loop, name, input)
	if e == nil {
		return 0
	}
	n, err := strconv.Atoi(digits.FindString(e.result.text))
	if err != nil {
		return 0
	}
	return n
}

// summary repeats every result, so that one that got lost or mixed up shows.
func summary(loop []exchange) string {
	var lines []string
	for _, e := range loop {
		verb := "gave"
		if e.result.failed {
			verb = "failed with"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s.", e.call.name, compact(e.call.input), verb, e.result.text))
	}
	return strings.Join(lines, " ")
}

func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// sign makes the signature that proves that a text is the mock's own.
func sign(model, text string) string {
	sum := sha256.Sum256([]byte("signature of " + model + ": " + text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:])
}

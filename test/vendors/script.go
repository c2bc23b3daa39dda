package vendors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/internal/simulator"
)

// conversation adds the steps of tool loops to a conversation. Words in brackets in the prompt request special behaviour: [tool loop],
// [edit loop], [edit text], [count], [refuse], [block], [redacted].
type conversation struct{ *simulator.Conversation }

// counted is the reply to [count]. It is long enough for stop sequences and token limits to take effect.
const counted = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"

// greeting is part of every plain reply. It has characters of two, three and four bytes.
const greeting = "Grüße, 日本語, 🚀."

// reply returns the reply to a call. It describes what the vendor received.
func reply(call *simulator.Call) *simulator.Reply {
	c := conversation{call.Read()}
	r := simulator.NewReply(c.Conversation)
	names := bracketedNames(c.Prompt())
	switch {
	case slices.Contains(names, "refuse"):
		r.Finish = simulator.Rejected
		return r
	case slices.Contains(names, "block"):
		r.Finish = simulator.Blocked
		return r
	}
	if thinks, hidden := c.thinks(call); thinks {
		r.AddThinking(fmt.Sprintf("Thinking about %q, step %d.", c.Prompt(), 1+len(c.loop())), hidden)
		if slices.Contains(names, "redacted") {
			r.Parts = append(r.Parts, simulator.Part{Kind: simulator.RedactedPart, Signature: simulator.Sign(c.Model, "hidden")})
		}
	}
	if calls := c.calls(names); len(calls) > 0 {
		c.addCalls(call, r, calls)
		return r
	}
	text := c.text(names)
	if slices.Contains(names, "count") {
		text = counted
	}
	r.AddText(c.Conversation, text)
	return r
}

// thinks reports whether the model reasons, and whether the API hides the text.
func (c conversation) thinks(call *simulator.Call) (thinks, hidden bool) {
	if f := familyOf(families, c.Model, func(f *family) *regexp.Regexp { return f.names }); f != nil {
		return f.reasons() && !c.NoThink, strings.HasSuffix(call.Path, "/chat/completions")
	}
	display := gjson.GetBytes(call.Body, "thinking.display").String()
	f := familyOf(claudes, c.Model, func(f *claude) *regexp.Regexp { return f.names })
	return c.Think, display == "omitted" || display == "" && f != nil && f.omits
}

// addCalls ends the reply with calls and adapts their IDs and signatures to the model.
func (c conversation) addCalls(call *simulator.Call, r *simulator.Reply, calls []simulator.Part) {
	gemini := familyOf(geminis, c.Model, func(f *geminiTraits) *regexp.Regexp { return f.names })
	if gemini != nil && (gemini.signatures || gjson.GetBytes(call.Body, "generationConfig.thinkingConfig").Exists()) {
		calls[0].Signature = simulator.Sign(c.Model, calls[0].Name)
	}
	if len(c.loop()) == 0 && !c.Must {
		r.Parts = append(r.Parts, simulator.Part{Kind: simulator.TextPart, Text: "Let me look that up."})
	}
	r.AddCalls(c.Conversation, calls...)
	bedrock := familyOf(bedrocks, c.Model, func(f *bedrockTraits) *regexp.Regexp { return f.names })
	for i := range r.Parts {
		switch {
		case r.Parts[i].Kind != simulator.CallPart:
		case gemini != nil && !gemini.callIDs:
			r.Parts[i].ID = ""
		case bedrock != nil && bedrock.nineCharIDs:
			id := r.Parts[i].ID
			r.Parts[i].ID = id[len(id)-9:]
		}
	}
}

// text returns the text of a reply.
func (c conversation) text(names []string) string {
	loop := c.loop()
	switch {
	case c.Schema != nil:
		return string(simulator.Sample(c.Schema))
	case c.JSON:
		return `{"answer":"yes"}`
	case len(loop) > 0 && slices.Contains(names, "edit loop"):
		return editReport(loop)
	case len(loop) > 0:
		return summary(loop)
	case slices.Contains(names, "edit text"):
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
	for _, t := range c.Turns {
		for _, m := range t.OfKind(simulator.MediaPart) {
			fmt.Fprintf(&out, " I see %s of %d bytes.", m.MediaType, m.Size)
		}
	}
	return out.String() + " " + greeting
}

// calls returns the tool calls to make now: the next step of a loop, or a call that the request requires.
func (c conversation) calls(names []string) []simulator.Part {
	if c.Never || len(c.Tools) == 0 {
		return nil
	}
	var list []simulator.Part
	if slices.Contains(names, "tool loop") {
		list = c.nextStep()
	}
	if slices.Contains(names, "edit loop") {
		list = c.nextEdit()
	}
	list = slices.DeleteFunc(list, func(p simulator.Part) bool { return !c.Offers(p.Name) || c.Only != "" && p.Name != c.Only })
	if len(list) == 0 && c.Must {
		list = []simulator.Part{c.RequiredCall()}
	}
	if c.Single && len(list) > 1 {
		list = list[:1]
	}
	return list
}

// exchange is a tool call with its result.
type exchange struct {
	call, result simulator.Part
	done         bool
}

// loop returns the calls since the last prompt with their results.
func (c conversation) loop() []exchange {
	var list []exchange
	for _, t := range c.Turns[c.LastPrompt()+1:] {
		for _, p := range t.Parts {
			switch p.Kind {
			case simulator.CallPart:
				list = append(list, exchange{call: p})
			case simulator.ResultPart:
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

var bracketed = regexp.MustCompile(`\[([a-z0-9 ]+)\]`)

// bracketedNames returns the instructions in brackets in a text, such as [tool loop].
func bracketedNames(text string) []string {
	var list []string
	for _, found := range bracketed.FindAllStringSubmatch(text, -1) {
		list = append(list, found[1])
	}
	return list
}

// nextStep returns the next calls of the tool loop: the temperature of two cities, then their sum together with the time, then nothing.
func (c conversation) nextStep() []simulator.Part {
	loop := c.loop()
	if slices.ContainsFunc(loop, func(e exchange) bool { return e.result.Failed }) {
		return nil
	}
	paris, rome := `{"city":"Paris"}`, `{"city":"Rome"}`
	step := func(name, input string) simulator.Part {
		return simulator.Part{Name: name, Input: json.RawMessage(input)}
	}
	if first := pending(loop, step("get_temperature", paris), step("get_temperature", rome)); len(first) > 0 {
		return first
	}
	sum := fmt.Sprintf(`{"a":%d,"b":%d}`, number(loop, "get_temperature", paris), number(loop, "get_temperature", rome))
	return pending(loop, step("add", sum), step("clock", "{}"))
}

// pending returns the calls that were not made yet.
func pending(loop []exchange, calls ...simulator.Part) []simulator.Part {
	return slices.DeleteFunc(calls, func(p simulator.Part) bool { return find(loop, p.Name, string(p.Input)) != nil })
}

func find(loop []exchange, name, input string) *exchange {
	for i, e := range loop {
		if e.call.Name == name && canonical(e.call.Input) == canonical([]byte(input)) {
			return &loop[i]
		}
	}
	return nil
}

// canonical returns JSON with sorted members and without white space.
func canonical(raw []byte) string {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return string(raw)
	}
	return string(simulator.Encode(value))
}

var digits = regexp.MustCompile(`-?\d+`)

// number returns the first integer in the result of a call, or 0 if there is none.
func number(loop []exchange, name, input string) int {
	e := find(loop, name, input)
	if e == nil {
		return 0
	}
	n, _ := strconv.Atoi(digits.FindString(e.result.Text))
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
		lines = append(lines, fmt.Sprintf("%s %s %s %s.", e.call.Name, compact(e.call.Input), verb, e.result.Text))
	}
	return strings.Join(lines, " ")
}

// compact removes insignificant white space. It returns invalid JSON unchanged.
func compact(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

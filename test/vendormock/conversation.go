package vendormock

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// conversation is a request as far as the answer depends on it, whatever the vendor.
type conversation struct {
	model    string
	system   string
	turns    []turn
	tools    []tool
	must     bool   // a tool has to be called
	only     string // and it has to be this one
	never    bool   // no tool may be called
	single   bool   // one call at a time
	schema   json.RawMessage
	json     bool // the answer is JSON, of no particular shape
	limit    int  // of tokens; 0 for none
	stops    []string
	think    bool
	omit     bool   // reasoning is signed for, but not shown
	prefix   string // what may be kept for the next request; empty for nothing
	stream   bool
	answers  int    // how many answers are wanted; 0 counts as 1
	signCall bool   // signatures stand on the first call of a turn
	callID   string // how ids of calls begin
	nine     bool   // ids of calls are nine signs long
}

type tool struct {
	name   string
	schema json.RawMessage
}

// turn is what one side said.
type turn struct {
	assistant bool
	parts     []part
}

type partKind int

const (
	said partKind = iota
	media
	called
	result
	thought
	hidden // encrypted reasoning
)

// part is a piece of a turn.
type part struct {
	kind      partKind
	text      string          // said, result, thought
	mediaType string          // media
	size      int             // media
	id        string          // called, result
	name      string          // called, result
	input     json.RawMessage // called
	failed    bool            // result
	signature string          // thought, hidden, called
}

// prompt is the last thing a person said: what follows it is one loop with tools.
func (c *conversation) prompt() string {
	if i := c.lastPrompt(); i >= 0 {
		return c.turns[i].text()
	}
	return ""
}

func (c *conversation) lastPrompt() int {
	for i, t := range slices.Backward(c.turns) {
		if !t.assistant && !slices.ContainsFunc(t.parts, func(p part) bool { return p.kind == result }) {
			return i
		}
	}
	return -1
}

func (t turn) text() string {
	var texts []string
	for _, p := range t.parts {
		if p.kind == said {
			texts = append(texts, p.text)
		}
	}
	return strings.Join(texts, " ")
}

func (t turn) of(kind partKind) []part {
	var list []part
	for _, p := range t.parts {
		if p.kind == kind {
			list = append(list, p)
		}
	}
	return list
}

// media lists the non-text parts in order.
func (c *conversation) media() []part {
	var list []part
	for _, t := range c.turns {
		list = append(list, t.of(media)...)
	}
	return list
}

// loop pairs the calls since the last prompt with their results.
func (c *conversation) loop() []exchange {
	var list []exchange
	for _, t := range c.turns[c.lastPrompt()+1:] {
		for _, p := range t.parts {
			switch p.kind {
			case called:
				list = append(list, exchange{call: p})
			case result:
				for i := range list {
					if !list[i].done && (list[i].call.id == p.id || p.id == "" && list[i].call.name == p.name) {
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
	call, result part
	done         bool
}

var bracketed = regexp.MustCompile(`\[([a-z0-9 ]+)\]`)

// words are the wishes in brackets that a text holds, such as [tool loop].
func words(text string) []string {
	var list []string
	for _, found := range bracketed.FindAllStringSubmatch(text, -1) {
		list = append(list, found[1])
	}
	return list
}

// length is the size of the request in tokens: about four characters each.
func (c *conversation) length() int {
	n := len(c.system)
	for _, t := range c.tools {
		n += len(t.name) + len(t.schema)
	}
	for _, t := range c.turns {
		for _, p := range t.parts {
			n += len(p.text) + len(p.input) + p.size/100
		}
	}
	return tokens(n)
}

func tokens(characters int) int { return (characters + 3) / 4 }

// Package conversation reads the messages of a request: the task that the last user turn belongs to, without the text that
// clients add; whether the request is a housekeeping call of an agent; and whether a tool loop is stuck. It reads the body of a
// validated request in place, keeps no state between requests and performs no I/O.
package conversation

import (
	"unsafe"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Reading holds the information that Read extracts from a request.
type Reading struct {
	Text     string // text of the current task, for the predictor
	System   string // beginning of the instructions
	Findings Findings
}

// Findings is the part of a Reading that is stored with a decision, so that the decision can be recomputed without the messages.
type Findings struct {
	Client    string  `json:"client,omitempty"`    // recognised client, such as claude_code
	Mode      Mode    `json:"mode,omitempty"`      // mode that the client reports
	Purpose   Purpose `json:"purpose,omitempty"`   // purpose of a housekeeping call; empty for a user's task
	Inherited int     `json:"inherited,omitempty"` // number of user turns since the one that states the task
	Trouble   Trouble `json:"trouble,omitzero"`
	Loop      bool    `json:"loop,omitempty"` // whether the last message is a tool result
}

// Mode is the mode in which an agent works, such as planning.
type Mode string

// The modes of agents.
const (
	Plan     Mode = "plan"     // the agent plans and may not change anything
	Subagent Mode = "subagent" // the agent works for another agent
)

// Limits on the content that is read.
const (
	maxText    = 12 << 10 // maximum length of the task in bytes
	maxSystem  = 3 << 10  // maximum length of the instructions in bytes
	maxTurns   = 12       // maximum number of user turns that are read to find the task
	maxResults = 24       // maximum number of tool results that are read
)

// Read reads a chat request. The cost is linear in the size of the body. Only the beginning and the end of long content are decoded.
func Read(req *llm.Request) Reading {
	body := unsafe.String(unsafe.SliceData(req.Body), len(req.Body)) // shares memory with req.Body; the returned Reading contains only copies
	c := conversation{tools: req.Needs.Has(llm.Tools), maxOutput: req.MaxOutput}
	for _, f := range req.Fields {
		if f.Value < 0 || f.Value > f.End || f.End > len(body) {
			continue
		}
		switch f.Name {
		case "messages", "input", "contents":
			c.messages = elements(body[f.Value:f.End], req.Messages)
		}
	}
	text := c.readTask(body, req.Fields)
	c.state.Purpose = c.knownPrompt()
	if c.state.Purpose == "" {
		c.state.Purpose = c.purpose()
	}
	c.state.Loop = len(c.messages) > 0 && c.messages[len(c.messages)-1].isResult()
	if c.state.Purpose == "" {
		c.state.Trouble = c.trouble()
	}
	return Reading{Text: text, System: c.system, Findings: c.state}
}

// conversation holds the state while a request is read.
type conversation struct {
	messages  []message
	system    string
	tools     bool
	maxOutput int64
	state     Findings
}

// readTask reads the instructions and the user turns and returns the text of the current task.
func (c *conversation) readTask(body string, fields []llm.Field) string {
	for _, f := range fields {
		if f.Value < 0 || f.Value > f.End || f.End > len(body) {
			continue
		}
		switch f.Name {
		case "systemInstruction", "system_instruction":
			c.addSystem(member(rawjson.ParseString(body[f.Value:f.End]), `"parts"`))
		case "system", "instructions":
			c.addSystem(rawjson.ParseString(body[f.Value:f.End]))
		}
	}
	first := -1 // index of the first user message
	for i := range c.messages {
		switch c.messages[i].author {
		case bySystem:
			c.addSystem(c.messages[i].content())
		case byUser:
			if first < 0 {
				first = i
			}
		case byModel, byTool, byOther:
		}
	}
	c.identify(c.system)
	if first >= 0 {
		c.identify(head(c.messages[first].text(), maxSystem))
	}
	return c.task(first)
}

// addSystem appends instructions, up to maxSystem bytes.
func (c *conversation) addSystem(content rawjson.Value) {
	if room := maxSystem - len(c.system); room > 0 {
		text := contentText(content, room)
		if c.system != "" && text != "" {
			text = "\n" + text
		}
		c.system += head(text, room)
	}
}

// task returns the text of the current task. It searches backwards from the last user turn and skips replies. If no task is found, it returns the last user turn. first is the index of the first user message.
func (c *conversation) task(first int) string {
	text, turns := "", 0
	for i := len(c.messages) - 1; i >= 0 && turns < maxTurns; i-- {
		if c.messages[i].author != byUser {
			continue
		}
		c.identify(c.messages[i].text())
		turn := c.messages[i].turn()
		if turn == "" {
			continue
		}
		turns++
		if turns == 1 {
			text = turn // used if no earlier turn contains a task
		}
		if i > first {
			answer, answered := "", false // end of the model's last text before the turn
			for j := i - 1; j >= 0 && answer == ""; j-- {
				if c.messages[j].author == byModel {
					answer, answered = tail(c.messages[j].text(), 200), true
				}
			}
			if answered && isReply(turn, answer) {
				continue
			}
		}
		c.state.Inherited = turns - 1
		text = turn
		break
	}
	if len(text) > maxText {
		text = head(text, maxText/4*3) + "\n" + tail(text, maxText/4)
	}
	return instruction(text)
}

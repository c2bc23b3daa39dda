// Package conversation reads the messages of a request: the task that the last user turn belongs to, without the text that
// clients add; whether the request is a housekeeping call of an agent; and whether a tool loop is stuck. It reads the body of a
// validated request in place, keeps no state between requests and performs no I/O.
package conversation

import (
	"strings"
	"unsafe"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/turncache"
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
	maxText      = 12 << 10 // maximum length of the task in bytes
	maxSystem    = 3 << 10  // maximum length of the instructions in bytes
	maxTurns     = 12       // maximum number of user turns that are read to find the task
	maxFollowUps = 2 << 10  // total length of follow-ups in bytes above which the next follow-up counts as the task
	maxResults   = 24       // maximum number of tool results that are read
)

// Read reads a chat request. The cost is linear in the size of the body. Only the beginning and the end of long content are decoded.
func Read(req *llm.Request) Reading {
	r, _ := ReadTurn(req, nil)
	return r
}

// ReadTurn returns the same result as Read, but skips messages and tool results that were read in an earlier turn of the
// conversation. ends are the offsets in the body at which ReadTurn stored its state for the next turn.
func ReadTurn(req *llm.Request, turn *turncache.Turn) (r Reading, ends []int) {
	body := unsafe.String(unsafe.SliceData(req.Body), len(req.Body)) // shares memory with req.Body; the returned Reading contains only copies
	c := conversation{tools: req.Needs.Has(llm.Tools), maxOutput: req.MaxOutput}
	known := &reading{}
	if _, state := turn.Find(turncache.Reading); state != nil {
		known = state.(*reading)
	}
	start, end, instructed := 0, 0, 0
	for _, f := range req.Fields {
		if f.Value < 0 || f.Value > f.End || f.End > len(body) {
			continue
		}
		switch f.Name {
		case "messages", "input", "contents":
			c.messages, c.known = known.elements(body, f, req.Messages)
			start, end = f.Value, f.End-len("]")
		case "systemInstruction", "system_instruction", "system", "instructions":
			instructed = f.End
		}
	}
	var t task
	if known.task != nil && c.known > 0 && instructed <= start && !c.hasWords(c.known) {
		t = *known.task
	} else {
		t = c.readTask(body, req.Fields)
		if turn != nil {
			t.text = strings.Clone(t.text) // without the clone, a short string could keep a long message in memory
		}
	}
	return c.read(&t), c.keep(turn, start, end, t, instructed <= start)
}

// conversation holds the state while a request is read.
type conversation struct {
	messages  []message
	known     int // number of messages known from an earlier turn
	system    string
	tools     bool
	maxOutput int64
	state     Findings
}

// task holds the part of a Reading that depends only on the instructions and the user text.
type task struct {
	text, system string
	state        Findings // findings so far: client, mode and inherited turns
	purpose      Purpose  // purpose of a known client's housekeeping prompt; empty for other prompts
}

// hasWords reports whether a message from the given index on has instructions or user text, which may change the task.
func (c *conversation) hasWords(from int) bool {
	for i := from; i < len(c.messages); i++ {
		if m := &c.messages[i]; m.author == bySystem || m.author == byUser && m.text() != "" {
			return true
		}
	}
	return false
}

// readTask reads the instructions and the user turns.
func (c *conversation) readTask(body string, fields []llm.Field) task {
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
	return task{c.task(first), c.system, c.state, c.knownPrompt()}
}

// read returns the Reading for a task, with the purpose and the trouble of the conversation.
func (c *conversation) read(t *task) Reading {
	c.system, c.state = t.system, t.state
	if c.state.Purpose = t.purpose; t.purpose == "" {
		c.state.Purpose = c.purpose()
	}
	c.state.Loop = len(c.messages) > 0 && c.messages[len(c.messages)-1].isResult()
	if c.state.Purpose == "" {
		c.state.Trouble = c.trouble()
	}
	return Reading{Text: t.text, System: t.system, Findings: c.state}
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

// task returns the text of the current task. It searches backwards from the last user turn, skips short replies, and appends follow-ups to
// the task that they refer to. If no task is found, it returns the last user turn. first is the index of the first user message.
func (c *conversation) task(first int) string {
	text, followUps, turns := "", "", 0
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
		relation := newTask
		if i > first {
			answer := "" // end of the model's last text before the turn
			for j := i - 1; j >= 0 && answer == ""; j-- {
				if c.messages[j].author == byModel {
					answer = tail(c.messages[j].text(), 200)
				}
			}
			relation = relationOf(turn, answer)
		}
		if relation == reply {
			continue
		}
		if relation == followUp && len(followUps) < maxFollowUps {
			followUps = "\n" + turn + followUps
			continue
		}
		c.state.Inherited = turns - 1
		text = turn + followUps
		break
	}
	if len(text) > maxText {
		text = head(text, maxText/4*3) + "\n" + tail(text, maxText/4)
	}
	return instruction(text)
}

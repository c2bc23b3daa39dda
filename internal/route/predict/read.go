package predict

import (
	"math"
	"strings"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Reading is what Read finds in a request.
type Reading struct {
	Features Features
	Findings Findings
}

// Findings describes the conversation of a request. The findings are stored with the decision, so that the decision can be recomputed
// without the messages.
type Findings struct {
	Client    string  `json:"client,omitempty"`    // recognised client, such as claude_code
	Mode      Mode    `json:"mode,omitempty"`      // mode that the client reports
	Purpose   Purpose `json:"purpose,omitempty"`   // purpose of a call that the client makes for itself; empty for a user's task
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

// Purpose is the purpose of a request that is not a user's task.
type Purpose string

// Housekeeping is the purpose of calls that a client makes for itself: titles, tags, summaries, checks of commands, connection tests.
const Housekeeping Purpose = "housekeeping"

// Limits on the content that is read.
const (
	maxSystem = 3 << 10 // maximum length of the instructions in bytes
	maxTurns  = 12      // maximum number of user turns that are read to find the task
)

// A request is a call that a client makes for itself above housekeeping. A request that looks difficult, or that lets the model act, needs
// more evidence. In a tool loop, in a mode of an agent, or after a short reply of the user, the model works on a task.
const (
	housekeeping  = 0.34
	perDifficulty = 0.08 // added to housekeeping for each class of difficulty
	withTools     = 0.25 // added for a request with tools
)

// Read reads a request. The cost is linear in the number of messages and parts. Only the beginning and the end of long content are read.
func Read(req *llm.Request) Reading {
	c, task, system := readRequest(req, nil)
	estimate := requests.offset
	task.addTo(&estimate)
	system.addTo(&estimate)
	for i := range requests.steps {
		if s := &requests.steps[i]; c.measures[s.measure] > s.threshold {
			estimate.add(&s.weights)
		}
	}
	f := Features{Task: estimate.family(), Difficulty: requests.difficulty(estimate[difficultyColumn]), Language: c.language}
	if estimate[housekeepingColumn] > housekeeping+perDifficulty*f.Difficulty+withTools*min(c.measures[tools], 1) && !c.findings.Loop && c.findings.Mode == "" && c.findings.Inherited == 0 {
		c.findings.Purpose = Housekeeping
	} else {
		c.findings.Trouble = c.trouble()
	}
	if task.total > 0 {
		f.Known = math.Round(100*float64(task.known)/float64(task.total)) / 100
	}
	if c.findings.Loop {
		f.Difficulty = stepDifficulty(f.Difficulty, &c.findings.Trouble)
	}
	f.Output = c.output(estimate[lengthColumn])
	return Reading{f, c.findings}
}

// readRequest finds the task of a request and scans its text.
func readRequest(req *llm.Request, stems *[]string) (c *conversation, task, system *scanner) {
	c = &conversation{}
	text := c.readConversation(req)
	task, system = scan(requests, "task ", text, stems), scan(requests, "system ", c.system, stems)
	m := &c.measures
	copy(m[:textMeasures], task.count[:])
	copy(m[textMeasures:], system.count[:])
	m[images], m[limit] = float64(req.Images), float64(req.MaxOutput)
	if req.MaxOutput == 0 {
		m[limit] = noLimit
	}
	if req.Needs&(llm.JSONMode|llm.JSONSchema) != 0 {
		m[jsonMode] = 1
	}
	c.language = LanguageOf(text)
	return c, task, system
}

// conversation holds the state while a request is read.
type conversation struct {
	messages []message
	system   string
	measures [allMeasures]float64
	language string
	findings Findings
}

// readConversation reads the messages, the tools and the response schema, and returns the text of the current task.
func (c *conversation) readConversation(req *llm.Request) string {
	if req.Conversation == nil {
		return c.instruction(turn{text: shorten(req.Asked, maxText)})
	}
	c.measures[tools] = float64(len(req.Conversation.Tools))
	schema := req.Conversation.Output.Schema
	c.countFields(rawjson.Parse(schema[:min(len(schema), maxSchema)]), 0)
	first := -1 // index of the first message that the user wrote
	c.messages = make([]message, 0, len(req.Conversation.Messages))
	for i := range req.Conversation.Messages {
		m := newMessage(&req.Conversation.Messages[i])
		c.messages = append(c.messages, m)
		if m.Role == llm.System {
			c.addSystem(m.Parts)
		}
		if m.Role == llm.User && !m.isResult && first < 0 {
			first = i
		}
	}
	c.identify(c.system)
	if first < 0 {
		return ""
	}
	c.identify(c.messages[first].readText())
	last := &c.messages[len(c.messages)-1]
	c.findings.Loop = last.Role == llm.User && (last.isResult || c.isOutput(last.readText()))
	return c.task(first)
}

// addSystem appends instructions, up to maxSystem bytes.
func (c *conversation) addSystem(parts []llm.Part) {
	if room := maxSystem - len(c.system); room > 0 {
		text := partsText(parts, room)
		if c.system != "" && text != "" {
			text = "\n" + text
		}
		c.system += head(text, room)
	}
}

const (
	maxSchema   = 16 << 10 // maximum length in bytes of a response schema that is read
	schemaDepth = 12       // maximum depth of a response schema that is read
)

// countFields counts the members of the objects in a response schema.
func (c *conversation) countFields(v rawjson.Value, depth int) {
	if depth > schemaDepth {
		return
	}
	v.ForEach(func(key, value rawjson.Value) bool {
		if key.Raw == `"properties"` {
			value.ForEach(func(_, property rawjson.Value) bool {
				if kind := property.Get("type").Raw; strings.EqualFold(kind, `"array"`) || strings.EqualFold(kind, `"object"`) {
					c.measures[nested]++
				} else {
					c.measures[fields]++
				}
				return true
			})
		}
		c.countFields(value, depth+1)
		return true
	})
}

// task returns the instruction of the current task. It searches backwards from the last user turn and skips replies. If no task is found,
// it returns the last user turn. first is the index of the first user message.
func (c *conversation) task(first int) string {
	var found turn
	seen := 0
	for i := len(c.messages) - 1; i >= 0 && seen < maxTurns; i-- {
		m := &c.messages[i]
		if m.Role != llm.User || c.isOutput(m.readText()) {
			continue
		}
		if seen == 0 {
			c.identify(m.readText())
		}
		one := m.readTurn()
		if one.text == "" {
			continue
		}
		seen++
		if seen == 1 {
			found = one // used if no earlier turn contains a task
		}
		if i > first {
			if continues, _ := readReply(one); continues {
				continue
			}
		}
		found, c.findings.Inherited = one, seen-1
		break
	}
	c.measures[turns] = float64(seen)
	return c.instruction(found)
}

// answerBefore returns the last text of the model before a message, or nil.
func (c *conversation) answerBefore(i int) *message {
	for i--; i >= 0; i-- {
		if c.messages[i].Role == llm.Assistant && c.messages[i].readText() != "" {
			return &c.messages[i]
		}
	}
	return nil
}

// isOutput reports whether a user turn is a tool result. Clients that describe their tools in the prompt send results as text, under a
// label that the instructions mention ("Observation:"), in a tag, or as "[execute_command for 'make'] Result:".
func (c *conversation) isOutput(text string) bool {
	text = strings.TrimLeft(text, " \n")
	first, _, _ := strings.Cut(head(text, 200), "\n")
	if first == "" {
		return false
	}
	switch first[0] {
	case '[':
		return strings.Contains(first, "] Result:")
	case '<':
		name, _, _, ok := cutBlock(text)
		return ok && (strings.HasSuffix(name, "result") || strings.HasSuffix(name, "results") || strings.HasSuffix(name, "response") || strings.HasSuffix(name, "observation"))
	}
	label, _, found := strings.Cut(first, ":")
	return found && len(label) >= 4 && len(label) <= 24 && c.answerBefore(len(c.messages)) != nil && (label == "Observation" || strings.Contains(c.system, label+":") || strings.Contains(c.system, " "+label))
}

const (
	longTurn       = 1500 // length in bytes above which a turn is assumed to be a document with an instruction
	maxInstruction = 700  // maximum length in bytes of an instruction before or after a document
)

// instruction returns the instruction in a turn. A long turn is usually a document with an instruction before or after it, so the
// length of the turn does not indicate its difficulty: the first and the last paragraph are the instruction, the rest is the document.
func (c *conversation) instruction(t turn) string {
	c.measures[document] = float64(t.document)
	text := t.text
	if len(text) <= longTurn {
		return text
	}
	first, last := paragraph(text, strings.Cut), paragraph(text, cutLast)
	c.measures[document] += float64(len(text) - len(first) - len(last))
	return first + "\n\n" + last
}

// paragraph returns the part of a text that cut separates: a paragraph, or a line if the paragraph is too long.
func paragraph(text string, cut func(text, separator string) (string, string, bool)) string {
	for _, separator := range [...]string{"\n\n", "\n"} {
		if part, _, found := cut(text, separator); found && len(part) <= maxInstruction {
			return part
		}
	}
	if first, _, _ := cut(text, "\n"); strings.HasPrefix(text, first) {
		return head(text, maxInstruction)
	}
	return tail(text, maxInstruction)
}

// cutLast returns the text after the last separator, and the text before it.
func cutLast(text, separator string) (after, before string, found bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[i+len(separator):], text[:i], true
}

// A step of a healthy tool loop is easier than the whole task.
const (
	stepEase    = 0.7
	minimumStep = 0.4 // difficulty that the ease does not go below
)

// stepDifficulty returns the difficulty of the next step of a task with tools. After a failing result it is that of the task.
func stepDifficulty(task float64, t *Trouble) float64 {
	ease := stepEase * min(max(0, 1.5-float64(t.Level)/2), 1)
	if t.Failing > 0 {
		ease = 0
	}
	return math.Round(100*max(task-ease, min(task, minimumStep))) / 100
}

const (
	perField  = 9  // maximum number of output tokens that a scalar field of a response schema is expected to need
	perNested = 90 // the same for a list or an object
	perSchema = 6
)

// output returns the expected visible output in tokens.
func (c *conversation) output(logarithm float64) int64 {
	m, tokens := &c.measures, math.Exp(logarithm)
	if count := m[fields]; count > 0 {
		tokens = min(tokens, perSchema+perField*4*count+perNested*m[nested])
	}
	return int64(math.Round(max(1, min(tokens, m[limit]))))
}

// efforts holds the factors by which a reasoning effort changes the length of the reasoning.
var efforts = map[string]float64{"none": 0, "minimal": 0.1, "low": 0.35, "medium": 1, "high": 2, "xhigh": 3.5, "max": 6}

// reasoningLengths holds the reasoning tokens of a trivial, easy, medium and hard task at medium effort.
var reasoningLengths = [...]float64{60, 250, 1500, 6000}

// Reasoning returns the expected number of reasoning tokens. An unknown effort counts as medium.
func Reasoning(difficulty float64, effort string) float64 {
	factor, ok := efforts[effort]
	if !ok {
		factor = 1
	}
	i := min(int(max(difficulty, 0)), len(reasoningLengths)-2)
	low, high := reasoningLengths[i], reasoningLengths[i+1]
	return factor * low * math.Pow(high/low, min(max(difficulty, 0)-float64(i), 1))
}

// maxReply is the length in bytes above which a turn is always a new task.
const maxReply = 240

// readReply reports whether a user turn, such as "yes, go ahead", continues the previous task, and whether it says that the request was not
// fulfilled.
func readReply(t turn) (continues, complains bool) {
	if t.document > 0 || len(t.text) > maxReply {
		return false, false
	}
	estimate := replies.estimate("reply ", t.text)
	return estimate[continueColumn] > 0.5, estimate[complainColumn] > 0.5
}

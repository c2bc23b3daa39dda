package conversation

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/rawjson"
)

// Trouble describes how stuck the current task is, based on tool results and the user's turns.
type Trouble struct {
	Level            int  `json:"level,omitempty"`             // level from 0 (none) to MaxTrouble; rises with failures, falls with progress
	Failing          int  `json:"failing,omitempty"`           // number of consecutive failures at the end of the conversation
	SameErrors       int  `json:"same_errors,omitempty"`       // number of repetitions of the most frequent failure
	InvalidArguments int  `json:"invalid_arguments,omitempty"` // number of tool calls with malformed arguments
	RepeatedAsks     int  `json:"repeated_asks,omitempty"`     // number of user turns that repeat a request or complain about its result
	Recovered        bool `json:"recovered,omitempty"`         // whether the task was stuck but no longer is
}

const (
	// MaxTrouble is the highest level.
	MaxTrouble = 6
	// Troubled is the minimum level at which a task counts as stuck. Three consecutive failures reach this level.
	Troubled = 3
)

// Cause describes why the task is stuck, such as "3 identical tool errors".
func (t Trouble) Cause() string {
	switch {
	case t.RepeatedAsks > 0 && t.Failing == 0:
		return plural(t.RepeatedAsks, "repeated request")
	case t.SameErrors > 0:
		return plural(t.SameErrors+1, "identical tool error")
	case t.InvalidArguments > 0 && t.InvalidArguments >= t.Failing:
		return plural(t.InvalidArguments, "tool call") + " with malformed arguments"
	case t.Failing > 0:
		return plural(t.Failing, "failing tool result") + " in a row"
	}
	return "earlier tool errors"
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// trouble computes how stuck the task is from the last maxResults tool results and user turns.
func (c *conversation) trouble() Trouble {
	var l loop
	from, results := 0, 0
	for i := len(c.messages) - 1; i > 0 && from == 0; i-- {
		if by := c.messages[i].author; by == byTool || by == byUser {
			if results++; results > maxResults {
				from = i + 1
			}
		}
	}
	for i := range c.messages[from:] {
		l.message(&c.messages[from+i])
	}
	l.Recovered = l.peak >= Troubled && l.Level < Troubled
	if l.Level == 0 && !l.Recovered {
		return Trouble{InvalidArguments: l.InvalidArguments}
	}
	return l.Trouble
}

// loop is the state of a tool loop after the messages added so far.
type loop struct {
	Trouble
	calls  []call
	errors []seen // counts of failures with the same call or the same text
	good   int    // number of consecutive good results
	peak   int    // highest level so far
	asked  []uint64
	answer *message // the model's last message
}

// call describes a tool call of the model.
type call struct {
	id        uint64 // hash of the call's ID
	signature uint64 // hash of name and arguments
	malformed bool   // whether the arguments are not valid JSON
}

// result describes the result of a tool call.
type result struct {
	id             uint64 // hash of the call's ID
	isError        bool   // whether the client reports an error
	failed, passed bool   // whether the text reports a failure, and whether it reports that a check succeeded
	text           uint64 // errorSignature of the text, to find equal errors
}

// seen counts equal failures.
type seen struct {
	signature uint64
	count     int
}

// message adds the tool calls, tool results and user text of a message.
func (l *loop) message(m *message) {
	if m.author == bySystem || m.author == byOther {
		return
	}
	f := m.readFacts()
	for _, one := range f.calls {
		if len(l.calls) == maxCalls {
			l.calls = l.calls[:copy(l.calls, l.calls[1:])]
		}
		l.calls = append(l.calls, one)
		if one.malformed {
			l.InvalidArguments++
		}
	}
	for _, one := range f.results {
		signature := uint64(0)
		for i := len(l.calls) - 1; i >= 0 && signature == 0; i-- {
			if l.calls[i].id == one.id {
				signature = l.calls[i].signature
				l.calls = slices.Delete(l.calls, i, i+1)
			}
		}
		l.outcome(one.isError || one.failed, one.text, signature)
		if one.passed && !one.isError {
			l.Level, l.SameErrors = 0, 0
		}
	}
	switch m.author {
	case byModel:
		l.answer = m
	case byUser:
		l.userTurn(m, f)
	case byTool, bySystem, byOther:
	}
}

// facts are the properties of a message that determine whether a tool loop is stuck.
type facts struct {
	calls   []call
	results []result
	ask     ask // description of the text of a user message
}

// readFacts reads the tool calls, tool results and user text of a message.
func (m *message) readFacts() *facts {
	f := &facts{}
	switch m.author {
	case byModel:
		f.readCalls(m.value)
	case byTool: // a result in a separate message
		var id, output rawjson.Value
		m.value.ForEach(func(key, value rawjson.Value) bool {
			switch key.Raw {
			case `"tool_call_id"`, `"call_id"`:
				id = value
			case `"content"`, `"output"`:
				output = value
			}
			return true
		})
		f.result(id, output, false)
	case byUser:
		f.ask = m.readAsk()
		content := m.content()
		if !content.IsList() {
			break
		}
		content.ForEach(func(_, part rawjson.Value) bool {
			if member(part, `"type"`).Raw == `"tool_result"` {
				f.result(member(part, `"tool_use_id"`), member(part, `"content"`), member(part, `"is_error"`).Bool())
			} else if one := member(part, `"functionResponse"`, `"function_response"`); one.Exists() {
				output := member(one, `"response"`)
				f.result(member(one, `"id"`), output, member(output, `"error"`).Exists())
			}
			return true
		})
	case bySystem, byOther:
	}
	return f
}

// readCalls reads the tool calls in a model message.
func (f *facts) readCalls(turn rawjson.Value) {
	turn.ForEach(func(key, value rawjson.Value) bool {
		switch key.Raw {
		case `"tool_calls"`:
			value.ForEach(func(_, one rawjson.Value) bool {
				function := member(one, `"function"`)
				f.call(member(one, `"id"`), member(function, `"name"`), member(function, `"arguments"`))
				return true
			})
		case `"content"`:
			value.ForEach(func(_, part rawjson.Value) bool {
				if member(part, `"type"`).Raw == `"tool_use"` {
					f.call(member(part, `"id"`), member(part, `"name"`), member(part, `"input"`))
				}
				return value.IsList()
			})
		case `"parts"`:
			value.ForEach(func(_, part rawjson.Value) bool {
				if one := member(part, `"functionCall"`, `"function_call"`); one.Exists() {
					f.call(member(one, `"id"`), member(one, `"name"`), member(one, `"args"`))
				}
				return value.IsList()
			})
		case `"call_id"`: // an item of the Responses format
			f.call(value, member(turn, `"name"`), member(turn, `"arguments"`, `"input"`))
		}
		return true
	})
}

const (
	maxCalls     = 64      // maximum number of calls without a result that are kept
	maxArguments = 8 << 10 // maximum length in bytes of arguments that are checked
)

// call adds a tool call. If the model was cut off, the arguments are a string that is not valid JSON.
func (f *facts) call(id, name, arguments rawjson.Value) {
	var digest xxhash.Digest
	digest.Reset()
	_, _ = digest.WriteString(name.Raw)
	_, _ = digest.WriteString(arguments.Raw)
	malformed := arguments.Kind == rawjson.Text && len(arguments.Raw) <= maxArguments && strings.HasPrefix(arguments.Raw, `"{`) && !rawjson.Valid([]byte(arguments.String()))
	f.calls = append(f.calls, call{xxhash.Sum64String(id.Raw), digest.Sum64(), malformed})
}

// result adds a tool result.
func (f *facts) result(id, output rawjson.Value, isError bool) {
	text := contentText(output, resultHead)
	if output.IsObject() {
		text = head(output.Raw, resultHead)
	}
	r := result{id: xxhash.Sum64String(id.Raw), isError: isError, text: errorSignature(text)}
	r.failed, r.passed = judge(text)
	f.results = append(f.results, r)
}

// ask describes the text of a user message: a user turn, or tool output that a client sends as text.
type ask struct {
	output, failed bool   // whether the text is tool output, and whether that output reports a failure
	words          bool   // whether the user wrote any text
	long           bool   // whether the user's text is long enough to be compared with earlier requests
	complaint      bool   // whether the user's text states that the request was not fulfilled
	leaves         bool   // whether the user's text begins a new topic
	signature      uint64 // hash of the tool output or of the user's text
}

// readAsk reads the text of a user message.
func (m *message) readAsk() ask {
	if raw := m.text(); isToolOutput(raw) {
		failed, _ := judge(raw)
		return ask{output: true, failed: failed, signature: errorSignature(raw)}
	}
	turn := m.turn()
	if turn == "" {
		return ask{}
	}
	a := ask{words: true}
	if len(turn) > longAsk {
		a.long, a.leaves, a.signature = true, endsTopic(strings.ToLower(head(turn, 4*newTopicWithin))), xxhash.Sum64String(turn)
	} else {
		lower := strings.ToLower(turn)
		a.long, a.complaint, a.leaves = len(lower) > minRepeated, isComplaint(lower), endsTopic(lower)
		a.signature = xxhash.Sum64String(lower)
	}
	return a
}

// opensTask reports whether a user turn begins a new task. A turn of more than maxTurn bytes always does.
func (m *message) opensTask(answer *message) bool {
	turn := m.turn()
	return len(turn) > maxTurn || !isReply(turn, tail(answer.text(), 200))
}

// userTurn adds the user's text, or tool output that a client sends as text.
func (l *loop) userTurn(m *message, f *facts) {
	a := &f.ask
	if a.output {
		l.outcome(a.failed, a.signature, 0)
		return
	}
	if !a.words || len(f.results) > 0 {
		return
	}
	isRepeated := a.complaint || a.long && slices.Contains(l.asked, a.signature)
	l.asked = append(l.asked, a.signature)
	switch {
	case isRepeated:
		l.RepeatedAsks++
		l.raise(min(l.RepeatedAsks, askWeight))
	case l.answer == nil:
	case a.leaves:
		*l = loop{asked: l.asked, answer: l.answer}
	case m.opensTask(l.answer):
		// The user gave new information or a new task. The level falls, but if an error recurs, its earlier occurrences still count.
		l.Level = max(0, l.Level/2-1)
	}
}

const (
	minRepeated  = 20      // minimum length in bytes of a turn that is compared with earlier turns
	longAsk      = 1 << 10 // length in bytes above which a turn is not a complaint and only its beginning is converted to lower case
	askWeight    = 2       // increase of the level for each repeated request after the first
	recurring    = 3       // number of occurrences from which on a failure raises the level by this number instead of one
	resultHead   = 700     // maximum number of bytes read from a result
	resultWhole  = 400     // maximum length in bytes of results that are checked for weak signs of failure
	resultErrors = 32      // maximum number of distinct failures that are counted
)

// outcome adds a good or failing result. A failure raises the level by one, or by three from its third occurrence on. Consecutive good
// results lower the level by one, then two, then three. Three good results in a row therefore end the trouble, but a single one does not.
func (l *loop) outcome(failed bool, text, call uint64) {
	if !failed {
		l.good++
		l.Failing = 0
		if l.Level = max(0, l.Level-l.good); l.Level == 0 {
			l.SameErrors = 0
		}
		return
	}
	l.good = 0
	l.Failing++
	times := max(l.count(text), l.count(call))
	l.SameErrors = max(l.SameErrors, times-1)
	if times < recurring {
		times = 1
	}
	l.raise(min(times, recurring))
}

// count adds a failure and returns how often it has occurred.
func (l *loop) count(signature uint64) int {
	if signature == 0 {
		return 1
	}
	for i := range l.errors {
		if l.errors[i].signature == signature {
			l.errors[i].count++
			return l.errors[i].count
		}
	}
	if len(l.errors) == resultErrors {
		l.errors = l.errors[:copy(l.errors, l.errors[1:])]
	}
	l.errors = append(l.errors, seen{signature, 1})
	return 1
}

func (l *loop) raise(n int) {
	l.Level = min(MaxTrouble, l.Level+n)
	l.peak = max(l.peak, l.Level)
}

// errorSignature hashes a result without digits and white space, because equal errors may have different line numbers or times.
func errorSignature(text string) uint64 {
	var digest xxhash.Digest
	digest.Reset()
	var buffer [resultHead]byte
	out := buffer[:0]
	for i := range min(len(text), resultHead) {
		if c := text[i]; c > ' ' && (c < '0' || c > '9') {
			out = append(out, c)
		}
	}
	_, _ = digest.Write(out)
	return digest.Sum64()
}

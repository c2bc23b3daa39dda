package predict

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/llm"
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

const (
	maxResults   = 12      // maximum number of tool results and user turns that are read
	maxCalls     = 64      // maximum number of calls without a result that are kept
	maxArguments = 8 << 10 // maximum length in bytes of arguments that are checked
	resultBytes  = 400     // maximum number of bytes read from a result
	resultErrors = 32      // maximum number of distinct failures that are counted
	minRepeated  = 20      // minimum length in bytes of a turn that is compared with earlier turns
	askWeight    = 2       // increase of the level for each repeated request after the first
	recurring    = 3       // number of occurrences from which on a failure raises the level by this number instead of one
)

// trouble computes how stuck the task is from the last maxResults tool results and user turns.
func (c *conversation) trouble() Trouble {
	from, count := 0, 0
	for i := len(c.messages) - 1; i > 0 && from == 0; i-- {
		if c.messages[i].Role == llm.User {
			if count++; count > maxResults {
				from = i + 1
			}
		}
	}
	l := loop{c: c}
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
	c        *conversation
	calls    []call
	errors   []seen // counts of failures with the same call or the same text
	same     []seen // counts of results with the same call and the same text
	good     int    // number of consecutive good results
	peak     int    // highest level so far
	asked    []uint64
	answered bool // whether the model has written a message
}

// call describes a tool call of the model.
type call struct {
	id        string
	signature uint64 // hash of name and arguments
}

// seen counts equal failures.
type seen struct {
	signature uint64
	count     int
}

// message adds the tool calls, tool results and user text of a message.
func (l *loop) message(m *message) {
	switch {
	case m.Role == llm.User && !m.isResult:
		l.userTurn(m)
	case m.Role == llm.User, m.Role == llm.Assistant:
		l.answered = l.answered || m.Role == llm.Assistant
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Call != nil {
				l.call(p.Call)
			} else if p.Result != nil {
				l.result(p.Result)
			}
		}
	}
}

// call adds a tool call. If the model was cut off, the arguments are not valid JSON.
func (l *loop) call(c *llm.ToolCall) {
	var digest xxhash.Digest
	digest.Reset()
	_, _ = digest.WriteString(c.Name + "\x00")
	_, _ = digest.WriteString(c.Arguments)
	if !c.Custom && len(c.Arguments) <= maxArguments && strings.HasPrefix(c.Arguments, "{") && !rawjson.Valid([]byte(c.Arguments)) {
		l.InvalidArguments++
	}
	if len(l.calls) == maxCalls {
		l.calls = l.calls[:copy(l.calls, l.calls[1:])]
	}
	l.calls = append(l.calls, call{c.ID, digest.Sum64()})
}

// result adds a tool result.
func (l *loop) result(r *llm.ToolResult) {
	text, signature := partsText(r.Parts, resultBytes), uint64(0)
	for i := len(l.calls) - 1; i >= 0 && signature == 0; i-- {
		if l.calls[i].id == r.ID {
			signature = l.calls[i].signature
			l.calls = slices.Delete(l.calls, i, i+1)
		}
	}
	l.outcome(r.Failed || HasFailed(text), text, signature)
}

// userTurn adds the user's text, or tool output that a client sends as text.
func (l *loop) userTurn(m *message) {
	if text := m.readText(); l.c.isOutput(text) {
		l.outcome(HasFailed(text), text, 0)
		return
	}
	turn := m.readTurn()
	if turn.text == "" {
		return
	}
	signature := xxhash.Sum64String(turn.text)
	continues, complains := readReply(turn)
	isRepeated := len(turn.text) > minRepeated && slices.Contains(l.asked, signature)
	l.asked = append(l.asked, signature)
	switch {
	case isRepeated || complains && l.answered:
		l.RepeatedAsks++
		l.raise(min(l.RepeatedAsks, askWeight))
	case l.answered && !continues:
		// The user gave new information or a new task. The level falls, but if an error recurs, its earlier occurrences still count.
		l.Level = max(0, l.Level/2-1)
	}
}

// outcome adds a good or failing result. A failure raises the level by one, or by three from its third occurrence on. Consecutive good
// results lower the level by one, then two, then three. Three good results in a row therefore end the trouble, but a single one does not.
// A call that returns the same result for the third time counts as a failure, because the task makes no progress.
func (l *loop) outcome(failed bool, text string, call uint64) {
	signature, same := errorSignature(text), 1
	if call != 0 {
		same = count(&l.same, call^signature)
	}
	failed = failed || same >= recurring
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
	times := max(count(&l.errors, signature), count(&l.errors, call), same)
	l.SameErrors = max(l.SameErrors, times-1)
	if times < recurring {
		times = 1
	}
	l.raise(min(times, recurring))
}

// count adds an occurrence and returns how often the signature has occurred.
func count(list *[]seen, signature uint64) int {
	if signature == 0 {
		return 1
	}
	for i := range *list {
		if (*list)[i].signature == signature {
			(*list)[i].count++
			return (*list)[i].count
		}
	}
	if len(*list) == resultErrors {
		*list = (*list)[:copy(*list, (*list)[1:])]
	}
	*list = append(*list, seen{signature, 1})
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
	var buffer [resultBytes]byte
	out := buffer[:0]
	for i := range min(len(text), resultBytes) {
		if c := text[i]; c > ' ' && (c < '0' || c > '9') {
			out = append(out, c)
		}
	}
	_, _ = digest.Write(out)
	return digest.Sum64()
}

// HasFailed reports whether the text of a tool result reports a failure. An exit code decides, otherwise the table for results.
func HasFailed(text string) bool {
	if failed, found := exitCode(text); found {
		return failed
	}
	return results.estimate("result ", text)[failedColumn] > failure
}

// failure is the estimate above which a result is a failure. Healthy results are much more frequent than failures.
const failure = 0.5

// exitCodes finds the exit code of a command, such as "exit code 1" or "exit_code": 0.
var exitCodes = regexp.MustCompile(`xit(?:ed)?(?: with)?[ _]*(?:[Cc]ode|[Ss]tatus)?["\s:=]*(\d+)`)

// exitCode reports whether a text has an exit code, and whether it is not zero.
func exitCode(text string) (failed, found bool) {
	if !strings.Contains(text, "xit") {
		return false, false
	}
	code := exitCodes.FindStringSubmatch(text)
	return code != nil && strings.Trim(code[1], "0") != "", code != nil
}

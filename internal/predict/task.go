package predict

// Task is the kind of work a prompt asks for.
type Task string

// The tasks.
const (
	Chat        Task = "chat" // talk, advice, writing: everything that is nothing else
	Code        Task = "code"
	Maths       Task = "maths"
	Reasoning   Task = "reasoning" // puzzles, logic, multi-step questions
	Knowledge   Task = "knowledge" // questions with an answer to be known
	Translation Task = "translation"
	Extraction  Task = "extraction" // taking data out of a given text, classifying, summing up
	ToolUse     Task = "tools"
	Vision      Task = "vision"
	LongContext Task = "long_context"
)

// Tasks lists all tasks.
func Tasks() []Task {
	return []Task{Chat, Code, Maths, Reasoning, Knowledge, Translation, Extraction, ToolUse, Vision, LongContext}
}

const (
	longContext = 32_000 // tokens from which finding things is the work
	taskHead    = 800    // bytes of the text that are read from its beginning
	taskTail    = 300    // and from its end, where the question often stands
	systemHead  = 300    // bytes of the instructions
	systemPart  = 0.5    // what a word of the instructions counts, against one of the user
	enough      = 1.0    // a sum below this is chat
)

// TaskOf says what kind of work a prompt asks for, by the shape of the request first and by signs in the text then. It
// reads the ends of a long text only.
func TaskOf(p Prompt) Task {
	switch {
	case p.Images:
		return Vision
	case p.Tokens > longContext:
		return LongContext
	case p.Tools:
		return ToolUse
	}
	var t tally
	t.read(cut(p.System, systemHead), systemPart)
	if len(p.Text) <= taskHead+taskTail {
		t.read(p.Text, 1)
	} else {
		t.read(cut(p.Text, taskHead), 1)
		t.read(p.Text[len(p.Text)-taskTail:], 1)
	}
	if p.JSON {
		t.sum[kindExtraction] += 0.8
	}
	t.judge(len(p.Text))
	return t.task()
}

func cut(text string, n int) string { return text[:min(len(text), n)] }

// taskKind is a task that the text can tell.
type taskKind uint8

const (
	kindNothing taskKind = iota
	kindCode
	kindMaths
	kindReasoning
	kindKnowledge
	kindTranslation
	kindExtraction
	kindChat
	taskKinds
)

// named are the tasks in the order of the kinds. Of equal sums the later kind wins: it is the more special one.
var named = [taskKinds]Task{kindNothing: Chat, kindCode: Code, kindMaths: Maths, kindReasoning: Reasoning, kindKnowledge: Knowledge, kindTranslation: Translation, kindExtraction: Extraction, kindChat: Chat}

// tally adds up the signs of a text.
type tally struct {
	sum     [taskKinds]float64
	fresh   bool // the next word begins a sentence or a part of one
	numbers int
	options int // lines that begin like the answers of a multiple choice
	marks   int // characters that programs are full of
	bytes   int
	foreign bool // letters outside ASCII
	asked   bool // a sentence begins with a question word
	amount  int  // words that word problems count with
	blank   bool // a gap to fill
}

// judge adds what only the whole text tells.
func (t *tally) judge(length int) {
	if t.bytes > 0 && float64(t.marks)/float64(t.bytes) > 0.06 {
		t.sum[kindCode] += 1.2
	}
	if t.numbers >= 2 && t.amount >= 1 && t.options == 0 || t.numbers >= 3 && t.amount >= 2 {
		t.sum[kindMaths] += 1.6
	}
	if t.options >= 2 {
		t.sum[kindKnowledge] += 1.3
		if t.blank {
			t.sum[kindReasoning] += 2.5
		}
	}
	if t.asked && length < 400 && t.sum[kindChat] == 0 {
		t.sum[kindKnowledge]++
	}
}

func (t *tally) task() Task {
	best, most := kindNothing, enough
	for k := kindCode; k < taskKinds; k++ {
		if t.sum[k] >= most {
			best, most = k, t.sum[k]
		}
	}
	return named[best]
}

package predict

// Task is the kind of work that a prompt requests.
type Task string

// The tasks.
const (
	Chat        Task = "chat" // conversation, advice, writing, and everything else
	Code        Task = "code"
	Maths       Task = "maths"
	Reasoning   Task = "reasoning" // puzzles, logic, multi-step questions
	Knowledge   Task = "knowledge" // questions about facts
	Translation Task = "translation"
	Extraction  Task = "extraction" // extracting data from text, classifying, summarising
	ToolUse     Task = "tools"
	Vision      Task = "vision"
	LongContext Task = "long_context"
)

// Tasks lists all tasks.
func Tasks() []Task {
	return []Task{Chat, Code, Maths, Reasoning, Knowledge, Translation, Extraction, ToolUse, Vision, LongContext}
}

const (
	longContext  = 32_000 // length in tokens above which a prompt counts as long context
	taskHead     = 800    // bytes read from the start of the text
	taskTail     = 300    // bytes read from the end of the text, where the question often is
	systemHead   = 300    // bytes read from the instructions
	systemPart   = 0.5    // weight of a word in the instructions, relative to a word in the user's text
	minTaskScore = 1.0    // minimum score for a task; if every score is lower, the task is chat
)

// TaskOf returns the kind of work that a prompt requests, based first on the form of the request and then on cues in the text. It reads
// only the start and the end of a long prompt.
func TaskOf(p Prompt) Task {
	switch {
	case p.Images:
		return Vision
	case p.Tokens > longContext:
		return LongContext
	case p.Tools:
		return ToolUse
	}
	var t taskScores
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
	t.addWholeText(len(p.Text))
	best, bestScore := kindNothing, minTaskScore
	for k := kindCode; k < taskKinds; k++ {
		if t.sum[k] >= bestScore { // if scores are equal, the later kind wins because it is more specific
			best, bestScore = k, t.sum[k]
		}
	}
	return [taskKinds]Task{
		kindNothing: Chat, kindCode: Code, kindMaths: Maths, kindReasoning: Reasoning, kindKnowledge: Knowledge,
		kindTranslation: Translation, kindExtraction: Extraction, kindChat: Chat,
	}[best]
}

func cut(text string, n int) string { return text[:min(len(text), n)] }

// taskKind is a task that can be detected in the text.
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

// taskScores sums the cues in a prompt.
type taskScores struct {
	sum           [taskKinds]float64
	sentenceStart bool // whether the next word starts a sentence or a clause
	numbers       int
	options       int // number of lines that start like the options of a multiple-choice question
	marks         int // number of characters that are frequent in source code
	bytes         int
	foreign       bool // whether the text contains letters outside ASCII
	isQuestion    bool // whether a sentence starts with a question word
	amount        int  // number of quantity words, amounts of money and percent signs, as in word problems
	blank         bool // whether the text contains a gap to fill in
}

// addWholeText adds the cues that depend on the whole text.
func (t *taskScores) addWholeText(length int) {
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
	if t.isQuestion && length < 400 && t.sum[kindChat] == 0 {
		t.sum[kindKnowledge]++
	}
}

package predict

import (
	"slices"
	"strings"
	"testing"
)

func TestTaskOfText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want Task
		text string
	}{
		{Code, "Write a python function that returns the second largest number of a list."},
		{Code, "Why does this panic?\n```go\nvar m map[string]int\nm[\"a\"]++\n```"},
		{Code, "def median(values):\n    \"\"\"Return the median of the values.\"\"\"\n"},
		{Code, "SELECT name, count(*) FROM orders GROUP BY 1; this query is slow on postgres, how can I speed it up?"},
		{Code, "Schreibe eine Funktion in JavaScript, die ein Array umdreht."},
		{Code, "写一个函数，用代码实现快速排序"},
		{Maths, "Find the derivative of $x^3 \\sin(x)$ with respect to $x$."},
		{Maths, "A baker sells 12 loaves a day at 4 dollars each. How much does she earn in 5 days?"},
		{Maths, "Solve the equation 3x + 7 = 22."},
		{Maths, "小明有12个苹果，给了朋友5个，还剩多少个？"},
		{Maths, "Сколько стоит 3 кг яблок, если 1 кг стоит 120 рублей?"},
		{Reasoning, "Five friends live in five houses. Use the clues to find out who owns the fish.\n1. The teacher lives next to the baker."},
		{Reasoning, "Here is a riddle: the more you take, the more you leave behind. What am I?"},
		{Reasoning, "The bag broke since the _ was too heavy.\nA) bag\nB) book\nAnswer:"},
		{Knowledge, "Who painted the ceiling of the Sistine Chapel?"},
		{Knowledge, "In which year did the Berlin Wall fall?"},
		{Knowledge, "Which planet is the largest?\nA. Mars\nB. Jupiter\nC. Venus\nD. Earth\nAnswer:"},
		{Knowledge, "Wer hat die Relativitätstheorie entwickelt?"},
		{Knowledge, "下列哪一项是正确的？\nA. 一\nB. 二\n答案："},
		{Translation, "Translate to French: I would like a table for two, please."},
		{Translation, "Übersetze diesen Satz ins Englische: Der Zug fährt um neun."},
		{Translation, "Traduce al inglés: ¿Dónde está la estación?"},
		{Translation, "请把下面的句子翻译成英文：今天天气很好。"},
		{Translation, "次の文を英語に訳して：明日は雨です。"},
		{Translation, "Переведи на английский: доброе утро"},
		{Extraction, "Summarize the following article in three bullet points: The council met on Monday to discuss the new bridge."},
		{Extraction, "Classify the sentiment of this review as positive or negative: The battery died after a week."},
		{Extraction, "Extract all names and dates from the text below and return them as JSON."},
		{Extraction, "请总结以下文章的要点：市政府周一开会。"},
		{Chat, "Write a poem about autumn for my grandmother."},
		{Chat, "Hi, I feel a bit down today. Can we talk?"},
		{Chat, "Suggest a name for our new coffee shop."},
		{Chat, ""},
		{Chat, "ok"},
	} {
		if got := TaskOf(Prompt{Text: c.text}); got != c.want {
			t.Errorf("TaskOf(%q) = %s, want %s", c.text, got, c.want)
		}
	}
}

func TestTaskDependsOnRequestFormFirst(t *testing.T) {
	t.Parallel()
	const text = "Translate to French: good morning"
	for _, c := range []struct {
		rule string
		p    Prompt
		want Task
	}{
		{"images are vision", Prompt{Text: text, Images: true, Tools: true}, Vision},
		{"much text is long context", Prompt{Text: text, Tokens: 40_000, Tools: true}, LongContext},
		{"tools are tool use", Prompt{Text: text, Tools: true}, ToolUse},
		{"the limit itself is not long", Prompt{Text: text, Tokens: 32_000}, Translation},
		{"instructions count", Prompt{Text: "good morning", System: "You are a translator. Translate what the user says into French."}, Translation},
		{"the user counts more than the instructions", Prompt{Text: "Write a python function that sorts a list.", System: "Write a summary when asked."}, Code},
		{"a response in JSON is extraction when the text hints at it", Prompt{Text: "Read this invoice: 3 chairs, Monday.", JSON: true}, Extraction},
	} {
		if got := TaskOf(c.p); got != c.want {
			t.Errorf("%s: got %s, want %s", c.rule, got, c.want)
		}
	}
}

// A question at the end of a long text is found, and the middle is not read.
func TestTaskReadsBothEnds(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("The river was calm and the boats came home. ", 200)
	if got := TaskOf(Prompt{Text: filler + "\nSummarize this text and extract all entities."}); got != Extraction {
		t.Errorf("question at the end: got %s, want extraction", got)
	}
	if got := TaskOf(Prompt{Text: "Translate the translation into German:\n" + filler}); got != Translation {
		t.Errorf("question at the beginning: got %s, want translation", got)
	}
}

func FuzzTaskOf(f *testing.F) {
	f.Add("Translate $x^2$ `", "你好 \xff\xc3", true)
	f.Fuzz(func(t *testing.T, text, system string, json bool) {
		p := Prompt{Text: text, System: system, JSON: json}
		if a, b := TaskOf(p), TaskOf(p); a != b || !slices.Contains(Tasks(), a) {
			t.Errorf("TaskOf returned %q and %q, want the same known task", a, b)
		}
		if a, b := LanguageOf(text), LanguageOf(text); a != b {
			t.Errorf("LanguageOf returned %q and %q, want the same language", a, b)
		}
	})
}

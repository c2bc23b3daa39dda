package predict

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/wire"
	"fairlead.dev/internal/wire/anthropic"
	"fairlead.dev/internal/wire/gemini"
	"fairlead.dev/internal/wire/openai"
	"fairlead.dev/internal/wire/responses"
)

var update = flag.Bool("update", false, "rewrite the readings")

// TestReadings reads every request in testdata and compares the task and the findings with the recorded ones. In a file, the section of a
// request is followed by the section of its reading.
func TestReadings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no readings: %v", err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out []txtar.File
		for i, part := range archive.Files {
			if strings.HasSuffix(part.Name, ".reading") {
				continue
			}
			req := request(t, part.Data)
			findings, _ := json.Marshal(Read(req).Findings) // a struct of plain values always marshals
			got := fmt.Sprintf("task: %q\nfindings: %s\n", (&conversation{}).readConversation(req), findings)
			if i+1 < len(archive.Files) && !*update {
				if diff := cmp.Diff(string(archive.Files[i+1].Data), got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", file, part.Name, diff)
				}
			}
			out = append(out, part, txtar.File{Name: part.Name + ".reading", Data: []byte(got)})
		}
		if *update {
			archive.Files = out
			if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// request decodes a body in the format that its members indicate. Members that the format requires are added.
func request(t testing.TB, body []byte) *llm.Request {
	t.Helper()
	body = rawjson.AppendMember(body, "model", []byte(`"auto"`))
	var format wire.Format = openai.Format{}
	switch members := rawjson.Parse(body); {
	case members.Get("input").Exists():
		format = responses.Format{}
	case members.Get("contents").Exists():
		format = gemini.Format{Model: "auto"}
	case members.Get("system").Exists() || bytes.Contains(body, []byte(`"tool_use"`)):
		format, body = anthropic.Format{}, rawjson.AppendMember(body, "max_tokens", []byte("1000000"))
	}
	req, err := format.DecodeRequest(t.Context(), llm.Chat, body)
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return req
}

// said is a turn of a conversation.
type said struct{ role, text string }

func chat(t *testing.T, turns ...said) *llm.Request {
	t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	for _, one := range turns {
		messages = append(messages, message{one.role, one.text})
	}
	body, err := json.Marshal(map[string]any{"messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	return request(t, body)
}

// TestDifficulty checks prompts at both ends of the scale and the plausible lengths of their answers.
func TestDifficulty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt   string
		min, max float64 // difficulty
		shortest int64   // output in tokens
		longest  int64
	}{
		{"hi there", 0, 0.6, 1, 120},
		{"what's the capital of Norway?", 0, 0.6, 1, 80},
		{"Wie viele Tage hat der Februar 2028?", 0, 0.6, 1, 80},
		{"Quelle est la couleur complémentaire du bleu ?", 0, 0.7, 1, 90},
		{"水的沸点是多少？", 0, 0.8, 1, 100},
		{"Is this sentence spelled right: \"I recieve it daily\"? Answer yes or no.", 0, 0.8, 1, 60},
		{"Translate into Italian: The meeting is moved to Thursday, please bring the plans.", 0, 1.4, 5, 150},
		{"write a python function that removes duplicates from a list but keeps the order", 0.3, 1.6, 20, 500},
		{"Schreib eine kurze Nachricht an meine Vermieterin, dass der Wasserhahn in der Küche tropft.", 0.2, 1.5, 20, 400},
		{"Plan a week of dinners for four people, one vegetarian, budget 90 euros, no oven, and write the shopping list with prices per dish.", 1.2, 2.9, 150, 2500},
		{"Design an exactly-once payment pipeline over three regions: how ledger entries stay consistent during a network partition, how replays are detected, how you migrate from the present single-region database without downtime, and which invariants you would verify formally. Discuss the failure modes of each step.", 2.3, 3, 400, 7000},
		{"Beweise, dass jede stetige Funktion auf einem kompakten metrischen Raum gleichmäßig stetig ist, und zeige mit einem Gegenbeispiel, dass die Kompaktheit nicht weggelassen werden kann; leite daraus eine Abschätzung des Stetigkeitsmoduls her.", 1.8, 3, 200, 5000},
	} {
		f := Read(chat(t, said{"user", c.prompt})).Features
		if f.Difficulty < c.min || f.Difficulty > c.max || f.Output < c.shortest || f.Output > c.longest {
			t.Errorf("%q: difficulty %.2f, output %d; want %.1f to %.1f, %d to %d", c.prompt, f.Difficulty, f.Output, c.min, c.max, c.shortest, c.longest)
		}
	}
}

const hardTask = "Write a garbage collector for a small Lisp that moves objects without stopping the program, and prove that no live object is lost."

func TestShortRepliesInheritTheTask(t *testing.T) {
	t.Parallel()
	task, plan := said{"user", hardTask}, said{"assistant", "I will first write the allocator. Shall I start?"}
	want := Read(chat(t, task)).Features.Difficulty
	for _, reply := range []string{"yes please", "ok continue", "lgtm", "ja gerne", "oui, continue", "sí, continúa", "да, продолжай", "可以，开始吧", "はい、続けてください"} {
		if r := Read(chat(t, task, plan, said{"user", reply})); r.Findings.Inherited != 1 || math.Abs(r.Features.Difficulty-want) > 0.15 {
			t.Errorf("%q: difficulty %.2f, want %.2f of the task; findings %+v", reply, r.Features.Difficulty, want, r.Findings)
		}
	}
	for _, question := range []string{
		"What is the capital of Norway?", "Something else: how many legs does a spider have?", "Andere Frage: Wie hoch ist der Mount Everest?", "Au fait, quelle heure est-il à Tokyo ?",
	} {
		if r := Read(chat(t, task, plan, said{"user", question})); r.Findings.Inherited != 0 || r.Features.Difficulty > 1.2 {
			t.Errorf("%q: difficulty %.2f, inherited %d; want an easy question", question, r.Features.Difficulty, r.Findings.Inherited)
		}
	}
}

func TestDocumentsDoNotMakeAQuestionHard(t *testing.T) {
	t.Parallel()
	document := "Log of the harbour office.\n" + strings.Repeat("The ship arrived at nine and left at noon with a cargo of timber.\n\n", 300)
	for _, text := range []string{document + "\nWhich cargo did the ship carry?", "Which cargo did the ship carry?\n\n" + document} {
		if f := Read(chat(t, said{"user", text})).Features; f.Difficulty > 1.4 {
			t.Errorf("%.60q: difficulty %.2f, want an easy question", text, f.Difficulty)
		}
	}
}

// TestStepsOfALoop checks that healthy steps are as difficult as each other, and no step is more difficult because the loop is long.
func TestStepsOfALoop(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	body.WriteString(`{"tools":[{"type":"function","function":{"name":"sh"}}],"messages":[{"role":"user","content":"The nightly export writes some rows twice after a restart. Find out why, fix it and add a test."}`)
	var difficulties []float64
	for i := range 12 {
		fmt.Fprintf(&body, `,{"role":"assistant","tool_calls":[{"id":"c%d","type":"function","function":{"name":"sh","arguments":"{\"c\":\"sed -n %dp export.go\"}"}}]},{"role":"tool","tool_call_id":"c%d","content":"func part%d() {\n\treturn\n}"}`, i, i, i, i)
		r := Read(request(t, []byte(body.String()+"]}")))
		if !r.Findings.Loop || r.Findings.Trouble.Level != 0 {
			t.Fatalf("step %d: findings %+v, want a healthy loop", i, r.Findings)
		}
		difficulties = append(difficulties, r.Features.Difficulty)
	}
	for i, d := range difficulties {
		if d != difficulties[0] {
			t.Errorf("step %d has difficulty %.2f, step 0 %.2f", i, d, difficulties[0])
		}
	}
}

func TestOutputKeepsLimits(t *testing.T) {
	t.Parallel()
	long := Read(request(t, []byte(`{"messages":[{"role":"user","content":"Write an essay about rivers in Europe, with an example for every country."}]}`))).Features.Output
	limited := Read(request(t, []byte(`{"max_tokens":20,"messages":[{"role":"user","content":"Write an essay about rivers in Europe, with an example for every country."}]}`))).Features.Output
	schema := Read(request(t, []byte(`{"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"river":{"type":"string"}}}}},"messages":[{"role":"user","content":"Write an essay about rivers in Europe, with an example for every country."}]}`))).Features.Output
	if long < 150 || limited > 20 || schema > 60 {
		t.Errorf("output %d without limits, %d with max_tokens 20, %d with one field", long, limited, schema)
	}
	for effort, want := range map[string]float64{"none": 0, "low": 525, "medium": 1500, "": 1500, "max": 9000} {
		if got := Reasoning(2, effort); math.Abs(got-want) > 0.5 {
			t.Errorf("%.0f reasoning tokens at effort %q, want %.0f", got, effort, want)
		}
	}
}

// FuzzRead checks that any valid request can be read, with the same result every time.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a","arguments":"{"}}]},{"role":"tool","tool_call_id":"1","content":"Error"}]}`))
	f.Add([]byte(`{"model":"m","messages":[{"role":"developer","content":"y"},{"role":"user","content":[{"type":"text","text":"<task>x</task>"}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := openai.Format{}.DecodeRequest(t.Context(), llm.Chat, body)
		if err != nil {
			return
		}
		if diff := cmp.Diff(Read(req), Read(req)); diff != "" {
			t.Error(diff)
		}
	})
}

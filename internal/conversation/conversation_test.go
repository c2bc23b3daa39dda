package conversation

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

var update = flag.Bool("update", false, "rewrite the readings")

// TestReadings analyses every request in testdata and compares the result, called a reading, with the recorded one. In a file, the section
// of a request is followed by the section of its reading.
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
			got := describe(Read(request(t, part.Data)))
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

func describe(r Reading) string {
	state, _ := json.Marshal(r.Findings) // a struct of plain values always marshals
	return fmt.Sprintf("text: %q\nstate: %s\n", r.Text, state)
}

// request returns a validated request with this body.
func request(t *testing.T, body []byte) *llm.Request {
	t.Helper()
	if !json.Valid(body) {
		t.Fatalf("not JSON: %s", body)
	}
	req := &llm.Request{Op: llm.Chat, Payload: llm.Payload{Body: body}}
	rawjson.Parse(body).ForEach(func(key, value rawjson.Value) bool {
		req.Fields = append(req.Fields, llm.Field{Name: key.String(), Value: value.Index, End: value.Index + len(value.Raw)})
		switch key.String() {
		case "tools":
			req.Needs |= llm.Tools
		case "max_tokens":
			req.MaxOutput = value.Int()
		}
		return true
	})
	return req
}

// chat returns a request with alternating turns of user and model, the user first.
func chat(t *testing.T, turns ...string) *llm.Request {
	t.Helper()
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	var messages []message
	for i, turn := range turns {
		messages = append(messages, message{[]string{"user", "assistant"}[i%2], turn})
	}
	body, err := json.Marshal(map[string]any{"messages": messages})
	if err != nil {
		t.Fatal(err)
	}
	return request(t, body)
}

const hardTask = "Write a garbage collector for a small Lisp that moves objects without stopping the program, and prove that no live object is lost."

func TestShortRepliesInheritTheTask(t *testing.T) {
	t.Parallel()
	for _, reply := range []string{
		"yes please", "Sure, go for it", "ok continue", "Perfect, start", "do the second one", "2", "b", "keep going", "finish the rest", "Sounds good!", "lgtm", "and the others?",
		"ja gerne", "Mach weiter", "ja, fang an", "oui, continue", "d'accord, allez-y", "sí, continúa", "vale, hazlo", "sì, vai", "va bene", "sim, continue", "pode seguir", "ja, ga door", "ja, kör",
		"tak, dalej", "dobrze, kontynuuj", "да, продолжай", "хорошо, давай", "evet, devam et", "ya, lanjutkan", "vâng, tiếp tục đi", "हाँ, जारी रखें", "ठीक है", "نعم، أكمل", "כן, תמשיך", "네, 계속해주세요", "좋아요",
		"可以，开始吧", "没问题，请继续", "はい、続けてください", "いいですね、お願いします", "ได้เลยครับ", "that is still not working", "same error again",
	} {
		r := Read(chat(t, hardTask, "I will first write the allocator. Shall I start?", reply))
		if r.Text != hardTask || r.Findings.Inherited != 1 {
			t.Errorf("%q: text %q, inherited %d", reply, r.Text, r.Findings.Inherited)
		}
	}
}

func TestNewQuestionsAreTasksOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, question := range []string{
		"What is the capital of Norway?", "Something else: how many legs does a spider have?", "Other question: what does HTTP 404 mean?", "Translate \"good morning\" to Spanish.",
		"Andere Frage: Wie hoch ist der Mount Everest?", "Au fait, quelle heure est-il à Tokyo ?", "Otra cosa: ¿cuántos días tiene febrero?", "换个话题，水的沸点是多少？", "ところで、富士山の高さは？",
		"Кстати, сколько будет 15 умножить на 4?", "Give me three names for a black cat that likes to sleep all day.",
	} {
		r := Read(chat(t, hardTask, "I will first write the allocator. Shall I start?", question))
		if strings.Contains(r.Text, "Lisp") || r.Findings.Inherited != 0 {
			t.Errorf("%q: text %q, inherited %d; want no earlier task", question, r.Text, r.Findings.Inherited)
		}
	}
}

func TestLongDocumentsAreContext(t *testing.T) {
	t.Parallel()
	document := "Log of the harbour office.\n" + strings.Repeat("The ship arrived at nine and left at noon with a cargo of timber.\n", 300)
	for _, c := range []struct{ text, want string }{
		{document + "\nWhich cargo did the ship carry?", "Which cargo did the ship carry?"},
		{"Summarise the following log in two sentences:\n\n" + document, "Summarise the following log in two sentences:"},
		{"请总结下面的日志：\n\n" + document, "请总结下面的日志："},
		{document + "\n\nFasse das Protokoll in drei Sätzen zusammen.", "Fasse das Protokoll in drei Sätzen zusammen."},
	} {
		if got := Read(chat(t, c.text)).Text; got != c.want {
			t.Errorf("read %q, want %q", head(got, 200), c.want)
		}
	}
	if got := Read(chat(t, document)).Text; len(got) < longTurn {
		t.Errorf("a document without an instruction is read as %q", got)
	}
}

// Long texts are truncated to limit the cost of reading. Truncation never leaves invalid text.
func TestLargeTextsAreCut(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"ab \n", "ä\"\\", "😀x", "\\u00e4 "} {
		r := Read(chat(t, strings.Repeat(unit, 60_000)))
		if len(r.Text) > maxText+2 || !json.Valid([]byte(mustMarshal(t, r.Text))) {
			t.Errorf("%d bytes of %q", len(r.Text), unit)
		}
	}
}

func TestLongRequestsAreRecognizedWhenRepeated(t *testing.T) {
	t.Parallel()
	long := "Change the parser. " + strings.Repeat("It reads one line after the other. ", 80) + "Start with the tests."
	for name, c := range map[string]struct {
		again string
		want  int
	}{
		"repeated":          {long, 1},
		"another beginning": {strings.Replace(long, "parser", "lexer!", 1), 0},
		"another middle":    {long[:1500] + strings.Replace(long[1500:], "line", "word", 1), 0},
		"another end":       {strings.Replace(long, "tests", "lines", 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := fmt.Appendf(nil, `{"messages":[{"role":"user","content":%q},{"role":"assistant","content":"Done."},{"role":"user","content":%q}]}`, long, c.again)
			if got := Read(request(t, body)).Findings.Trouble.RepeatedAsks; got != c.want {
				t.Errorf("%d repeated requests, want %d", got, c.want)
			}
		})
	}
}

func mustMarshal(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a","arguments":"{"}}]},{"role":"tool","tool_call_id":"1","content":"Error"}]}`))
	f.Add([]byte(`{"input":[{"type":"function_call","call_id":"a","name":"b","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":"x"}],"instructions":"y"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) {
			return
		}
		req := request(t, body)
		if diff := cmp.Diff(Read(req), Read(req)); diff != "" {
			t.Error(diff)
		}
	})
}

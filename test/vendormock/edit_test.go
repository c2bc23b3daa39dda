package vendormock

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// runAgent executes the calls of [edit loop] like an agent with one tool. It returns the number of calls and the last text.
func runAgent(t *testing.T, c *Conversation, execute func(command string) string) (calls int, text string) {
	t.Helper()
	for range 50 {
		r := answer(c, []string{"edit loop"})
		turn := Turn{Assistant: true, Parts: r.Parts}
		var results []Part
		for _, p := range turn.OfKind(CallPart) {
			var input struct{ Command string }
			if err := json.Unmarshal(p.Input, &input); err != nil {
				t.Fatal(err)
			}
			results = append(results, Part{Kind: ResultPart, ID: p.ID, Name: p.Name, Text: execute(input.Command)})
		}
		if len(results) == 0 {
			return calls, turn.Text()
		}
		calls += len(results)
		c.Turns = append(c.Turns, turn, Turn{Parts: results})
	}
	t.Fatal("the loop did not end after 50 replies")
	return 0, ""
}

func TestEditLoopEndsInAnEditedFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("count: 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := &Conversation{Tools: []Tool{{Name: "bash"}}, Turns: []Turn{{Parts: []Part{{Kind: TextPart, Text: "Count in " + file + " [edit loop]"}}}}}
	calls, text := runAgent(t, c, func(command string) string {
		out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
		if err != nil {
			t.Fatalf("run %q: %v", command, err)
		}
		return string(out)
	})
	if content, err := os.ReadFile(file); err != nil || string(content) != "count: 9\n" || calls != 20 || text != "Edited the file 9 times." {
		t.Errorf("got %d calls, the text %q and the file %q (%v), want 20 calls, 9 edits and %q", calls, text, content, err, "count: 9\n")
	}
}

func TestEditLoopReportsAnUnexpectedResult(t *testing.T) {
	t.Parallel()
	c := &Conversation{Tools: []Tool{{Name: "bash"}}, Turns: []Turn{{Parts: []Part{{Kind: TextPart, Text: "Count in /tmp/a.txt [edit loop]"}}}}}
	calls, text := runAgent(t, c, func(string) string { return "count: 0" })
	if calls != 4 || !strings.Contains(text, `should return "count: 1"; it returned "count: 0"`) {
		t.Errorf("got %d calls and the text %q, want 4 calls and a report of the wrong result", calls, text)
	}
}

func TestEditLoopUsesTheToolsOfTheAgent(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]*Conversation{
		`exec_command{"cmd":"sed -i 's/^a$/b/' /tmp/a.txt"}`:                                   {Tools: []Tool{{Name: "exec_command"}}},
		`edit{"filePath":"/tmp/a.txt","newString":"b","oldString":"a"}`:                        {Tools: []Tool{{Name: "bash"}, {Name: "edit"}}},
		`Edit{"file_path":"/tmp/a.txt","new_string":"b","old_string":"a"}`:                     {Tools: []Tool{{Name: "Bash"}, {Name: "Edit"}}},
		"apply_patch*** Begin Patch\n*** Update File: /tmp/a.txt\n@@\n-a\n+b\n*** End Patch\n": {Tools: []Tool{{Name: "shell"}, {Name: "apply_patch", Custom: true}}},
	} {
		if p := c.replaceCall("/tmp/a.txt", "a", "b"); p.Name+string(p.Input) != want {
			t.Errorf("got %s%s, want %s", p.Name, p.Input, want)
		}
	}
}

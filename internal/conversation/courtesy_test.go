package conversation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// courtesies returns the examples of a file in testdata. Empty lines separate the examples, because an example may have several lines.
func courtesies(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n\n")
}

// Polite phrases before and after a task must not change the choice of the model, so they must not change the text of the task.
func TestPoliteFramesAreRemoved(t *testing.T) {
	t.Parallel()
	tasks := []string{
		"What is 17*23?", "Write a function to remove all elements from a given list present in another list.", "Explain the Krebs cycle",
		"Mel uses a 900-watt air conditioner for 8 hours a day. How much energy is that?", "Debug this:\n\nfor i in range(10)\n    print(i)",
		"Which word is an adverb?\nA. good\nB. quickly\nC. help\nAnswer:",
	}
	openings, closings := courtesies(t, "openings.txt"), courtesies(t, "closings.txt")
	for i, opening := range openings {
		for j, task := range tasks {
			for _, framed := range []string{opening + "\n\n" + task, opening + " " + task, opening + "\n\n" + task + "\n\n" + closings[(i+j)%len(closings)]} {
				if got := Read(chat(t, framed)).Text; strings.TrimLeft(got, "¡¿") != task {
					t.Errorf("%q is read as %q, want %q", framed, got, task)
				}
			}
		}
	}
	for _, closing := range closings {
		for _, task := range tasks {
			if got := Read(chat(t, task+"\n\n"+closing)).Text; got != task {
				t.Errorf("%q after %q is read as %q, want %q", closing, task, got, task)
			}
		}
	}
}

// Clauses that are part of the task are not removed, even if they resemble polite phrases.
func TestTasksKeepClausesLikeCourtesy(t *testing.T) {
	t.Parallel()
	for _, task := range []string{
		"One morning, a woman telephoned her neighbor. What did she say?", "How many pages does he need to read, on average, in one day?",
		"Nothing is good without qualification except\nA. right action\nB. a good will\nAnswer:", "Morning glories are plants. Which pigment do they have?",
		"Can you help me find a recipe for bread?", "I have a question about Go: when does a map grow?", "Translate into German: Thank you, Anna, for the flowers.",
		"Who wrote \"Hello, I must be going\"?", "In the evening, is the sky red?", "Is it kind to help strangers?", "Which is correct: Good, Better",
		"Help! I am stuck in a lift, a novel by whom?",
	} {
		if got := Read(chat(t, task)).Text; got != task {
			t.Errorf("%q is read as %q, want %q", task, got, task)
		}
	}
}

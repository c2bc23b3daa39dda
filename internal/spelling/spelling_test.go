package spelling

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestClosest(t *testing.T) {
	t.Parallel()
	known := []string{"default_model", "data_dir", "model", "models", "Listen"}
	for text, want := range map[string]string{
		"modle": "model", "model": "model", "lisetn": "Listen", "LISTEN": "Listen", "default": "default_model",
		"datadir": "data_dir", "li": "Listen", "mo": "", "xyz": "", "": "", "nothing like it": "", strings.Repeat("model", 20): "",
	} {
		if got := Closest(text, known); got != want {
			t.Errorf("Closest(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestEditsIsADistance(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[abc]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		n := Edits(a, b)
		if n != Edits(b, a) || (n == 0) != (a == b) || n > max(len(a), len(b)) {
			t.Fatalf("Edits(%q, %q) = %d, reversed %d", a, b, n, Edits(b, a))
		}
	})
}

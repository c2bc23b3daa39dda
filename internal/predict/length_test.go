package predict

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"
)

func TestExpectedOutputLength(t *testing.T) {
	t.Parallel()
	p := embeddedPredictor(t)
	for _, c := range []struct {
		text      string
		low, high int64
	}{
		{"What is 17*23?", 20, 150},
		{"A farmer has 12 hens and each lays 5 eggs a week. She sells a dozen for $3. How much does she earn in four weeks?", 100, 220},
		{"Find all real solutions of $x^4 - 5x^2 + 4 = 0$ and prove that there are no others.", 250, 600},
		{"Write a python function to find the longest word in a list.", 150, 400},
		{"Which enzyme unwinds the double helix during DNA replication?\nA. Ligase\nB. Helicase\nC. Primase\nD. Topoisomerase\nAnswer:", 80, 220},
		{"Give me some tips for a job interview as a nurse in a small town.", 250, 600},
	} {
		if f := p.Features(Prompt{Text: c.text, Messages: 1}); f.Output < c.low || f.Output > c.high {
			t.Errorf("%.40q: %d tokens, want %d to %d (task %s, known %.2f)", c.text, f.Output, c.low, c.high, f.Task, f.Known)
		}
	}
	if f := p.Features(Prompt{Text: "Translate into French: Where is the station?", Messages: 1}); f.Task != Translation || f.Output != 0 {
		t.Errorf("a translation has task %s and %d tokens, want task %s and 0, for the length of the prompt", f.Task, f.Output, Translation)
	}
	for text, tools := range map[string]bool{"": false, "Book a flight to Rome on Friday.": true} {
		if f := p.Features(Prompt{Text: text, Tools: tools}); f.Output <= 0 {
			t.Errorf("%q: expected output is %d tokens, want more than 0", text, f.Output)
		}
	}
}

// Logged decisions store the version of the features, so a change of the feature values needs a new version. Update both constants
// together.
func TestFeatureVersionChangesWithTheFeatures(t *testing.T) {
	t.Parallel()
	p := embeddedPredictor(t)
	const version, digest = 8, "14298488027e989a"
	var all []Features
	for _, text := range []string{
		"", "hi", "What is 17*23?", "Write a python function to find the longest word in a list.", "Translate into French: Where is the station?",
		"Beweise, dass es unendlich viele Primzahlen gibt.", "Summarise the following text in two sentences: the cat sat on the mat.",
		"Design a lock-free queue in C++20 and prove linearizability.", "证明根号二是无理数。",
		"Which of these is a noble gas?\nA. Helium\nB. Oxygen\nC. Iron\nD. Sulphur\nAnswer:",
	} {
		all = append(all, p.Features(Prompt{Text: text, Messages: 1}), p.Features(Prompt{Text: text, Tools: true, Messages: 1}))
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(text)
	if got := hex.EncodeToString(sum[:8]); got != digest || featureVersion != version {
		t.Errorf("the features of version %d have the digest %s, expected version %d with %s: increase featureVersion and set both here", featureVersion, got, version, digest)
	}
}

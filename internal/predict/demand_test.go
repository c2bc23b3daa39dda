package predict

import (
	"testing"
)

// Prompts unlike the training data differ by how demanding they look.
func TestDemandingPromptsAreHarder(t *testing.T) {
	t.Parallel()
	p := embeddedPredictor(t)
	ability, _ := p.Known("gpt-4o-2024-05-13")
	success := func(text string) Estimate {
		f := p.Features(Prompt{Text: text, Messages: 1})
		return Success(&f, &ability)
	}
	easy := []string{
		"What is 17*23?",
		"Rewrite this sentence politely: give me the report.",
		"Give me a name for my cat.",
	}
	for _, hard := range []string{
		"Our Kafka Streams topology loses exactly-once guarantees during rebalances when the transactional id is reused across zombie instances. Diagnose the race and propose a fix with fencing.",
		"Design a lock-free multi-producer multi-consumer queue in C++20 with hazard pointers; prove linearizability and discuss ABA and memory ordering on ARM.",
		"Given the attached Lagrangian with a non-minimally coupled scalar, derive the one-loop effective potential in de Sitter space using dimensional regularization.",
		"Optimise this CUDA kernel for Hopper: use TMA and wgmma, double-buffered shared memory, and explain occupancy limits.",
	} {
		for _, plain := range easy {
			if a, b := success(hard), success(plain); a.Probability > b.Probability-0.05 {
				t.Errorf("probability of %.40q is %.3f, of %.40q is %.3f; want a difference of 0.05",
					hard, a.Probability, plain, b.Probability)
			}
		}
	}
}

func TestDemandAppliesToUnknownPromptsOnly(t *testing.T) {
	t.Parallel()
	p := embeddedPredictor(t)
	for _, text := range []string{
		"Which of the following is a corollary of the intermediate value theorem?\nA. Rolle's theorem\nB. Existence of roots\nC. Taylor's theorem\nD. None\nAnswer:",
		"Write a function to find the longest word in a given list of words.",
	} {
		if f := p.Features(Prompt{Text: text, Messages: 1}); f.Known < 0.99 || f.Ease < -0.03 {
			t.Errorf("%.40q: known %.2f, ease %.2f; want a known prompt without negative ease", text, f.Known, f.Ease)
		}
	}
	if d := demandOf(""); d != 0 {
		t.Errorf("demand of an empty text is %v, want 0", d)
	}
	if d := demandOf("Could you tell me what time the shop on the corner opens on Sunday?"); d != 0 {
		t.Errorf("demand of a plain question is %v, want 0", d)
	}
}

func TestUnknownPromptHasAWiderInterval(t *testing.T) {
	t.Parallel()
	a := Ability{Vector: []float64{0.5}, Spread: 0.3}
	known, unknown := Success(&Features{Known: 1}, &a), Success(&Features{Known: 0}, &a)
	if known.Probability != unknown.Probability || unknown.Spread < 2*known.Spread {
		t.Errorf("known %+v, unknown %+v; want the same probability and at least twice the spread", known, unknown)
	}
}

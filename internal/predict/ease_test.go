package predict

import "testing"

func TestSmallTalkIsEasy(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"hi": smallTalkEase, "Hello there!": smallTalkEase, "Thanks, that helped a lot": smallTalkEase, "Hallo, wie geht's?": smallTalkEase, "你好": smallTalkEase,
		"Hello, what is 12 times 7": 0, "Hi, write me a compiler for a language of my own": 0, "What is the capital of Peru?": 0, "": 0,
		"hello world in C: main() {": 0, "Is this high?": 0,
	} {
		if got := easeOf(Chat, text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if easeOf(Code, "hi") != 0 {
		t.Error("easeOf(Code, hi) is not 0")
	}
}

func TestEaseRaisesEveryModel(t *testing.T) {
	t.Parallel()
	weak, strong := Ability{Vector: []float64{-0.5}}, Ability{Vector: []float64{2.5}}
	plain, easy := Features{}, Features{Ease: smallTalkEase}
	gap := Success(&plain, &strong).Probability - Success(&plain, &weak).Probability
	less := Success(&easy, &strong).Probability - Success(&easy, &weak).Probability
	if less >= gap/2 || Success(&easy, &weak).Probability < 0.9 {
		t.Errorf("the difference of the models changed from %v to %v, the weak model has %v; want half the difference and at least 0.9",
			gap, less, Success(&easy, &weak).Probability)
	}
}

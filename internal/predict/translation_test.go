package predict

import "testing"

func TestTranslationBetweenCommonLanguagesIsEasy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want float64
	}{
		{"Translate into French: The meeting starts at nine.", translationEase},
		{"Übersetze ins Englische: Le train part à huit heures et il ne faut pas être en retard.", translationEase},
		{"English to Ukrainian translation.\nEnglish: The frog sat near the river.\nUkrainian:", translationEase},
		{"Translate into Igbo: The meeting starts at nine.", 0},
		{"Translate this Swahili sentence into French: Habari ya asubuhi.", 0},
		{"English to Mesopotamian Arabic translation.\nEnglish: The frog sat near the river.\nMesopotamian Arabic:", 0},
		{"Translate into Waray: The meeting starts at nine.", 0},
	} {
		if got := easeOfTranslation(c.text, LanguageOf(c.text)); got != c.want {
			t.Errorf("%q: ease %v, want %v", c.text, got, c.want)
		}
	}
}

// Models differ less for common languages than for rare languages, so a cheap model is chosen more often.
func TestModelsDifferLessInCommonLanguages(t *testing.T) {
	t.Parallel()
	p := embeddedPredictor(t)
	strong, _ := p.Known("gpt-4-1106-preview")
	weak, _ := p.Known("mixtral-8x7b-instruct-v0.1")
	lead := func(language string) float64 {
		f := p.Features(Prompt{Text: "Translate into " + language + ": The meeting starts at nine and everyone is welcome.", Messages: 1})
		return Success(&f, &strong).Probability - Success(&f, &weak).Probability
	}
	if common, rare := lead("French"), lead("Igbo"); common > rare-0.05 {
		t.Errorf("the lead of the strong model is %.3f for a common and %.3f for a rare language", common, rare)
	}
}

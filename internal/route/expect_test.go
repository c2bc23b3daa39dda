package route

import (
	"testing"

	"fairlead/internal/predict"
)

func TestShortPromptsAreExpectedToGetShortResponses(t *testing.T) {
	t.Parallel()
	chat := Input{Features: predict.Features{Task: predict.Chat}, InputTokens: 40}
	usual := expectedOutput(&chat)
	for name, c := range map[string]struct {
		in   Input
		want outputPrior
	}{
		"a usual prompt":             {chat, usual},
		"a greeting":                 {Input{Features: predict.Features{Task: predict.Chat, Ease: 3}, InputTokens: 5}, outputPrior{25, 50}},
		"a few words":                {Input{Features: predict.Features{Task: predict.Chat}, InputTokens: 9}, outputPrior{usual.visible * 2 / 5, usual.reasoning * 2 / 5}},
		"a few words in an exchange": {Input{Features: predict.Features{Task: predict.Chat}, InputTokens: 9, Turns: 2}, usual},
		"an unknown length":          {Input{Features: predict.Features{Task: predict.Chat}}, usual},
	} {
		if got := expectedOutput(&c.in); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

package promptcache

import (
	"time"

	"fairlead.dev/internal/catalog"
)

// Outlook predicts the next turn of a conversation from earlier turns. The zero value predicts no further turn.
type Outlook struct {
	Another float64       // probability of a further turn
	Gap     time.Duration // pause before the current turn, also expected before the next one
}

// outlook estimates the probability of a further turn. With k earlier turns the probability is (k+1)/(k+2). For a first turn it is zero:
// most prompts are sent once, and a cache mark would make them more expensive.
func outlook(turns int, gap time.Duration) Outlook {
	if turns == 0 {
		return Outlook{}
	}
	return Outlook{Another: float64(turns+1) / float64(turns+2), Gap: gap}
}

// EndMark returns the mark that the gateway sets at the end of the prompt for a target with the given rules. The lifetime of the mark
// covers the expected pause, and the expected reads save more than the write costs. EndMark returns Unmarked if no lifetime meets both
// conditions, if the rules do not allow an end mark or require a longer prompt, or if the caller has set any marks.
func (fp Fingerprint) EndMark(rules catalog.CacheRule) Mark {
	if !rules.EndMark || fp.Tokens() < rules.Minimum || fp.Outlook.Another <= 0 || fp.Outlook.Another >= 1 {
		return Unmarked
	}
	for _, link := range fp.Links {
		if link.Mark != Unmarked {
			return Unmarked
		}
	}
	// Each later turn reads the prefix and extends its lifetime. With the short lifetime, one read saves more than the write costs.
	// Longer pauses need the long lifetime. Its write costs more than one read saves, so several reads must be expected.
	reads := fp.Outlook.Another / (1 - fp.Outlook.Another)
	switch {
	case fp.Outlook.Gap <= rules.Lifetime && fp.Outlook.Another*rules.HitRate > rules.BreakEven:
		return ShortMark
	case fp.Outlook.Gap > rules.Lifetime && fp.Outlook.Gap <= rules.Long && rules.BreakEvenLong > 0 && reads*rules.HitRate > rules.BreakEvenLong:
		return LongMark
	}
	return Unmarked
}

// withEndMark returns the fingerprint with the mark that the gateway sets for a target with the given rules.
func (fp Fingerprint) withEndMark(rules catalog.CacheRule) Fingerprint {
	mark := fp.EndMark(rules)
	if mark == Unmarked {
		return fp
	}
	links := make([]Link, len(fp.Links))
	copy(links, fp.Links)
	links[len(links)-1].Mark = mark
	fp.Links = links
	return fp
}

// Outlook returns the prediction of the next turn.
func (v View) Outlook() Outlook { return v.fingerprint.Outlook }

// Lifetime returns the lifetime of a mark as providers write it: 5m, 1h, or empty for none.
func (m Mark) Lifetime() string {
	switch m {
	case ShortMark:
		return "5m"
	case LongMark:
		return "1h"
	case Unmarked:
	}
	return ""
}

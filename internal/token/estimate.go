package token

import "fairlead.dev/internal/llm"

// Indexes of the features that are not character counts, and the number of features.
const (
	foreignLong = llm.Classes + iota // parts of long words in Latin-script languages other than English, detected by accents
	noise                            // letters of keys and base64, detected by mixed upper and lower case
	Dims        = llm.Classes + iota // number of features
)

// Features returns the features of text with the given counts. The token estimate is their weighted sum.
func Features(t llm.Text) (f [Dims]float64) {
	for i, n := range t.Counts {
		f[i] = float64(n)
	}
	if words := f[llm.Words]; words > 0 {
		share := min(1, accentedShare*f[llm.Latin]/words)
		f[foreignLong] = share * f[llm.LongParts]
	}
	if letters := f[llm.Letters]; letters > 0 {
		f[noise] = letters * min(1, max(0, (f[llm.Humps]/letters-leastNoise)/leastNoise))
	}
	return f
}

const (
	accentedShare = 8   // typical number of words per accented letter in German and Spanish
	leastNoise    = 0.1 // minimum share of capital letters inside words of noise: code has less, keys more, base64 about twice this
)

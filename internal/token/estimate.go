package token

import "fairlead.dev/internal/llm"

// Features derived from combinations of character counts, which a linear sum cannot express.
const (
	foreignLong = llm.Classes + iota // ends of long words in Latin scripts other than English, detected by accents
	noise                            // letters of keys and base64, detected by mixed upper and lower case
	Dims        = llm.Classes + iota // number of features
)

// Features returns the features of a text. The estimate is their weighted sum.
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
	accentedShare = 8   // words per accented letter in German and Spanish
	leastNoise    = 0.1 // capitals within words per letter; names in code have fewer, base64 has twice as many
)

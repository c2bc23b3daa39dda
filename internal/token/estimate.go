package token

import "fairlead/internal/llm"

// What follows from the counts together, besides the counts themselves: a straight sum cannot see it.
const (
	foreignLong = llm.Classes + iota // ends of long words in Latin scripts other than English, told by their accents
	noise                            // letters of keys and base64, told by how capitals mix with small ones
	Dims        = llm.Classes + iota // how many numbers an estimate is computed from
)

// Features are the numbers that an estimate is computed from: the sum of each times its weight.
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
	accentedShare = 8   // words for each accented letter, in German and Spanish
	leastNoise    = 0.1 // capitals amid words per letter; names in code have fewer, base64 has twice as many
)

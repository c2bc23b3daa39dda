package predict

import "strings"

// kindCount is the number of kinds of words that are counted; kind 0 is every other word.
const kindCount = 25

// kinds lists the words of each kind. The order is part of the artefact: after a change, train again.
func kinds() [kindCount]string {
	return [kindCount]string{
		0:  "",
		1:  "what what's",
		2:  "which whose whom",
		3:  "who when where",
		4:  "why explain describe discuss reason",
		5:  "how",
		6:  "many much total altogether amount number",
		7:  "one two three four five six seven eight nine ten eleven twelve twenty thirty hundred thousand million dozen",
		8:  "half twice double triple third quarter times fraction percent percentage ratio",
		9:  "each every per",
		10: "more less fewer than greater least most larger smaller higher lower",
		11: "if suppose assume given let",
		12: "then after before later next first last until while remaining left rest",
		13: "not no never except none neither nor false incorrect without cannot isn't doesn't",
		14: "find calculate compute evaluate determine solve simplify express",
		15: "write create implement generate make draft compose",
		16: "function return def class import int string array list code python java program method",
		17: "translate translation english french german spanish chinese language",
		18: "true statement statements following correct best likely",
		19: "and",
		20: "or",
		21: "i me my you your we our",
		22: "he she his her they their him them",
		23: "dollars cents cost costs price pay paid buy bought sell sold hour hours day days week weeks year years minutes miles",
		24: "integer real equation triangle polynomial positive sum product angle circle prime vector matrix probability",
	}
}

// words maps a word's hash to its kind: an open-addressing table, built once.
type words struct {
	hashes [512]uint32
	kinds  [512]uint8
}

func newWords() *words {
	w := &words{}
	for k, list := range kinds() {
		for word := range strings.FieldsSeq(list) {
			h := hashWord(word)
			i := h % uint32(len(w.hashes))
			for w.hashes[i] != 0 && w.hashes[i] != h {
				i = (i + 1) % uint32(len(w.hashes))
			}
			w.hashes[i], w.kinds[i] = h, uint8(k)
		}
	}
	return w
}

func hashWord(word string) uint32 {
	h := uint32(wordBasis)
	for i := range len(word) {
		h = (h ^ uint32(word[i])) * wordPrime
	}
	return h
}

// kind returns the kind of the word with this hash, or 0.
func (w *words) kind(h uint32) int {
	i := h % uint32(len(w.hashes))
	for w.hashes[i] != 0 {
		if w.hashes[i] == h {
			return int(w.kinds[i])
		}
		i = (i + 1) % uint32(len(w.hashes))
	}
	return 0
}

package predict

import (
	"math/bits"
	"strings"
	"unicode/utf8"
)

const (
	languageHead = 500 // bytes read to detect the language
	fewestHits   = 2   // minimum number of stop words in the text
	shareOfHits  = 12  // maximum number of words per stop word
)

// LanguageOf returns the ISO 639-1 code of the language of a prompt, detected by script and stop words. It returns "" if the start of the
// text is not conclusive.
func LanguageOf(text string) string {
	text = cut(text, languageHead)
	var s scripts
	ascii := s.read(text)
	if code := s.language(); code != "" {
		return code
	}
	if ascii == 0 && s.latin == 0 {
		return ""
	}
	return byStopWords(text)
}

// scripts counts letters by script.
type scripts struct {
	latin, han, kana, hangul, cyrillic, ukrainian, arabic, persian, hebrew, devanagari, bengali, tamil, thai, greek, georgian int
}

// read counts the letters and returns the number of ASCII letters.
func (s *scripts) read(text string) (ascii int) {
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			if b|0x20 >= 'a' && b|0x20 <= 'z' {
				ascii++
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		if count := s.of(r); count != nil {
			*count++
		}
	}
	s.latin += ascii
	return ascii
}

// of returns the counter for the script of a letter.
func (s *scripts) of(r rune) *int {
	switch {
	case r < 0x250:
		return &s.latin
	case r >= 0x370 && r < 0x400:
		return &s.greek
	case r == 'і' || r == 'ї' || r == 'є' || r == 'ґ' || r == 'І' || r == 'Ї' || r == 'Є':
		return &s.ukrainian
	case r >= 0x400 && r < 0x530:
		return &s.cyrillic
	case r >= 0x590 && r < 0x600:
		return &s.hebrew
	case r == 'پ' || r == 'چ' || r == 'ژ' || r == 'گ' || r == 'ی' || r == 'ک':
		return &s.persian
	case r >= 0x600 && r < 0x700:
		return &s.arabic
	case r >= 0x900 && r < 0x980:
		return &s.devanagari
	case r >= 0x980 && r < 0xA00:
		return &s.bengali
	case r >= 0xB80 && r < 0xC00:
		return &s.tamil
	case r >= 0xE00 && r < 0xE80:
		return &s.thai
	case r >= 0x10A0 && r < 0x1100:
		return &s.georgian
	case r >= 0x1E00 && r < 0x1F00:
		return &s.latin
	case r >= 0x3040 && r < 0x3100:
		return &s.kana
	case r >= 0x3400 && r < 0xA000:
		return &s.han
	case r >= 0xAC00 && r < 0xD7B0:
		return &s.hangul
	}
	return nil
}

// language returns the language of the most frequent script, or "" if that is the Latin script. A letter of any other
// script counts as at least three Latin letters.
func (s *scripts) language() string {
	best, bestCount := "", s.latin/3
	for _, c := range []struct {
		code  string
		count int
	}{
		{"zh", s.han},
		{"ja", 2 * s.kana},
		{"ko", s.hangul},
		{"ru", s.cyrillic},
		{"ar", s.arabic},
		{"he", s.hebrew},
		{"hi", s.devanagari},
		{"bn", s.bengali},
		{"ta", s.tamil},
		{"th", s.thai},
		{"el", s.greek},
		{"ka", s.georgian},
	} {
		if c.count > bestCount {
			best, bestCount = c.code, c.count
		}
	}
	switch {
	case best == "zh" && s.kana*8 > s.han:
		return "ja"
	case best == "ru" && s.ukrainian*40 > s.cyrillic:
		return "uk"
	case best == "ar" && s.persian*12 > s.arabic:
		return "fa"
	}
	return best
}

// latin lists the languages detected by stop words, in the order of the bits in stopWords.
var latin = []string{"en", "de", "fr", "es", "it", "pt", "nl", "pl", "tr", "sv", "da", "vi", "id", "cs", "ro", "fi"}

// stopWords maps frequent words to a bit set of the languages they belong to.
var stopWords = func() *lexicon[uint32] {
	lists := map[string]string{
		"en": "the of and to in is that for it with as was on are this be by from or an at not have you what how which can if do your write following please",
		"de": "der die das und ist nicht ein eine einen zu mit auf für von den dem im sich auch wie was ich wir sie es bitte als aus bei oder kann einem einer",
		"fr": "le la les des et est une un du que dans pour pas qui sur avec ce par au plus sont nous vous je il elle comment quelle quel cette mais ou où",
		"es": "el la los las de y que en un una es por con para no del se lo como más al su qué cuál cómo está son este esta pero muy hay",
		"it": "il lo gli di e che in un una è per con non del della sono come più al si questo questa ma anche nel le dei quali scrivi",
		"pt": "o os as de e que em um uma é por com para não do da se como mais ao sua qual está são este esta mas muito na no você",
		"nl": "de het een en van is dat niet op te voor met zijn aan er ook als maar hoe wat ik wij naar bij deze dit worden",
		"pl": "i w na z nie się że to jest do jak co jest są dla od czy przez po ale ten która który oraz jaki",
		"tr": "ve bir bu için ile da de ne mi olan olarak gibi çok daha var nasıl değil ben sen nedir hangi",
		"sv": "och att det som en är på av för med den till inte om ett har jag du vad hur kan från vi eller",
		"da": "og at det som en er på af for med den til ikke om et har jeg du hvad hvordan kan fra vi eller hvor",
		"vi": "và là của có không một những cho với các được người này trong đã như để bạn tôi thế nào hãy",
		"id": "dan yang di ini itu untuk dengan dari pada adalah tidak apa saya anda akan atau bagaimana ke dalam sebuah",
		"cs": "a v na se je že to s z do o jak co pro jsou by ale jako od nebo který která není prosím",
		"ro": "și de la în un o este care cu pe nu să mai din pentru ce cum sunt au fi sau",
		"fi": "ja on ei se että oli hän mutta ovat kun niin kuin mitä tai minä voi ole miten tämä jos",
	}
	table := map[string]uint32{}
	for i, code := range latin {
		for word := range strings.FieldsSeq(lists[code]) {
			table[word] |= 1 << i
		}
	}
	return newLexicon(table)
}()

// byStopWords returns the language with the most stop words. A stop word shared by several languages counts as an equal fraction for each
// of them.
func byStopWords(text string) string {
	var word [longestWord]byte
	var hits [32]float64
	var found [32]int
	words := 0
	for i := 0; i < len(text); i++ { // i++ skips the byte after a word
		length, _ := foldWord(&word, text[i:])
		i += length
		if length < 2 || length > longestWord { // single letters occur in every language
			continue
		}
		words++
		set, _ := stopWords.find(word[:length])
		part := 1 / float64(max(1, bits.OnesCount32(set)))
		for ; set != 0; set &= set - 1 {
			hits[bits.TrailingZeros32(set)] += part
			found[bits.TrailingZeros32(set)]++
		}
	}
	best := 0
	for i := range latin {
		if hits[i] > hits[best] {
			best = i
		}
	}
	if found[best] < min(fewestHits, words) || hits[best] == 0 || found[best]*shareOfHits < words {
		return ""
	}
	return latin[best]
}

package predict

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	languageHead = 250 // bytes read to detect the language
	fewestHits   = 2   // minimum number of stop words in the text
	shareOfHits  = 12  // maximum number of words per stop word
)

// LanguageOf returns the ISO 639-1 code of the language of a text, detected by script and stop words. It returns "" if the start of the
// text is not conclusive.
func LanguageOf(text string) string {
	text = head(text, languageHead)
	var counts [len(scripts)]int
	latin, special := 0, [...]struct {
		letters, code, of string
		count             int
	}{
		{"іїєґІЇЄҐ", "uk", "ru", 0}, {"پچژگیک", "fa", "ar", 0},
	}
	for _, r := range text {
		if r < 0x250 || r >= 0x1E00 && r < 0x1F00 {
			if unicode.IsLetter(r) {
				latin++
			}
			continue
		}
		for i, s := range scripts {
			if r >= s.from && r < s.to {
				counts[i]++
			}
		}
		for i := range special {
			if strings.ContainsRune(special[i].letters, r) {
				special[i].count++
			}
		}
	}
	best, most := "", latin/3 // a letter of another script counts as three Latin letters, because texts in all languages contain Latin words
	for i, s := range scripts {
		if counts[i] > most || s.code == "ja" && best == "zh" && counts[i]*8 > most {
			best, most = s.code, counts[i]
		}
	}
	for _, s := range special {
		if best == s.of && s.count*25 > most {
			best = s.code
		}
	}
	if best != "" || latin == 0 {
		return best
	}
	return byStopWords(text)
}

// scripts lists the scripts of one main language. Kana follows Han, because Japanese texts contain both.
var scripts = [...]struct {
	code     string
	from, to rune
}{
	{"zh", 0x3400, 0xA000},
	{"ja", 0x3040, 0x3100},
	{"ko", 0xAC00, 0xD7B0},
	{"ru", 0x400, 0x530},
	{"ar", 0x600, 0x700},
	{"he", 0x590, 0x600},
	{"hi", 0x900, 0x980},
	{"bn", 0x980, 0xA00},
	{"ta", 0xB80, 0xC00},
	{"th", 0xE00, 0xE80},
	{"el", 0x370, 0x400},
	{"ka", 0x10A0, 0x1100},
}

// stopWords maps frequent words to the set of the languages they belong to, with one bit for each of latinLanguages.
var stopWords = func() map[string]uint32 {
	table := map[string]uint32{}
	for i, l := range latinLanguages {
		for word := range strings.FieldsSeq(l.words) {
			table[word] |= 1 << i
		}
	}
	return table
}()

// latinLanguages lists the languages that are detected by stop words.
var latinLanguages = [...]struct{ code, words string }{
	{"en", "the of and to in is that for it with as was on are this be by from or an at not have you what how which can if do your write following please"},
	{"de", "der die das und ist nicht ein eine einen zu mit auf für von den dem im sich auch wie was ich wir sie es bitte als aus bei oder kann einem einer"},
	{"fr", "le la les des et est une un du que dans pour pas qui sur avec ce par au plus sont nous vous je il elle comment quelle quel cette mais ou où"},
	{"es", "el la los las de y que en un una es por con para no del se lo como más al su qué cuál cómo está son este esta pero muy hay"},
	{"it", "il lo gli di e che in un una è per con non del della sono come più al si questo questa ma anche nel le dei quali scrivi"},
	{"pt", "o os as de e que em um uma é por com para não do da se como mais ao sua qual está são este esta mas muito na no você"},
	{"nl", "de het een en van is dat niet op te voor met zijn aan er ook als maar hoe wat ik wij naar bij deze dit worden"},
	{"pl", "i w na z nie się że to jest do jak co jest są dla od czy przez po ale ten która który oraz jaki"},
	{"tr", "ve bir bu için ile da de ne mi olan olarak gibi çok daha var nasıl değil ben sen nedir hangi"},
	{"sv", "och att det som en är på av för med den till inte om ett har jag du vad hur kan från vi eller"},
	{"da", "og at det som en er på af for med den til ikke om et har jeg du hvad hvordan kan fra vi eller hvor"},
	{"vi", "và là của có không một những cho với các được người này trong đã như để bạn tôi thế nào hãy"},
	{"id", "dan yang di ini itu untuk dengan dari pada adalah tidak apa saya anda akan atau bagaimana ke dalam sebuah"},
	{"cs", "a v na se je že to s z do o jak co pro jsou by ale jako od nebo který která není prosím"},
	{"ro", "și de la în un o este care cu pe nu să mai din pentru ce cum sunt au fi sau"},
	{"fi", "ja on ei se että oli hän mutta ovat kun niin kuin mitä tai minä voi ole miten tämä jos"},
}

// byStopWords returns the language with the most stop words. A stop word shared by several languages counts as an equal fraction for each
// of them.
func byStopWords(text string) string {
	var hits [len(latinLanguages)]float64
	var found [len(latinLanguages)]int
	words := 0
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if utf8.RuneCountInString(word) < 2 { // single letters occur in every language
			continue
		}
		words++
		set := stopWords[strings.ToLower(word)]
		part := 1 / float64(max(1, bits.OnesCount32(set)))
		for ; set != 0; set &= set - 1 {
			hits[bits.TrailingZeros32(set)] += part
			found[bits.TrailingZeros32(set)]++
		}
	}
	best := 0
	for i := range hits {
		if hits[i] > hits[best] {
			best = i
		}
	}
	if found[best] < min(fewestHits, words) || hits[best] == 0 || found[best]*shareOfHits < words {
		return ""
	}
	return latinLanguages[best].code
}

package llm

import "unicode/utf8"

// Class is a class of characters, or of runs of characters, that is counted in text. Package token estimates the number of tokens as a
// weighted sum of these counts.
type Class int

// Classes of characters and runs. A run is a sequence of characters of the same kind.
const (
	Words     Class = iota // runs of ASCII letters
	Letters                // ASCII letters
	LongParts              // ASCII letters after the sixth in their run
	Capitals               // ASCII capital letters
	Humps                  // capital letters after a lower-case letter, as in camelCase
	Numbers                // runs of ASCII digits
	Digits                 // ASCII digits
	Triples                // groups of up to three digits, into which each run of digits is divided
	Joints                 // changes between ASCII letters and digits
	Newlines               // line ends; a run of line ends counts once
	Blanks                 // spaces, tabs and line ends after the first in their run
	Signs                  // all other ASCII characters, such as punctuation
	SignRuns               // runs of the class Signs
	SignTurns              // signs that differ from the previous one in their run
	Latin                  // non-ASCII Latin letters
	Cyrillic
	Greek
	Hebrew // Hebrew and Armenian
	Arabic
	Devanagari
	Indic      // other scripts with three bytes per character, such as Bengali, Tamil, Georgian and Khmer
	OtherWords // runs of letters of the classes from Cyrillic to Indic
	Thai       // Thai and Lao characters
	Kana
	Han
	Hangul
	Symbols // punctuation and symbols with three bytes
	Emoji   // all characters with four bytes
	Classes // number of classes
)

// Text holds the character counts of a string. The zero value describes the empty string.
type Text struct {
	Counts [Classes]int32 `json:"counts"`
}

// Empty reports whether nothing was counted.
func (t Text) Empty() bool { return t == Text{} }

// If a string is longer than fullText bytes, only about fullText bytes of it are counted, in evenly spaced blocks.
const (
	fullText  = 8 << 10
	textBlock = 256
)

// Add counts a string. It samples evenly spaced blocks of a long string.
func (t *Text) Add(s string) {
	if len(s) <= fullText {
		t.measure(s, false)
		return
	}
	var part Text
	blocks := (len(s) + textBlock - 1) / textBlock
	stride := (blocks*textBlock + fullText - 1) / fullText
	measured := 0
	for b := 0; b < blocks; b += stride {
		block := s[b*textBlock : min(len(s), (b+1)*textBlock)]
		part.measure(block, b > 0)
		measured += len(block)
	}
	scale := float64(len(s)) / float64(measured)
	for i, n := range part.Counts {
		t.Counts[i] += max(0, int32(float64(n)*scale+0.5))
	}
}

// byteKind classifies bytes by their value.
type byteKind uint8

const (
	small byteKind = iota
	capital
	digit
	blank
	newline
	sign
	tail // continuation byte
	latin
	cyrillic
	greek
	hebrew
	arabic
	three // three bytes; the class depends on the second byte
	indic
	han
	hangul
	symbol
	four
)

var byteKinds = func() (table [256]byteKind) {
	for c := range 256 {
		table[c] = byteKindOf(byte(c))
	}
	return table
}()

func byteKindOf(c byte) byteKind {
	switch {
	case c >= 'a' && c <= 'z':
		return small
	case c >= 'A' && c <= 'Z':
		return capital
	case c >= '0' && c <= '9':
		return digit
	case c == ' ' || c == '\t':
		return blank
	case c == '\n' || c == '\r':
		return newline
	case c < utf8.RuneSelf:
		return sign
	case c < 0xC0:
		return tail
	case c < 0xCD:
		return latin
	case c < 0xD0:
		return greek
	case c < 0xD4:
		return cyrillic
	case c < 0xD8:
		return hebrew
	case c < 0xE0:
		return arabic
	case c == 0xE0 || c == 0xE3:
		return three
	case c == 0xE1:
		return indic
	case c == 0xE2 || c == 0xEF:
		return symbol
	case c < 0xEA:
		return han
	case c < 0xEE:
		return hangul
	case c < 0xF0:
		return symbol
	}
	return four
}

// measure counts every byte of s. cut is true if s continues a longer string. Then the first run is not counted as a run, because it
// probably began before s.
func (t *Text) measure(s string, cut bool) {
	if cut && s != "" {
		switch byteKinds[s[0]] {
		case small, capital:
			t.Counts[Words]--
		case digit:
			t.Counts[Numbers]--
		case sign:
			t.Counts[SignRuns]--
		default:
		}
	}
	before := blank // kind of the previous run
	for i := 0; i < len(s); {
		k := byteKinds[s[i]]
		from := i
		switch k {
		case small, capital:
			i = t.word(s, i)
			if before == digit {
				t.Counts[Joints]++
			}
			k = small
		case digit:
			for i++; i < len(s) && byteKinds[s[i]] == digit; i++ {
			}
			t.Counts[Numbers]++
			t.Counts[Digits] += int32(i - from)
			t.Counts[Triples] += int32(i-from+2) / 3
			if before == small {
				t.Counts[Joints]++
			}
		case blank:
			for i++; i < len(s) && byteKinds[s[i]] == blank; i++ {
			}
			t.Counts[Blanks] += int32(i - from - 1)
		case newline:
			for i++; i < len(s) && byteKinds[s[i]] == newline; i++ {
			}
			t.Counts[Newlines]++
			t.Counts[Blanks] += int32(i - from - 1)
		case sign:
			i = t.signs(s, i)
		default:
			i = t.foreign(s, i, k, before)
		}
		before = k
	}
}

// word counts a run of ASCII letters and returns its end.
func (t *Text) word(s string, i int) int {
	from := i
	capitals, humps := int32(0), int32(0)
	last := capital
	for ; i < len(s); i++ {
		k := byteKinds[s[i]]
		if k > capital {
			break
		}
		capitals += int32(k)
		humps += int32(k &^ last)
		last = k
	}
	t.Counts[Words]++
	t.Counts[Letters] += int32(i - from)
	t.Counts[LongParts] += int32(max(0, i-from-6))
	t.Counts[Capitals] += capitals
	t.Counts[Humps] += humps
	return i
}

func (t *Text) signs(s string, i int) int {
	from := i
	for i++; i < len(s) && byteKinds[s[i]] == sign; i++ {
		if s[i] != s[i-1] {
			t.Counts[SignTurns]++
		}
	}
	t.Counts[SignRuns]++
	t.Counts[Signs] += int32(i - from)
	return i
}

// foreign counts one character outside ASCII and returns its end.
func (t *Text) foreign(s string, i int, k, before byteKind) int {
	class, size := Symbols, 3
	switch k {
	case tail: // rest of a truncated character
		return i + 1
	case latin:
		class, size = Latin, 2
	case cyrillic:
		class, size = Cyrillic, 2
	case greek:
		class, size = Greek, 2
	case hebrew:
		class, size = Hebrew, 2
	case arabic:
		class, size = Arabic, 2
	case indic:
		class = Indic
	case han:
		class = Han
	case hangul:
		class = Hangul
	case four:
		class, size = Emoji, 4
	case three:
		class = threeBytes(s, i)
	default:
	}
	t.Counts[class]++
	if before <= sign && class >= Cyrillic && class <= Indic {
		t.Counts[OtherWords]++
	}
	return i + size
}

// threeBytes returns the class of a character of three bytes. It distinguishes scripts that share their first byte.
func threeBytes(s string, i int) Class {
	second := byte(0)
	if i+1 < len(s) {
		second = s[i+1]
	}
	switch {
	case s[i] == 0xE0 && second >= 0xB8 && second < 0xBC:
		return Thai
	case s[i] == 0xE0 && second < 0xA6:
		return Devanagari
	case s[i] == 0xE0:
		return Indic
	case second > 0x80 && second < 0x84:
		return Kana
	case second >= 0x90:
		return Han
	}
	return Symbols
}

package predict

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// measure is a property of the form of a request, such as the number of words. The weights of a measure are steps: a row "words>8" of a
// table applies to a text of more than eight words.
type measure uint8

// The measures of a text.
const (
	words      measure = iota // words; in scripts without spaces, an estimate from the number of characters
	longWords                 // words of ten and more letters
	sentences                 // ends of sentences
	lines                     // lines with text
	bullets                   // lines that begin with a list mark or a number
	numbers                   // numbers
	bigNumbers                // numbers of four and more digits
	questions                 // question marks
	commas                    // commas and semicolons
	colons                    // colons
	quotes                    // quotation marks
	capitals                  // words in capital letters
	names                     // identifiers, paths and addresses: words with a mark or a capital letter inside
	marks                     // characters that are frequent in source code
	maths                     // characters that are frequent in formulas
	fenced                    // bytes in fenced code blocks
	asks                      // whether the text ends with a question, apart from thanks
	announces                 // whether the text ends with a colon
	foreign                   // 1 for a script other than Latin, 2 for a script without spaces
	textMeasures
)

// The measures of a request that are not measures of its text.
const (
	document = 2*textMeasures + iota // bytes of documents in the last turn
	turns                            // turns of the user, without tool results and replies
	tools                            // number of tools
	images                           // number of images
	jsonMode                         // whether the response must be JSON
	fields                           // scalar fields of the response schema
	nested                           // lists and objects in the response schema
	limit                            // maximum number of output tokens; noLimit if not given
	allMeasures
)

// noLimit is the value of limit if the client gives none.
const noLimit = 1e6

// measureNames are the names of the measures in the tables. The measures of the instructions have the prefix "system.".
var measureNames = func() [allMeasures]string {
	names := [allMeasures]string{
		"words", "long_words", "sentences", "lines", "bullets", "numbers", "big_numbers", "questions", "commas", "colons", "quotes",
		"capitals", "names", "marks", "maths", "fenced", "asks", "announces", "foreign",
		document: "document", turns: "turns", tools: "tools", images: "images", jsonMode: "json", fields: "fields", nested: "nested", limit: "limit",
	}
	for m := range textMeasures {
		names[textMeasures+m] = "system." + names[m]
	}
	return names
}()

// scanner measures a text and adds the weights of its stems. Every stem counts once.
type scanner struct {
	table  *table
	count  [textMeasures]float64
	sum    sums                 // sum of the weights of the known stems
	total  int                  // number of stems, repetitions included
	known  int                  // number of these that the table has
	seen   [maxRows / 64]uint64 // set of the rows that were added
	prefix string               // part of the request, followed by a space
	key    []byte               // prefix and stem
	fence  bool                 // whether the text is inside a fenced code block
	stems  *[]string            // receives the stems, for the trainer; may be nil
}

// scan measures a text and adds its stems.
func scan(t *table, prefix, text string, stems *[]string) *scanner {
	s := &scanner{table: t, prefix: prefix, stems: stems, key: make([]byte, 0, len("system ")+4*stemRunes)}
	s.key = append(s.key, prefix...)
	s.read(text)
	s.finish(text)
	return s
}

// addTo adds the sum of the weights of the stems, scaled so that long texts do not outweigh the measures.
func (s *scanner) addTo(to *sums) {
	if s.total > 0 {
		factor := 1 / math.Sqrt(float64(s.total))
		for i, v := range s.sum {
			to[i] += factor * v
		}
	}
}

// stem adds the stem in s.key.
func (s *scanner) stem() {
	s.total++
	if s.stems != nil {
		*s.stems = append(*s.stems, string(s.key))
	}
	r := s.table.stems[string(s.key)]
	if r == nil {
		return
	}
	s.known++
	if bit := uint64(1) << (r.index % 64); s.seen[r.index/64]&bit == 0 {
		s.seen[r.index/64] |= bit
		s.sum.add(&r.weights)
	}
}

const (
	stemRunes = 6   // number of letters of a word that make its stem
	longWord  = 10  // minimum number of letters of a long word
	bigNumber = 4   // minimum number of digits of a big number
	perWord   = 0.6 // words per character in scripts without spaces
)

// class is the kind of a character.
type class uint8

const (
	other class = iota
	letter
	digit
	space
	ideograph // letter of a script without spaces between words
)

// classOf returns the class of a character. Hangul counts as a script without spaces, because its words carry particles.
func classOf(r rune) class {
	switch {
	case r >= 0xE00 && r < 0x1100, r >= 0x1780 && r < 0x1800, r >= 0x3040 && r < 0xA000 && r != 0x30FB, r >= 0xAC00 && r < 0xD7B0:
		return ideograph
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letter
	case unicode.IsDigit(r):
		return digit
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// asciiClass holds the classes of the ASCII characters.
var asciiClass = func() (table [utf8.RuneSelf]class) {
	for r := range table {
		table[r] = classOf(rune(r))
	}
	return table
}()

// read scans a text.
func (s *scanner) read(text string) {
	start := true // whether only white space precedes in the line
	for i := 0; i < len(text); {
		if start && text[i] == '`' && len(text) >= i+3 && text[i:i+3] == "```" {
			s.fence = !s.fence
			i += 3
			continue
		}
		if s.fence {
			s.count[fenced]++
			start = text[i] == '\n' || start && text[i] <= ' '
			i++
			continue
		}
		r, size := rune(text[i]), 1
		var kind class
		if r < utf8.RuneSelf {
			kind = asciiClass[r]
		} else {
			r, size = utf8.DecodeRuneInString(text[i:])
			kind = classOf(r)
		}
		switch kind {
		case space:
			start = start || r == '\n'
			i += size
			continue
		case letter:
			i = s.word(text, i)
		case digit:
			n := i
			for n < len(text) && (text[n] >= '0' && text[n] <= '9' || text[n] == '.' || text[n] == ',') {
				n++
			}
			n = max(n, i+size)
			s.count[numbers]++
			if n-i >= bigNumber {
				s.count[bigNumbers]++
			}
			if start && n-i <= 3 && n < len(text) && (text[n] == ')' || text[n-1] == '.') {
				s.count[bullets]++
			}
			i = n
		case ideograph:
			i = s.pair(text, i, size)
		case other:
			s.mark(text, i, r, start)
			i += size
		}
		if start {
			s.count[lines]++
			start = false
		}
	}
}

// word reads the word at position i and returns its end.
func (s *scanner) word(text string, i int) int {
	s.key = s.key[:len(s.prefix)]
	count, upper, inner, begin := 0, 0, false, i
	for i < len(text) {
		if c := text[i]; c < utf8.RuneSelf {
			if asciiClass[c] != letter {
				// A mark between letters makes an identifier, a path or an address.
				if (c == '_' || c == '.' || c == '/' || c == '@' || c >= '0' && c <= '9') && i+1 < len(text) && text[i+1] < utf8.RuneSelf && asciiClass[text[i+1]] == letter {
					inner = true
					i++
					continue
				}
				break
			}
			if c <= 'Z' {
				upper++
				inner = inner || count > 0 && upper != count+1
				c += 'a' - 'A'
			}
			if count < stemRunes {
				s.key = append(s.key, c)
			}
			count++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if classOf(r) != letter {
			break
		}
		if r > 0x24F && r < 0x1E00 || r > 0x1EFF {
			s.count[foreign] = max(s.count[foreign], 1)
		}
		if count < stemRunes {
			s.key = utf8.AppendRune(s.key, unicode.ToLower(r))
		}
		count++
		i += size
	}
	if i == begin { // a letter that the loop does not accept
		return begin + 1
	}
	s.count[words]++
	switch {
	case inner:
		s.count[names]++
	case count >= longWord:
		s.count[longWords]++
	case upper >= 2 && upper == count:
		s.count[capitals]++
	}
	s.stem()
	return i
}

// pair reads the character at position i of a script without spaces, together with the next one, and returns the end of the character.
func (s *scanner) pair(text string, i, size int) int {
	s.count[words] += perWord
	s.count[foreign] = 2
	next, more := utf8.DecodeRuneInString(text[i+size:])
	if more > 1 && classOf(next) == ideograph {
		s.key = append(s.key[:len(s.prefix)], text[i:i+size+more]...)
		s.stem()
	}
	return i + size
}

// mark counts a character that is not part of a word or a number. start tells whether it is the first of its line.
func (s *scanner) mark(text string, i int, r rune, start bool) {
	switch r {
	case '-', '*', '•', '#', '–':
		if start && i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == r2b(r)) {
			s.count[bullets]++
		}
	case '?', '？', '؟':
		s.count[questions]++
		s.count[sentences]++
	case '!', '！':
		s.count[sentences]++
	case '.', '。', '।':
		s.count[sentences]++
	case ',', ';', '，', '、', '；', '،':
		s.count[commas]++
	case ':', '：':
		s.count[colons]++
	case '"', '“', '”', '„', '«', '»', '「', '」', '\'', '‘':
		s.count[quotes]++
	case '{', '}', '[', ']', '<', '>', '|', '&', '`', '(', ')', '_', '/':
		s.count[marks]++
	case '^', '=', '+', '\\', '$', '∑', '√', '∫', '×', '÷', '≤', '≥', '≡', '∈', '∀', '∃', '→', '²', '³', '%', '€':
		s.count[maths]++
	}
}

func r2b(r rune) byte {
	if r < utf8.RuneSelf {
		return byte(r)
	}
	return ' '
}

// endBytes is the number of bytes at the end of a text that are searched for a question mark.
const endBytes = 45

// finish sets the measures that depend on the end of the text.
func (s *scanner) finish(text string) {
	if strings.ContainsAny(tail(text, endBytes), "?？؟") {
		s.count[asks] = 1
	}
	for end := len(text); end > 0; {
		r, size := utf8.DecodeLastRuneInString(text[:end])
		switch r {
		case ' ', '\n', '\t', '"', '\'', '”', '’', '»', ')', '*', '_', '`':
			end -= size
			continue
		case ':', '：':
			s.count[announces] = 1
		}
		return
	}
}

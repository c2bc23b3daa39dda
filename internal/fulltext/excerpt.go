package fulltext

import (
	"strings"
	"unicode"
)

const (
	before     = 60  // maximum bytes of text before the first match
	maxExcerpt = 240 // length of an excerpt in bytes, before it is extended to the end of a match or a character
)

// Span is a part of an excerpt.
type Span struct {
	Text  string
	Match bool // whether the part matches a query term
}

// Excerpter builds an excerpt. Of the added texts, it uses the one with the most query terms.
type Excerpter struct {
	query Query
	best  int
	spans []Span
}

// NewExcerpter returns an Excerpter without text.
func NewExcerpter(q Query) *Excerpter { return &Excerpter{query: q} }

// Done reports whether an added text contains all required query terms.
func (e *Excerpter) Done() bool { return e.best == len(e.query.required) }

// Excerpt returns the excerpt, or nil if no added text contains a query term.
func (e *Excerpter) Excerpt() []Span { return e.spans }

// Add adds text. Later text replaces earlier text only if it contains more terms.
func (e *Excerpter) Add(text []byte) {
	if e.Done() {
		return
	}
	var words []string
	var places [][2]int
	eachWord(text, func(word []byte, from, to int) bool {
		words, places = append(words, string(word)), append(places, [2]int{from, to})
		return true
	})
	found, first := 0, len(words)
	for _, t := range e.query.required {
		if i := t.in(words); i >= 0 {
			found, first = found+1, min(first, i)
		}
	}
	if found <= e.best {
		return
	}
	e.best = found
	e.cut(text, words, places, first)
}

// cut sets the excerpt to the text around words[first].
func (e *Excerpter) cut(text []byte, words []string, places [][2]int, first int) {
	begin := first
	for begin > 0 && places[first][0]-places[begin-1][0] <= before {
		begin--
	}
	from := places[begin][0]
	if begin == 0 {
		from = max(0, places[first][0]-before)
		for from < places[0][0] && text[from]&0xC0 == 0x80 { // start at a character boundary
			from++
		}
	}
	e.spans = nil
	if from > 0 {
		e.add("…", false)
	}
	start, last := from, from
	for i := begin; i < len(words) && places[i][1]-start <= maxExcerpt; i++ {
		n := e.matched(words[i:])
		if n == 0 {
			continue
		}
		until := places[i+n-1][1]
		e.add(plain(text[last:places[i][0]]), false)
		e.add(plain(text[places[i][0]:until]), true)
		last, i = until, i+n-1
	}
	end := min(len(text), max(last, start+maxExcerpt))
	for end < len(text) && text[end]&0xC0 == 0x80 {
		end++
	}
	e.add(plain(text[last:end]), false)
	if end < len(text) {
		e.add("…", false)
	}
}

// matched returns the length, in words, of the first required term that matches at the start of words, or 0 if none does.
func (e *Excerpter) matched(words []string) int {
	for _, t := range e.query.required {
		if len(t.words) <= len(words) && t.at(words) {
			return len(t.words)
		}
	}
	return 0
}

func (e *Excerpter) add(text string, match bool) {
	if text != "" {
		e.spans = append(e.spans, Span{text, match})
	}
}

// plain replaces white space with single spaces. It removes invisible characters, because they could change how the rest of the text is
// displayed.
func plain(text []byte) string {
	var b strings.Builder
	space := false
	for _, r := range strings.ToValidUTF8(string(text), "\uFFFD") {
		switch {
		case unicode.IsSpace(r):
			if !space {
				b.WriteByte(' ')
			}
			space = true
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		default:
			b.WriteRune(r)
			space = false
		}
	}
	return b.String()
}

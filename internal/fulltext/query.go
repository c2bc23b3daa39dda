package fulltext

import (
	"errors"
	"strings"
)

const (
	// MaxQuery is the maximum length of a query in bytes.
	MaxQuery = 256
	// minPrefix is the minimum number of letters before *. Shorter prefixes would match most requests.
	minPrefix = 3
)

// Errors returned by Parse.
var (
	ErrLong    = errors.New("the search text has more than 256 bytes")
	ErrNoWords = errors.New("the search text needs at least one word that is not excluded")
)

// Query is a parsed search. A document matches if it contains all required terms and no excluded term.
type Query struct {
	required, excluded []term
}

// term is a word or a phrase.
type term struct {
	words  []string
	prefix bool // whether the last word is a prefix
}

// Parse parses a query: words, "phrases", -excluded, and word* for words with this prefix. Any other character separates words. Words
// with separators inside, such as user@example.com, are phrases.
func Parse(text string) (Query, error) {
	var q Query
	if len(text) > MaxQuery {
		return q, ErrLong
	}
	for rest := strings.TrimLeft(text, " \t\r\n"); rest != ""; rest = strings.TrimLeft(rest, " \t\r\n") {
		excluded := strings.HasPrefix(rest, "-")
		rest = strings.TrimPrefix(rest, "-")
		var part string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			part, rest, _ = strings.Cut(quoted, `"`)
		} else {
			end := strings.IndexAny(rest, " \t\r\n\"")
			if end < 0 {
				end = len(rest)
			}
			part, rest = rest[:end], rest[end:]
		}
		var t term
		eachWord([]byte(part), func(word []byte, _, _ int) bool {
			t.words = append(t.words, string(word))
			return true
		})
		t.prefix = len(t.words) > 0 && strings.HasSuffix(part, "*") && len(t.words[len(t.words)-1]) >= minPrefix
		switch {
		case len(t.words) == 0:
		case excluded:
			q.excluded = append(q.excluded, t)
		default:
			q.required = append(q.required, t)
		}
	}
	if len(q.required) == 0 {
		return q, ErrNoWords
	}
	return q, nil
}

// FTS5 returns the query in SQLite's FTS5 syntax, restricted to documents with the tag.
func (q Query) FTS5(tag string) string {
	all := []string{`"` + tag + `"`}
	for _, t := range q.required {
		all = append(all, t.fts5())
	}
	text := strings.Join(all, " AND ")
	if len(q.excluded) == 0 {
		return text
	}
	not := make([]string, len(q.excluded))
	for i, t := range q.excluded {
		not[i] = t.fts5()
	}
	return "(" + text + ") NOT (" + strings.Join(not, " OR ") + ")"
}

// fts5 quotes the words. They contain only letters, digits and marks.
func (t term) fts5() string {
	text := `"` + strings.Join(t.words, " ") + `"`
	if t.prefix {
		text += " *"
	}
	return text
}

// TSQuery returns the query in PostgreSQL's tsquery syntax, restricted to documents with the tag.
func (q Query) TSQuery(tag string) string {
	all := []string{"'" + tag + "'"}
	for _, t := range q.required {
		all = append(all, t.tsquery())
	}
	for _, t := range q.excluded {
		all = append(all, "!"+t.tsquery())
	}
	return strings.Join(all, " & ")
}

func (t term) tsquery() string {
	words := make([]string, len(t.words))
	for i, word := range t.words {
		words[i] = "'" + word + "'"
	}
	if t.prefix {
		words[len(words)-1] += ":*"
	}
	return "(" + strings.Join(words, " <-> ") + ")"
}

// in returns the index of the first occurrence of the term in words, or -1.
func (t term) in(words []string) int {
	for i := range len(words) - len(t.words) + 1 {
		if t.at(words[i:]) {
			return i
		}
	}
	return -1
}

// at reports whether the words begin with the term.
func (t term) at(words []string) bool {
	for i, want := range t.words {
		begins := t.prefix && i == len(t.words)-1 && strings.HasPrefix(words[i], want)
		if words[i] != want && !begins {
			return false
		}
	}
	return true
}

package requestlog

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"fairlead.dev/internal/id"
	"fairlead.dev/internal/rawjson"
)

const (
	termBytes    = 200 // maximum length in bytes of a filter value
	failureBytes = 300 // length in bytes of the searched part of an error message
	maxText      = 256 // maximum length in bytes of Filter.Text
)

// Term returns the form of a value that filters compare and databases index: valid UTF-8 without NUL, with limited length. Some values are
// chosen by clients, and databases cannot store arbitrary values.
func Term(s string) string { return clip(s, termBytes) }

// Terms applies Term to each value.
func Terms(values []string) []string {
	terms := make([]string, len(values))
	for i, v := range values {
		terms[i] = Term(v)
	}
	return terms
}

func clip(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}

// Stamp returns the time that filters compare. It is the time encoded in the ID, so entries sorted by ID are also sorted by time.
func (e *Entry) Stamp() time.Time {
	if t, ok := id.Time(e.ID); ok {
		return t
	}
	return e.Time.Truncate(time.Millisecond)
}

// FloorID returns the smallest id of a request received at t or later.
func FloorID(t time.Time) string {
	if t.Nanosecond()%int(time.Millisecond) > 0 {
		t = t.Add(time.Millisecond) // round up, because ids have millisecond precision
	}
	return id.Floor("req", t)
}

// FailureText returns the part of the error that Filter.Q searches.
func (e *Entry) FailureText() string {
	if e.Error == nil {
		return ""
	}
	return clip(e.Error.Code+" "+e.Error.Message, failureBytes)
}

// PreviewText returns the preview as it is stored and searched.
func (e *Entry) PreviewText() string { return clip(e.Preview, len(e.Preview)) }

// TagTerms returns the terms that Filter.Tag compares: "name=value" and "name" for every tag, sorted, without duplicates.
func (e *Entry) TagTerms() []string {
	var terms []string
	for name, value := range e.Tags {
		terms = append(terms, Term(name+"="+value), Term(name))
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Unpriced reports whether a model served the request and its cost is unknown.
func (e *Entry) Unpriced() bool { return e.Cost == nil && e.Model != "" }

// Match reports whether the filter selects the entry. A Reader's listing selects the same entries. Only a Reader can search
// Text, so Match returns false for a filter with Text.
func (f *Filter) Match(e *Entry) bool {
	t := e.Stamp()
	if f.WorkspaceID != e.WorkspaceID || !f.From.IsZero() && t.Before(f.From) || !f.To.IsZero() && !t.Before(f.To) {
		return false
	}
	for i := range columns {
		if !columns[i].match(f, e) {
			return false
		}
	}
	if f.Text != "" || !oneOf(f.Tag, e.TagTerms()...) || f.Source != "" && f.Source != e.Source() || f.Unpriced && !e.Unpriced() {
		return false
	}
	if f.Q == "" {
		return true
	}
	q := Fold(f.Q)
	return strings.Contains(Fold(e.ID), q) || strings.Contains(Fold(e.PreviewText()), q) || strings.Contains(Fold(e.FailureText()), q)
}

// oneOf reports whether the wanted list is empty or contains at least one of the values.
func oneOf(wanted []string, values ...string) bool {
	if len(wanted) == 0 {
		return true
	}
	for _, want := range wanted {
		for _, value := range values {
			if Term(want) == Term(value) {
				return true
			}
		}
	}
	return false
}

// Fold converts ASCII letters to lower case. SQLite and PostgreSQL both support this case folding.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, clip(s, len(s)))
}

// ContainsText reports whether the request or the response contains a text, ignoring case. text must be in lower case.
func (b *Body) ContainsText(text string) bool {
	for _, raw := range [][]byte{b.Response, b.Request} {
		if bytes.IndexByte(raw, '\\') >= 0 && rawjson.Valid(raw) {
			raw = rawjson.Unescape(make([]byte, 0, len(raw)), raw, len(raw)) // escapes occur only in strings, so all strings are decoded
		}
		if strings.Contains(strings.ToLower(string(raw)), text) {
			return true
		}
	}
	return false
}

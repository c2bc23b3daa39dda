package requestlog

import (
	"slices"
	"strings"
	"time"

	"fairlead/internal/id"
)

const (
	termBytes    = 200 // of a value that filters compare
	failureBytes = 300 // of an error's text that is searched
)

// Term is a value in the form that filters compare and databases index: valid text without NUL, of bounded length.
// Clients choose some of these values, and must not be able to send one that cannot be stored.
func Term(s string) string { return clip(s, termBytes) }

// Terms returns the terms of several values.
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

// Stamp is the moment filters by time look at: the one inside the id, so that a listing by id is one by time.
func (e *Entry) Stamp() time.Time {
	if t, ok := id.Time(e.ID); ok {
		return t
	}
	return e.Time.Truncate(time.Millisecond)
}

// FloorID returns the smallest id of a request received at t or later.
func FloorID(t time.Time) string {
	if t.Nanosecond()%int(time.Millisecond) > 0 {
		t = t.Add(time.Millisecond) // ids have millisecond precision
	}
	return id.Floor("req", t)
}

// FailureText is the part of the error that Filter.Q searches.
func (e *Entry) FailureText() string {
	if e.Error == nil {
		return ""
	}
	return clip(e.Error.Code+" "+e.Error.Message, failureBytes)
}

// PreviewText is the preview in the form in which it is stored and searched.
func (e *Entry) PreviewText() string { return clip(e.Preview, len(e.Preview)) }

// TagTerms are the terms that Filter.Tag compares: "name=value" and "name" for every tag, sorted, each once.
func (e *Entry) TagTerms() []string {
	var terms []string
	for name, value := range e.Tags {
		terms = append(terms, Term(name+"="+value), Term(name))
	}
	slices.Sort(terms)
	return slices.Compact(terms)
}

// Unpriced reports whether a model served the request for a cost that is not known.
func (e *Entry) Unpriced() bool { return e.Cost == nil && e.Model != "" }

// Match reports whether the filter selects the entry. A Reader's listing selects the same entries.
func (f *Filter) Match(e *Entry) bool {
	if f.WorkspaceID != e.WorkspaceID || !f.matchTime(e.Stamp()) {
		return false
	}
	for i := range columns {
		if !columns[i].match(f, e) {
			return false
		}
	}
	return oneOf(f.Tag, e.TagTerms()...) &&
		(f.Source == "" || f.Source == e.Source()) &&
		(!f.Unpriced || e.Unpriced()) &&
		f.matchText(e)
}

func (f *Filter) matchTime(t time.Time) bool {
	return (f.From.IsZero() || !t.Before(f.From)) && (f.To.IsZero() || t.Before(f.To))
}

// oneOf reports whether a value is wanted; every value is when the list is empty.
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

func (f *Filter) matchText(e *Entry) bool {
	if f.Q == "" {
		return true
	}
	q := Fold(f.Q)
	return strings.Contains(Fold(e.ID), q) || strings.Contains(Fold(e.PreviewText()), q) || strings.Contains(Fold(e.FailureText()), q)
}

// Fold makes text comparable without regard to the case of ASCII letters, which is what both databases can do.
func Fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, clip(s, len(s)))
}

package requestlog

import (
	"slices"
	"strings"
	"time"

	"fairlead/internal/id"
	"fairlead/internal/money"
)

const (
	termBytes    = 200 // of a value that filters compare
	failureBytes = 300 // of an error's text that is searched
)

// Term is a value in the form that filters compare and databases index: valid text without NUL, of bounded length.
// Clients choose some of these values, and must not be able to send one that cannot be stored.
func Term(s string) string { return clip(s, termBytes) }

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

// Match reports whether the filter selects the entry. It means the same as a Reader's listing.
func (f *Filter) Match(e *Entry) bool {
	return f.WorkspaceID == e.WorkspaceID &&
		f.matchTime(e.Stamp()) &&
		f.matchTerms(e) &&
		f.matchFigures(e) &&
		(f.Stream == nil || *f.Stream == e.Stream) &&
		(f.Simulated == nil || *f.Simulated == e.Simulated) &&
		(f.Source == "" || f.Source == e.Source()) &&
		(!f.Unpriced || e.Unpriced()) &&
		f.matchText(e)
}

func (f *Filter) matchTime(t time.Time) bool {
	return (f.From.IsZero() || !t.Before(f.From)) && (f.To.IsZero() || t.Before(f.To))
}

func (f *Filter) matchTerms(e *Entry) bool {
	return oneOf(f.ID, e.ID) &&
		oneOf(f.Decision, string(e.DecisionKind)) &&
		oneOf(f.Outcome, string(e.Outcome)) &&
		oneOf(f.Model, e.Model) &&
		oneOf(f.Requested, e.Requested) &&
		oneOf(f.Provider, e.Provider) &&
		oneOf(f.Policy, e.Policy) &&
		oneOf(f.Key, e.KeyID) &&
		oneOf(f.Session, e.Session) &&
		oneOf(f.User, e.EndUser) &&
		oneOf(f.Tag, e.TagTerms()...) &&
		(len(f.Status) == 0 || slices.Contains(f.Status, e.Status))
}

// oneOf reports whether nothing is wanted, or a value is among what is wanted.
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

func (f *Filter) matchFigures(e *Entry) bool {
	if (f.MinLatency > 0 && e.Latency < f.MinLatency) || (f.MaxLatency > 0 && e.Latency > f.MaxLatency) {
		return false
	}
	if !within(e.Cost, f.MinCost, f.MaxCost) {
		return false
	}
	var saved *money.Amount
	if amount, ok := e.Saved(); ok {
		saved = &amount
	}
	return within(saved, f.MinSaved, f.MaxSaved)
}

// within reports whether an amount is inside the bounds; an unknown one is inside no bound.
func within(amount, low, high *money.Amount) bool {
	if low == nil && high == nil {
		return true
	}
	return amount != nil && (low == nil || *amount >= *low) && (high == nil || *amount <= *high)
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

package attempt

import (
	"time"

	"fairlead.dev/internal/bill"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// Buffer reads the response of an attempt, so that the response can be checked before it is delivered. The attempt must have content. Next
// then returns the buffered events again. whole reports whether the response was read to its end; the connection and the concurrency slot
// are then released. If the response is interrupted or longer than limit bytes, whole is false, and after the buffered events Next returns
// the error or the rest of the response.
func (a *Attempt) Buffer(limit int) (events []llm.Event, whole bool) {
	for size := 0; size <= limit; {
		ev, ok, err := a.Next()
		if err != nil {
			a.stream = interrupted{a.stream, err}
			break
		}
		if !ok {
			whole = true
			break
		}
		events = append(events, ev.Clone())
		size += len(ev.Data)
	}
	a.pending = events
	if whole {
		a.note.Duration = time.Since(a.began)
		a.state = complete
		a.Close()
	}
	return events, whole
}

// interrupted replaces a stream that has failed. Its Next returns the same error again.
type interrupted struct {
	llm.Stream
	err error
}

// Next implements llm.Stream.
func (s interrupted) Next() (llm.Event, bool, error) { return llm.Event{}, false, s.err }

// SetCheck records the check result for a response.
func (a *Attempt) SetCheck(state requestlog.CheckState) {
	a.note.Check = state
	a.series.Attempts[a.note.index].Check = state
}

// Reject records a complete response that failed its checks and is not delivered. It does not count as a failure of the target.
func (a *Attempt) Reject(reason string, c bill.Charge) {
	a.note.Class, a.note.Message = llm.CheckFailed, reason
	a.Finish(nil, c)
}

package llm

import "iter"

// Stream is a response as it arrives. It is read in the goroutine of the caller.
type Stream interface {
	// Next returns the next event, whose bytes are valid until the call after it. ok is false at the end of the answer; err
	// then says why it is not complete: an *Error, or one that wraps the end of the request's context. An end stays the end,
	// however often it is asked for.
	Next() (ev Event, ok bool, err error)
	// Close ends the reading, wherever it is. Bytes of events that are not their own may be used for another answer then.
	Close()
}

// Waiter is implemented by streams that can wait for more data outside of Next. Wait returns when Next may return something,
// and immediately if that is unknown. A waiting stream holds no buffers for events: the previous event is invalid after
// Wait.
type Waiter interface{ Wait() }

// Pull makes a stream of a sequence. The sequence runs as a coroutine beside its reader and has a stack of its own.
func Pull(events iter.Seq2[Event, error]) Stream {
	next, stop := iter.Pull2(events)
	return &pulled{next: next, stop: stop}
}

type pulled struct {
	next func() (Event, error, bool)
	stop func()
	err  error // that the sequence ended with
}

func (p *pulled) Next() (Event, bool, error) {
	ev, err, ok := p.next()
	if err != nil {
		p.err = err
	}
	return ev, ok && err == nil, p.err
}

func (p *pulled) Close() { p.stop() }

// Single makes a stream of an answer that is one event.
func Single(ev Event, err error) Stream { return &single{ev, err, err == nil} }

type single struct {
	ev  Event
	err error
	ok  bool
}

func (s *single) Next() (Event, bool, error) {
	ok := s.ok
	s.ok = false
	return s.ev, ok, s.err
}

func (*single) Close() {}

// All makes a sequence of a stream: its events, and last the error where it is not complete.
func All(s Stream) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		defer s.Close()
		for {
			ev, ok, err := s.Next()
			if ok && yield(ev, nil) {
				continue
			}
			if err != nil {
				yield(Event{}, err)
			}
			return
		}
	}
}

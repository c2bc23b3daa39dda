package llm

import "iter"

// Stream is a response that is read as it arrives, in the caller's goroutine.
type Stream interface {
	// Next returns the next event, whose bytes are valid until the following call. ok is false at the end of the
	// response. If the response is incomplete, err is an *Error or wraps the error of the request's context. After the
	// end, Next keeps returning the same result.
	Next() (ev Event, ok bool, err error)
	// Close stops reading. The buffers of events that do not own their bytes may be reused afterwards.
	Close()
}

// Pull returns a stream of the events of a sequence. The sequence runs as a coroutine with its own stack.
func Pull(events iter.Seq2[Event, error]) Stream {
	next, stop := iter.Pull2(events)
	return &pulled{next: next, stop: stop}
}

type pulled struct {
	next func() (Event, error, bool)
	stop func()
	err  error // final error of the sequence
}

func (p *pulled) Next() (Event, bool, error) {
	ev, err, ok := p.next()
	if err != nil {
		p.err = err
	}
	return ev, ok && err == nil, p.err
}

func (p *pulled) Close() { p.stop() }

// Single returns a stream with the single event ev. If err is not nil, it returns a stream without events that ends with err.
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

// All returns the events of a stream as a sequence. If the response is incomplete, the error follows as the last element. All closes the
// stream.
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

package attempt

import (
	"errors"
	"io"
	"slices"
	"sync"

	"fairlead.dev/internal/limit"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/redact"
)

// providerSlots holds the concurrency slots of each provider. Slots survive configuration changes, because running
// requests hold them.
type providerSlots struct {
	mu     sync.Mutex
	byName map[string]*limit.FairSemaphore
}

// of returns the slots of a provider.
func (s *providerSlots) of(name string) *limit.FairSemaphore {
	s.mu.Lock()
	defer s.mu.Unlock()
	slots := s.byName[name]
	if slots == nil {
		if s.byName == nil {
			s.byName = map[string]*limit.FairSemaphore{}
		}
		slots = &limit.FairSemaphore{}
		s.byName[name] = slots
	}
	return slots
}

// countingReader counts the bytes of a response body.
type countingReader struct {
	io.ReadCloser
	bytes   int64
	attempt *Attempt // attempt whose output is flushed before each read; nil for none
}

// Read implements io.Reader.
func (r *countingReader) Read(p []byte) (int, error) {
	if a := r.attempt; a != nil && a.out.Unflushed() { // the read may wait for the provider
		a.timer.Stop() // a slow client does not count against the provider
		a.out.Flush()
		a.timer.Reset(a.idle)
	}
	n, err := r.ReadCloser.Read(p)
	r.bytes += int64(n)
	return n, err
}

// redactStream masks the credentials of a call in the response. It masks events in the client's format, after the
// provider's text has been joined, decoded and translated.
func redactStream(s llm.Stream, with provider.Access) llm.Stream {
	masker := newMasker(with)
	if masker == nil {
		return s
	}
	return &redactReader{from: s, masker: masker}
}

// newMasker returns a masker for the secrets of a call: the secret sent to the provider and the credential it was
// derived from.
func newMasker(a provider.Access) *redact.Masker {
	switch {
	case len(a.Secrets) == 0:
		return redact.NewMasker(a.Secret)
	case slices.Contains(a.Secrets, a.Secret):
		return redact.NewMasker(a.Secrets...)
	}
	return redact.NewMasker(append(slices.Clip(a.Secrets), a.Secret)...)
}

type redactReader struct {
	from   llm.Stream
	masker *redact.Masker
	held   []llm.Event // events whose last bytes may be the beginning of a credential
	ready  []llm.Event // masked events that are ready to be returned
}

// Next implements llm.Stream.
func (r *redactReader) Next() (llm.Event, bool, error) {
	for len(r.ready) == 0 {
		ev, ok, err := r.from.Next()
		if !ok {
			if len(r.held) == 0 {
				return ev, false, redactError(err, r.masker)
			}
			r.release()
			break
		}
		hold := r.masker.Scan(redact.Document{Data: ev.Data, Own: ev.Own})
		if !hold && len(r.held) == 0 {
			return r.masked(ev, r.masker.Take()[0]), true, nil
		}
		r.held = append(r.held, ev)
		if !hold {
			r.release()
		}
	}
	ev := r.ready[0]
	r.ready = r.ready[1:]
	return ev, true, nil
}

// release masks the held events and makes them ready to be returned.
func (r *redactReader) release() {
	r.ready = r.held
	for i, d := range r.masker.Take() {
		r.ready[i] = r.masked(r.ready[i], d)
	}
	r.held = nil
}

func (r *redactReader) masked(ev llm.Event, d redact.Document) llm.Event {
	if ev.Data != nil { // an event without data is not sent
		ev.Data, ev.Own = d.Data, d.Own
	}
	ev.Name, ev.Model, ev.Finish = r.masker.Text(ev.Name), r.masker.Text(ev.Model), r.masker.Text(ev.Finish)
	return ev
}

// Close implements llm.Stream.
func (r *redactReader) Close() { r.from.Close() }

// redactError masks credentials in a provider's error.
func redactError(err error, m *redact.Masker) error {
	if err == nil || m == nil {
		return err
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err // a connection or context error contains no text from the provider
	}
	masked := *e
	masked.Message, masked.UpstreamCode = m.Text(e.Message), m.Text(e.UpstreamCode)
	if e.Err != nil && m.Text(e.Err.Error()) != e.Err.Error() {
		masked.Err = errors.New(m.Text(e.Err.Error()))
	}
	return &masked
}

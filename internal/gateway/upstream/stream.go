package upstream

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

// redactStream masks the credentials of a call in the response, one event at a time. It masks events in the client's format, after the
// provider's text has been decoded and translated. A credential that a model spells out over several deltas is not found.
func redactStream(s llm.Stream, with provider.Access) llm.Stream {
	masker := newMasker(with)
	if masker == nil {
		return s
	}
	return &redactReader{from: s, masker: masker}
}

// newMasker returns a masker for the secrets of a call: the secret sent to the provider and the credential it was
// derived from.
func newMasker(a provider.Access) redact.Masker {
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
	masker redact.Masker
}

// Next implements llm.Stream.
func (r *redactReader) Next() (llm.Event, bool, error) {
	ev, ok, err := r.from.Next()
	if !ok {
		return ev, false, redactError(err, r.masker)
	}
	if masked := r.masker.Mask(ev.Data); len(masked) > 0 && &masked[0] != &ev.Data[0] {
		ev.Data, ev.Own = masked, true
	}
	ev.Name, ev.Model, ev.Finish = r.masker.Text(ev.Name), r.masker.Text(ev.Model), r.masker.Text(ev.Finish)
	return ev, true, nil
}

// Close implements llm.Stream.
func (r *redactReader) Close() { r.from.Close() }

// redactError masks credentials in a provider's error.
func redactError(err error, m redact.Masker) error {
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

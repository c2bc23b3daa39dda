package gateway

import (
	"errors"
	"slices"

	"fairlead/internal/llm"
	"fairlead/internal/provider"
	"fairlead/internal/redact"
)

// conceal masks the credentials of a call wherever the provider repeats them in its response. The events are masked in the
// client's format, after everything that joins, decodes or translates the provider's text.
func conceal(s llm.Stream, c *provider.Call) llm.Stream {
	masker := maskerOf(c)
	if masker == nil {
		return s
	}
	return &concealed{from: s, masker: masker}
}

// maskerOf returns a masker for the secrets of a call: what is presented to the provider, and the credential that it was
// derived from.
func maskerOf(c *provider.Call) *redact.Masker {
	switch {
	case len(c.Secrets) == 0:
		return redact.NewMasker(c.Secret)
	case slices.Contains(c.Secrets, c.Secret):
		return redact.NewMasker(c.Secrets...)
	}
	return redact.NewMasker(append(slices.Clip(c.Secrets), c.Secret)...)
}

type concealed struct {
	from   llm.Stream
	masker *redact.Masker
	held   []llm.Event // end with the beginning of a credential
	ready  []llm.Event // masked
}

// Next implements llm.Stream.
func (c *concealed) Next() (llm.Event, bool, error) {
	for len(c.ready) == 0 {
		ev, ok, err := c.from.Next()
		if !ok {
			if len(c.held) == 0 {
				return ev, false, concealError(err, c.masker)
			}
			c.release()
			break
		}
		hold := c.masker.Scan(redact.Document{Data: ev.Data, Own: ev.Own})
		if !hold && len(c.held) == 0 {
			return c.masked(ev, c.masker.Take()[0]), true, nil
		}
		c.held = append(c.held, ev)
		if !hold {
			c.release()
		}
	}
	ev := c.ready[0]
	c.ready = c.ready[1:]
	return ev, true, nil
}

// release makes the held events ready.
func (c *concealed) release() {
	c.ready = c.held
	for i, d := range c.masker.Take() {
		c.ready[i] = c.masked(c.ready[i], d)
	}
	c.held = nil
}

func (c *concealed) masked(ev llm.Event, d redact.Document) llm.Event {
	if ev.Data != nil { // an event without data is not sent
		ev.Data, ev.Own = d.Data, d.Own
	}
	ev.Name, ev.Model, ev.Finish = c.masker.Text(ev.Name), c.masker.Text(ev.Model), c.masker.Text(ev.Finish)
	return ev
}

// Wait implements llm.Waiter.
func (c *concealed) Wait() {
	if from, ok := c.from.(llm.Waiter); ok && len(c.ready) == 0 {
		from.Wait()
	}
}

// Close implements llm.Stream.
func (c *concealed) Close() { c.from.Close() }

// concealError masks the credentials in what a provider's failure says.
func concealError(err error, m *redact.Masker) error {
	if err == nil || m == nil {
		return err
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err // of the connection or the context: the provider did not write it
	}
	masked := *e
	masked.Message, masked.UpstreamCode = m.Text(e.Message), m.Text(e.UpstreamCode)
	if e.Err != nil && m.Text(e.Err.Error()) != e.Err.Error() {
		masked.Err = errors.New(m.Text(e.Err.Error()))
	}
	return &masked
}

package responsecache

import (
	"context"
	"time"

	"fairlead.dev/internal/llm"
)

// The reasons why a request does not use the response cache, or why its response is not stored.
const (
	Incomplete    = "incomplete"  // the response did not end normally
	TooLarge      = "too_large"   // the response is longer than the limit
	Overflowing   = "overflowing" // too many responses are being recorded
	NotEnabled    = "not_enabled" // neither the key nor a policy enables the cache
	ByRequest     = "disabled_by_request"
	ByPolicy      = "disabled_by_policy"
	OtherEndpoint = "endpoint"
	OffersTools   = "tools"
	ProviderState = "provider_state" // the request reads or writes data that a provider stores
	AudioOutput   = "audio_output"
	ManyChoices   = "choices" // one of several choices may be incomplete
	ZeroRetention = "zero_retention"
	OtherModel    = "fallback_model"
	Rescued       = "rescued"
)

// Flight is a request whose response may be stored. It records the response. A nil Flight does nothing. It is used by one goroutine.
type Flight struct {
	cache *Cache
	query Query
	done  chan struct{} // channel that is closed when the flight ends; nil if no other request can wait for it

	events   []event
	data     []byte
	reserved int64  // number of bytes counted towards the cache's recording limit
	reason   string // reason why the response is not stored; empty if it can be stored

	landed    *Response // response for the waiting requests, set before done is closed; nil if there is none
	abandoned bool
	ended     bool
}

// event is a recorded event. Its data ends at the index end of Flight.data.
type event struct {
	Event
	end int
}

// Add records an event that the client receives.
func (f *Flight) Add(ev *llm.Event) {
	if f == nil || f.reason != "" {
		return
	}
	if ev.Finish != "" && ev.Finish != "stop" {
		f.Discard(Incomplete)
		return
	}
	need := int64(eventOverhead + len(ev.Data))
	f.reserved += need
	recording := f.cache.recording.Add(need)
	switch {
	case f.reserved > f.cache.o.Entry:
		f.Discard(TooLarge)
		return
	case recording > f.cache.o.Memory:
		f.Discard(Overflowing)
		return
	}
	f.data = append(f.data, ev.Data...)
	f.events = append(f.events, event{
		Event{Name: ev.Name, Content: ev.Content, Finish: ev.Finish, Text: ev.ASCIIBytes + ev.NonASCIIBytes}, len(f.data),
	})
}

// Discard prevents the response from being stored, and records the reason. Later calls do not change the reason.
func (f *Flight) Discard(reason string) {
	if f == nil || f.reason != "" {
		return
	}
	f.reason = reason
	f.release()
}

func (f *Flight) release() {
	f.cache.recording.Add(-f.reserved)
	f.events, f.data, f.reserved = nil, nil, 0
}

// Reason returns the reason why the response is not stored, or an empty string if it can be stored.
func (f *Flight) Reason() string {
	if f == nil {
		return ""
	}
	return f.reason
}

// Store stores the recorded response, passes it to the requests that wait for it, and ends the flight. r holds all data of the response
// except the events, the time and the maximum age. For a discarded response or one without events, Store only ends the flight.
func (f *Flight) Store(ctx context.Context, r Response) {
	if f == nil || f.ended {
		return
	}
	if f.reason == "" && len(f.events) == 0 {
		f.reason = Incomplete
	}
	if f.reason != "" {
		f.land(nil, false)
		return
	}
	r.Created, r.TTL = time.Now(), f.query.MaxAge
	r.Events = make([]Event, len(f.events))
	start, data := 0, append([]byte(nil), f.data...) // copy without unused capacity
	for i := range f.events {
		r.Events[i] = f.events[i].Event
		r.Events[i].Data = data[start:f.events[i].end:f.events[i].end]
		start = f.events[i].end
	}
	f.cache.put(f.query.Key, &r)
	f.land(&r, false)
	if shared := f.cache.o.Redis; shared != nil && f.query.Shared {
		_ = shared.save(ctx, []Key{f.query.Key}, []*Response{&r}) // if saving fails, only this replica has the response
	}
}

// End ends a flight without a response. If abandoned is true, the flight ends only because its client disconnected, and one of
// the waiting requests makes the call. End does nothing after Store.
func (f *Flight) End(abandoned bool) {
	if f != nil && !f.ended {
		f.land(nil, abandoned)
	}
}

// land ends the flight. r may be nil.
func (f *Flight) land(r *Response, abandoned bool) {
	f.ended, f.landed, f.abandoned = true, r, abandoned
	f.release()
	if f.done == nil {
		return
	}
	f.cache.mu.Lock()
	delete(f.cache.flights, f.query.Key)
	f.cache.mu.Unlock()
	close(f.done)
}

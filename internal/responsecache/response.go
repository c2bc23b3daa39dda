package responsecache

import (
	"time"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
)

// Response is a complete response in the format of its client. It is shared and must not be changed.
type Response struct {
	RequestID string        `json:"id"` // ID of the request that produced the cached response
	Created   time.Time     `json:"at"`
	TTL       time.Duration `json:"ttl"` // maximum age of the response
	Provider  string        `json:"p"`
	Model     string        `json:"m"`
	ServedAs  string        `json:"s,omitempty"` // model name that the provider reported
	Finish    string        `json:"f,omitempty"`
	Simulated bool          `json:"sim,omitempty"`
	Cost      *money.Amount `json:"c,omitempty"`   // cost of the response; nil if unknown
	Tokens    int64         `json:"tok,omitempty"` // number of tokens of separately cached embeddings inputs; 0 for other responses
	Events    []Event       `json:"e"`             // events of the response; a single event if it is not streamed
}

// Event is one event of a cached response.
type Event struct {
	Name    string `json:"n,omitempty"`
	Data    []byte `json:"d"`
	Content bool   `json:"c,omitempty"`
	Finish  string `json:"f,omitempty"`
	Text    int    `json:"t,omitempty"` // number of text bytes
}

// LLM returns the event for a client.
func (e *Event) LLM() llm.Event {
	return llm.Event{Name: e.Name, Data: e.Data, Own: true, Content: e.Content, Finish: e.Finish, ASCIIBytes: e.Text}
}

// Estimated memory overhead of a response and of an event in bytes.
const (
	responseOverhead = 512
	eventOverhead    = 96
)

// Age returns the age of the response.
func (r *Response) Age(now time.Time) time.Duration { return max(0, now.Sub(r.Created)) }

// fresh reports whether the age of the response is below limit and below its own maximum age.
func (r *Response) fresh(now time.Time, limit time.Duration) bool {
	return now.Sub(r.Created) < min(limit, r.TTL)
}

package response

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/requestlog"
)

// Collector keeps a response in memory.
type Collector struct {
	Buffer
	streams bool
}

// NewCollector returns a collector for a response of at most the given number of bytes.
func NewCollector(limit int64) *Collector { return &Collector{Buffer: Buffer{Limit: limit}} }

// Stream records that the response is a stream.
func (c *Collector) Stream() { c.streams = true }

// Start does nothing, because the collector sends no headers.
func (c *Collector) Start(*requestlog.Entry) {}

// Event stores an event.
func (c *Collector) Event(ev *llm.Event) error {
	c.Add(ev, c.streams)
	return nil
}

// End does nothing.
func (c *Collector) End() error { return nil }

// Stop reports false, because nothing is sent.
func (c *Collector) Stop() (started bool) { return false }

// Sent returns the size of the stored response.
func (c *Collector) Sent() int64 { return int64(c.Size()) }

// Unflushed reports false, because events are not buffered.
func (c *Collector) Unflushed() bool { return false }

// Flush does nothing.
func (c *Collector) Flush() {}

// Body returns the response. It is empty if the response was longer than the limit.
func (c *Collector) Body() requestlog.Body {
	if c.Full {
		return requestlog.Body{}
	}
	return requestlog.Body{Response: c.Bytes(nil), Streamed: c.streams, Folded: c.streams}
}

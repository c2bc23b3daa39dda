package chat

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/turncache"
)

// checkpoint holds the state of a decoder after it has decoded a message. It does not refer to the body.
type checkpoint struct {
	scanner rawjson.Checkpoint
	decoder decoder // decoder state without the scanner
	request llm.Request
	field   llm.Field // position of the message list in the body; its end is not known yet
	next    int       // index of the next message
}

// mark stores a checkpoint after message n.
func (d *decoder) mark(n int, field llm.Field) {
	if d.turn == nil || d.Pos < turncache.MinPrefix || d.Err != nil || !d.Valid() {
		return
	}
	c := d.recent.Next()
	*c = checkpoint{scanner: d.Checkpoint(), decoder: *d, request: d.req.Clone(), field: field, next: n + 1}
	c.decoder.Scanner, c.decoder.req, c.decoder.turn, c.decoder.recent = rawjson.Scanner{}, nil, nil, turncache.Recent[checkpoint]{}
}

// resume continues at a checkpoint of an earlier turn.
func (d *decoder) resume(c *checkpoint, read func(key []byte)) {
	reader, turn, body := d.Reader, d.turn, d.req.Body
	*d = c.decoder
	d.Reader, d.turn, d.req = reader, turn, new(c.request.Clone())
	d.req.Body = body
	d.Spans = &d.req.PromptSample
	d.Resume(c.scanner)
	d.top = c.field.Name
	for n := range func(yield func(int) bool) { d.ElementsAfter(c.next, yield) } {
		d.message(n)
		d.mark(n, c.field)
	}
	field := c.field
	field.End = d.Pos
	d.req.Fields = append(d.req.Fields, field)
	for key := range d.MembersAfter {
		read(key)
	}
	if d.Err == nil {
		d.End()
	}
}

package responses

import (
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/turncache"
)

// checkpoint holds the state of a reader after it has decoded an item of the input. It does not refer to the body.
type checkpoint struct {
	scanner rawjson.Checkpoint
	request llm.Request
	list    llm.Field // position of the input list in the body; its end is not known yet
	next    int       // index of the next item
	input   inputState
}

// mark stores a checkpoint after item n.
func (r *requestReader) mark(n int, list llm.Field) {
	if r.turn == nil || r.Pos < turncache.MinPrefix || r.Err != nil || !r.Valid() {
		return
	}
	*r.recent.Next() = checkpoint{scanner: r.Checkpoint(), request: r.req.Clone(), list: list, next: n + 1, input: r.inputState}
}

// resume continues at a checkpoint of an earlier turn.
func (r *requestReader) resume(c *checkpoint, read func(key []byte)) {
	req, body := r.req, r.req.Body
	*req = c.request.Clone()
	req.Body = body
	r.inputState = c.input
	r.Resume(c.scanner)
	for n := range func(yield func(int) bool) { r.ElementsAfter(c.next, yield) } {
		r.item(n)
		r.mark(n, c.list)
	}
	list := c.list
	list.End = r.Pos
	req.Fields = append(req.Fields, list)
	for key := range r.MembersAfter {
		read(key)
	}
	if r.Err == nil {
		r.End()
	}
}

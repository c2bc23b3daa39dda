// Package entryblock encodes the stored form of log entries: compressed text, and blocks that hold several entries in one
// row of SQLite.
package entryblock

import (
	"encoding/binary"
	"errors"
	"slices"

	"fairlead.dev/internal/requestlog"
)

const (
	// MaxEntries is the maximum number of entries in a block. To read one entry, the whole block is decompressed. More than a few
	// dozen entries do not improve the compression.
	MaxEntries = 32
	// MaxBytes is the approximate limit on the bodies of a block.
	MaxBytes = 64 << 10
)

// Block is a sequence of entries from one workspace, encoded for writing.
type Block struct {
	Workspace string
	Size      int // number of entries
	Summaries []byte
	Traces    []byte
	Bodies    Bodies
}

// Bodies holds the encoded bodies of a block. An entry with only a preview counts as having a body.
type Bodies struct {
	Content []byte
	Held    int    // number of entries with a body
	Oldest  string // smallest id among the entries with a body
}

// Slots holds the decoded entries of a block, one per slot. An empty slot means that the entry was deleted or has no body. A slot with
// bodies begins with the entry's id.
type Slots [][]byte

var errCorrupt = errors.New("corrupt block of entries")

// AppendSized appends a part, prefixed with its length.
func AppendSized(to, part []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(part))), part...)
}

// SizedLen returns the length of a part of n bytes with its length prefix.
func SizedLen(n int) int {
	var width [binary.MaxVarintLen64]byte
	return binary.PutUvarint(width[:], uint64(n)) + n
}

// CutSized splits off a part that is prefixed with its length.
func CutSized(b []byte) (part, rest []byte, err error) {
	n, width := binary.Uvarint(b)
	if width <= 0 || n > uint64(len(b)-width) {
		return nil, nil, errCorrupt
	}
	end := width + int(n)
	return b[width:end:end], b[end:], nil
}

// EncodeSlots returns the compressed slots; nil when all are empty.
func (c *Codec) EncodeSlots(all Slots) []byte {
	if !slices.ContainsFunc(all, func(slot []byte) bool { return len(slot) > 0 }) {
		return nil
	}
	var raw []byte
	for _, slot := range all {
		raw = AppendSized(raw, slot)
	}
	return c.AppendPacked(nil, raw)
}

// DecodeSlots reverses EncodeSlots. The slots do not share memory with content.
func (c *Codec) DecodeSlots(content []byte) (Slots, error) {
	raw, err := c.AppendUnpacked(nil, content)
	if err != nil {
		return nil, err
	}
	all := make(Slots, 0, MaxEntries)
	for len(raw) > 0 {
		var slot []byte
		if slot, raw, err = CutSized(raw); err != nil {
			return nil, err
		}
		all = append(all, slot)
	}
	return all, nil
}

// At returns the slot with index i, or nil if i is out of range.
func (s Slots) At(i int64) []byte {
	if i < 0 || i >= int64(len(s)) {
		return nil
	}
	return s[i]
}

// clear empties the slots for which gone returns true.
func (s Slots) clear(gone func(i int) bool) {
	for i := range s {
		if gone(i) {
			s[i] = nil
		}
	}
}

// Without returns the block without the slots for which gone returns true.
func (b Block) Without(codec *Codec, gone func(i int) bool) (Block, error) {
	for _, content := range []*[]byte{&b.Summaries, &b.Traces} {
		all, err := codec.DecodeSlots(*content)
		if err != nil {
			return b, err
		}
		all.clear(gone)
		*content = codec.EncodeSlots(all)
	}
	if b.Bodies.Held == 0 {
		return b, nil
	}
	bodies, err := codec.DecodeSlots(b.Bodies.Content)
	if err != nil {
		return b, err
	}
	bodies.clear(gone)
	b.Bodies, err = codec.EncodeBodies(bodies)
	return b, err
}

// EncodeBodies encodes slots of bodies.
func (c *Codec) EncodeBodies(all Slots) (Bodies, error) {
	b := Bodies{Content: c.EncodeSlots(all)}
	for _, slot := range all {
		if len(slot) == 0 {
			continue
		}
		id, _, err := CutSized(slot)
		if err != nil {
			return b, err
		}
		b.Hold(string(id))
	}
	return b, nil
}

// Hold counts an entry that has a body.
func (b *Bodies) Hold(id string) {
	if b.Held == 0 || id < b.Oldest {
		b.Oldest = id
	}
	b.Held++
}

// DecodeSlotBody decodes the bodies in a slot.
func (c *Codec) DecodeSlotBody(slot []byte) (requestlog.Body, error) {
	_, rest, err := CutSized(slot) // the first part is the ID
	if err != nil || len(rest) == 0 {
		return requestlog.Body{}, errCorrupt
	}
	streamed := rest[0] == 1
	request, rest, err := CutSized(rest[1:])
	if err != nil {
		return requestlog.Body{}, err
	}
	response, _, err := CutSized(rest)
	if err != nil {
		return requestlog.Body{}, err
	}
	return c.DecodeBody(request, response, streamed)
}

// IsOutline reports whether a stored request is an outline.
func IsOutline(request []byte) bool { return len(request) > 0 && request[0] == packedOutline }

// PlainOutline returns the first bytes of an outline in a slot. The outline is not compressed by itself, because the block is
// compressed.
func PlainOutline() []byte { return []byte{packedOutline, Plain} }

// DecodeBody decompresses the request and the response of a body.
func (c *Codec) DecodeBody(request, response []byte, streamed bool) (requestlog.Body, error) {
	body := requestlog.Body{Streamed: streamed}
	if IsOutline(request) {
		body.Split, request = true, request[1:]
	}
	var errRequest, errResponse error
	body.Request, errRequest = c.Unpack(request)
	body.Response, errResponse = c.Unpack(response)
	return body, errors.Join(errRequest, errResponse)
}

package store

import (
	"encoding/binary"
	"errors"

	"fairlead/internal/requestlog"
)

const (
	// Size and maxBlockBytes are how many entries, and about how many bytes of their bodies, SQLite keeps in one row. Reading
	// one entry uncompresses its pack; past some dozens of entries compressing gains nothing more.
	Size          = 32
	maxBlockBytes = 64 << 10
)

// Pack is some entries of one workspace that follow each other in a batch, made ready for writing.
type Block struct {
	Workspace string
	Size      int
	Summaries []byte
	Traces    []byte
	Bodies    Bodies
}

// EncodeBodies is the texts of a pack. An entry whose preview is all that there is holds a text too.
type Bodies struct {
	Content []byte
	Held    int
	Oldest  string // least id among those who hold a text
}

// Slots are the entries of a pack. One that is empty belongs to no entry any more. One of bodies
// begins with the entry's id.
type Slots [][]byte

var errCorrupt = errors.New("a pack of entries is damaged")

// AppendSized appends a part with its length before it.
func AppendSized(to, part []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(part))), part...)
}

// SizedLen is how long a part with its length before it is.
func SizedLen(n int) int {
	var width [binary.MaxVarintLen64]byte
	return binary.PutUvarint(width[:], uint64(n)) + n
}

// CutSized takes a part off that has its length before it.
func CutSized(b []byte) (part, rest []byte, err error) {
	n, width := binary.Uvarint(b)
	if width <= 0 || n > uint64(len(b)-width) {
		return nil, nil, errCorrupt
	}
	end := width + int(n)
	return b[width:end:end], b[end:], nil
}

// EncodeSlots is a pack, compressed; nil when no slot belongs to an entry.
func (p *Codec) EncodeSlots(all Slots) []byte {
	if all.Used() == 0 {
		return nil
	}
	var raw []byte
	for _, slot := range all {
		raw = AppendSized(raw, slot)
	}
	return p.AppendPacked(nil, raw)
}

// Slots reads a pack. What it returns is in memory of its own.
func (p *Codec) DecodeSlots(content []byte) (Slots, error) {
	raw, err := p.AppendUnpacked(nil, content)
	if err != nil {
		return nil, err
	}
	all := make(Slots, 0, Size)
	for len(raw) > 0 {
		var slot []byte
		if slot, raw, err = CutSized(raw); err != nil {
			return nil, err
		}
		all = append(all, slot)
	}
	return all, nil
}

// At is the slot of an entry; empty when it has none.
func (s Slots) At(i int64) []byte {
	if i < 0 || i >= int64(len(s)) {
		return nil
	}
	return s[i]
}

// Used is how many slots belong to an entry.
func (s Slots) Used() int {
	n := 0
	for _, slot := range s {
		if len(slot) > 0 {
			n++
		}
	}
	return n
}

// Clear empties the slots that are gone.
func (s Slots) Clear(gone func(i int) bool) {
	for i := range s {
		if gone(i) {
			s[i] = nil
		}
	}
}

// Without is a pack less the entries that are gone.
func (p Block) Without(packer *Codec, gone func(i int) bool) (Block, error) {
	for _, content := range []*[]byte{&p.Summaries, &p.Traces} {
		all, err := packer.DecodeSlots(*content)
		if err != nil {
			return p, err
		}
		all.Clear(gone)
		*content = packer.EncodeSlots(all)
	}
	if p.Bodies.Held == 0 {
		return p, nil
	}
	bodies, err := packer.DecodeSlots(p.Bodies.Content)
	if err != nil {
		return p, err
	}
	bodies.Clear(gone)
	p.Bodies, err = packer.EncodeBodies(bodies)
	return p, err
}

// EncodeBodies makes a pack of texts.
func (p *Codec) EncodeBodies(all Slots) (Bodies, error) {
	b := Bodies{Content: p.EncodeSlots(all)}
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

// Hold counts an entry that has a text.
func (b *Bodies) Hold(id string) {
	if b.Held == 0 || id < b.Oldest {
		b.Oldest = id
	}
	b.Held++
}

// DecodeSlotBody reads the texts of a slot.
func (p *Codec) DecodeSlotBody(slot []byte) (requestlog.Body, error) {
	_, rest, err := CutSized(slot) // the id
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
	return p.DecodeBody(request, response, streamed)
}

// DecodeBody unpacks both texts.
func (p *Codec) DecodeBody(request, response []byte, streamed bool) (requestlog.Body, error) {
	body := requestlog.Body{Streamed: streamed}
	var errRequest, errResponse error
	body.Request, errRequest = p.Unpack(request)
	body.Response, errResponse = p.Unpack(response)
	return body, errors.Join(errRequest, errResponse)
}

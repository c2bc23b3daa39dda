package store

import (
	"encoding/binary"
	"errors"

	"fairlead/internal/requestlog"
)

const (
	// packSize and packBytes are how many entries, and about how many bytes of their bodies, SQLite keeps in one row. Reading
	// one entry uncompresses its pack; past some dozens of entries compressing gains nothing more.
	packSize  = 32
	packBytes = 64 << 10
)

// pack is some entries of one workspace that follow each other in a batch, made ready for writing.
type pack struct {
	workspace string
	size      int
	summaries []byte
	traces    []byte
	bodies    bodyPack
}

// bodyPack is the texts of a pack. An entry whose preview is all that there is holds a text too.
type bodyPack struct {
	content []byte
	held    int
	oldest  string // least id among those who hold a text
}

// slots are the entries of a pack. One that is empty belongs to no entry any more. One of bodies
// begins with the entry's id.
type slots [][]byte

var errPack = errors.New("a pack of entries is damaged")

// appendSized appends a part with its length before it.
func appendSized(to, part []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(part))), part...)
}

// sizedLen is how long a part with its length before it is.
func sizedLen(n int) int {
	var width [binary.MaxVarintLen64]byte
	return binary.PutUvarint(width[:], uint64(n)) + n
}

// cutSized takes a part off that has its length before it.
func cutSized(b []byte) (part, rest []byte, err error) {
	n, width := binary.Uvarint(b)
	if width <= 0 || n > uint64(len(b)-width) {
		return nil, nil, errPack
	}
	end := width + int(n)
	return b[width:end:end], b[end:], nil
}

// packed is a pack, compressed; nil when no slot belongs to an entry.
func (p *packer) packed(all slots) []byte {
	if all.used() == 0 {
		return nil
	}
	var raw []byte
	for _, slot := range all {
		raw = appendSized(raw, slot)
	}
	return p.appendPacked(nil, raw)
}

// slots reads a pack. What it returns is in memory of its own.
func (p *packer) slots(content []byte) (slots, error) {
	raw, err := p.append(nil, content)
	if err != nil {
		return nil, err
	}
	all := make(slots, 0, packSize)
	for len(raw) > 0 {
		var slot []byte
		if slot, raw, err = cutSized(raw); err != nil {
			return nil, err
		}
		all = append(all, slot)
	}
	return all, nil
}

// at is the slot of an entry; empty when it has none.
func (s slots) at(i int64) []byte {
	if i < 0 || i >= int64(len(s)) {
		return nil
	}
	return s[i]
}

// used is how many slots belong to an entry.
func (s slots) used() int {
	n := 0
	for _, slot := range s {
		if len(slot) > 0 {
			n++
		}
	}
	return n
}

// clear empties the slots that are gone.
func (s slots) clear(gone func(i int) bool) {
	for i := range s {
		if gone(i) {
			s[i] = nil
		}
	}
}

// without is a pack less the entries that are gone.
func (p pack) without(packer *packer, gone func(i int) bool) (pack, error) {
	for _, content := range []*[]byte{&p.summaries, &p.traces} {
		all, err := packer.slots(*content)
		if err != nil {
			return p, err
		}
		all.clear(gone)
		*content = packer.packed(all)
	}
	if p.bodies.held == 0 {
		return p, nil
	}
	bodies, err := packer.slots(p.bodies.content)
	if err != nil {
		return p, err
	}
	bodies.clear(gone)
	p.bodies, err = packer.bodyPack(bodies)
	return p, err
}

// bodyPack makes a pack of texts.
func (p *packer) bodyPack(all slots) (bodyPack, error) {
	b := bodyPack{content: p.packed(all)}
	for _, slot := range all {
		if len(slot) == 0 {
			continue
		}
		id, _, err := cutSized(slot)
		if err != nil {
			return b, err
		}
		b.hold(string(id))
	}
	return b, nil
}

// hold counts an entry that has a text.
func (b *bodyPack) hold(id string) {
	if b.held == 0 || id < b.oldest {
		b.oldest = id
	}
	b.held++
}

// slotBody reads the texts of a slot.
func (p *packer) slotBody(slot []byte) (requestlog.Body, error) {
	_, rest, err := cutSized(slot) // the id
	if err != nil || len(rest) == 0 {
		return requestlog.Body{}, errPack
	}
	streamed := rest[0] == 1
	request, rest, err := cutSized(rest[1:])
	if err != nil {
		return requestlog.Body{}, err
	}
	response, _, err := cutSized(rest)
	if err != nil {
		return requestlog.Body{}, err
	}
	return p.body(request, response, streamed)
}

// body unpacks both texts.
func (p *packer) body(request, response []byte, streamed bool) (requestlog.Body, error) {
	body := requestlog.Body{Streamed: streamed}
	var errRequest, errResponse error
	body.Request, errRequest = p.unpack(request)
	body.Response, errResponse = p.unpack(response)
	return body, errors.Join(errRequest, errResponse)
}

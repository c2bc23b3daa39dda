package promptcache

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/turncache"
)

// list is the member of a request that holds the messages.
type list struct {
	name   string
	raw    []byte
	at     int  // offset of the list in the body
	inside bool // whether all head members precede the list
}

func listOf(req *llm.Request) (l list) {
	for _, name := range messageMembers {
		if value, ok := member(&req.Payload, name); ok {
			l = list{name: name, raw: value, inside: true}
			break
		}
	}
	for _, f := range req.Fields {
		if f.Name == l.name {
			l.at = f.Value
		}
	}
	for _, f := range req.Fields {
		if f.Value > l.at && slices.Contains(headMembers, f.Name) {
			l.inside = false
		}
	}
	return l
}

// head is the state of a builder after the tools and instructions, before the messages.
type head struct {
	sum     uint64
	weight  int64
	mark    Mark
	pending bool
}

// progress is the state of a builder after a message. Apart from the head, it depends only on the body up to end.
type progress struct {
	list       string
	inside     bool // whether all head members precede the list
	head       head
	end        int // offset in the body of the first byte after the message
	hash       xxhash.Digest
	weight     int64
	afterModel bool
	opening    uint64
	previous   int
	count      int    // number of links up to end
	links      []Link // links up to end, with sizes in bytes in the field Tokens
}

// addHeads adds the members that precede the messages in the prompt and returns the state after them.
func (b *builder) addHeads(req *llm.Request) head {
	for _, name := range headMembers {
		raw, ok := member(&req.Payload, name)
		if !ok {
			continue
		}
		b.write([]byte(name))
		b.pending = true
		if text, mark, ok := soleText(raw); ok {
			b.mark = max(b.mark, mark)
			raw = text
		}
		eachElement(raw, 0, func(at int) int { return b.addElement(raw, at) })
	}
	b.head = head{b.hash.Sum64(), b.weight, b.mark, b.pending}
	return b.head
}

// progress returns the state that an earlier turn stored, and the offset in the list at which the messages of that turn end. It returns nil
// if no earlier turn had the same messages at the start of the list.
func (l list) progress(turn *turncache.Turn) (*progress, int) {
	end, state := turn.Find(turncache.Prompts)
	if state == nil {
		return nil, 0
	}
	known := state.(*progress)
	if at := end - l.at; known.list == l.name && at > 0 && at < len(l.raw) {
		return known, at
	}
	return nil, 0
}

// maxKept is the maximum number of links in a stored state.
const maxKept = 4 * MaxLinks

// keep stores the states after the last messages for the next turn. It must be called before the sizes of links are converted to tokens.
func (b *builder) keep(list list) {
	if len(b.fingerprint.Links) > maxKept {
		return
	}
	var links []Link
	for p := range b.recent.Kept() {
		if links == nil {
			links = slices.Clone(b.fingerprint.Links)
		}
		p.list, p.inside, p.head, p.links = list.name, list.inside, b.head, links[:p.count]
		b.turn.Keep(turncache.Prompts, p.end, p, 256+24*p.count)
	}
}

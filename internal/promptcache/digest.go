// Package promptcache owns what providers have lately read of a conversation: it estimates how much of a coming prompt a target
// still has in its prompt cache, so that a switch of models and the baseline are priced with the caches as they stand. It
// keeps hashes and times, never text. What a provider really read is in the usage it reports; this package only guesses
// before, and learns from it after.
package promptcache

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead/internal/llm"
)

// Mark says whether the caller asked for the prompt to be kept up to a link.
type Mark uint8

// The marks.
const (
	Unmarked  Mark = iota
	ShortMark      // for as long as the provider usually keeps things
	LongMark       // for an hour
)

// Link is a beginning of the prompt that ends with a message.
type Link struct {
	Hash   uint64 // of everything up to here
	Tokens int64  // up to here, by our own estimate
	Mark   Mark
}

// Fingerprint is a prompt as a chain of its beginnings, the shortest first. Tools and instructions are the first link, every
// later message adds one. A conversation grows by appending, so the links of one turn come again in the next.
type Fingerprint struct {
	Session string // what the caller calls the conversation; may be empty
	Links   []Link
	// Previous is the link at which the previous turn's prompt ended, as far as the messages tell; -1 in a first turn.
	Previous int
	// Keep is how long the caller asks providers to keep the prompt; 0 leaves it to them.
	Keep time.Duration
	// MarksOnly is set where the caller wants nothing kept but what is marked.
	MarksOnly bool
}

// Tokens is the length of the whole prompt.
func (d Fingerprint) Tokens() int64 {
	if len(d.Links) == 0 {
		return 0
	}
	return d.Links[len(d.Links)-1].Tokens
}

// heads are the members that stand before the messages in what a model reads, in a fixed order.
var heads = []string{"tools", "functions", "response_format", "text", "system", "instructions"}

// lists are the members that hold the messages.
var lists = []string{"messages", "input", "prompt"}

// MaxLinks bounds a chain. Of longer conversations the last messages stay, and of the earlier ones an even selection.
const MaxLinks = 256

// Build reads the chain off a checked request, in one pass over its body. tokens is the estimate for the whole prompt; it is
// spread over the links by their size. Embeddings and the like have no chain.
func Build(req *llm.Request, tokens int64) Fingerprint {
	d := Fingerprint{Session: req.Controls.SessionID, Previous: -1}
	if req.Op != llm.Chat && req.Op != llm.Complete {
		return d
	}
	d.Links = make([]Link, 0, min(req.Messages+1, 4*MaxLinks))
	b := builder{digest: &d}
	b.hash.Reset()
	b.options(req)
	for _, name := range heads {
		if value, ok := member(req, name); ok {
			b.head(name, value)
		}
	}
	for _, name := range lists {
		if value, ok := member(req, name); ok {
			b.list(value)
			break
		}
	}
	b.end()
	if value, ok := member(req, "cache_control"); ok && len(d.Links) > 0 {
		// At the top level it stands for a mark on the last message.
		last := &d.Links[len(d.Links)-1]
		last.Mark = max(last.Mark, markOf(value))
	}
	spread(d.Links, tokens)
	d.thin()
	return d
}

// member returns a top-level member of the request's body.
func member(req *llm.Request, name string) ([]byte, bool) {
	for _, f := range req.Fields {
		if f.Name == name && f.Value >= 0 && f.Value <= f.End && f.End <= len(req.Body) {
			return req.Body[f.Value:f.End], true
		}
	}
	return nil, false
}

// builder makes a chain.
type builder struct {
	digest  *Fingerprint
	hash    xxhash.Digest
	weight  int64 // bytes so far
	mark    Mark  // on what has no link yet
	pending bool  // tools and instructions have no link yet
	talking bool  // the message before was the model's
}

func (b *builder) write(p []byte) {
	_, _ = b.hash.Write(p) // a hash takes everything
}

// options reads what the caller says about caches for the whole request.
func (b *builder) options(req *llm.Request) {
	if value, ok := member(req, "prompt_cache_retention"); ok {
		b.digest.Keep = lifetime(value)
	}
	value, ok := member(req, "prompt_cache_options")
	if !ok {
		return
	}
	wishes := object{value, 0}
	for key, one, ok := wishes.next(); ok; key, one, ok = wishes.next() {
		switch string(key) {
		case `"ttl"`:
			b.digest.Keep = lifetime(one.raw)
		case `"mode"`:
			b.digest.MarksOnly = string(one.raw) == `"explicit"`
		}
	}
}

// longestKeep is the longest time that any provider promises.
const longestKeep = 24 * time.Hour

// lifetime reads a JSON text such as "24h" or "30m"; 0 for anything else.
func lifetime(raw []byte) time.Duration {
	if len(raw) < 2 || len(raw) > 16 || raw[0] != '"' {
		return 0
	}
	d, err := time.ParseDuration(string(raw[1 : len(raw)-1]))
	if err != nil || d < 0 {
		return 0
	}
	return min(d, longestKeep)
}

// head takes in what stands before the messages.
func (b *builder) head(name string, raw []byte) {
	b.write([]byte(name))
	b.pending = true
	if text, mark, ok := soleText(raw); ok {
		b.mark = max(b.mark, mark)
		raw = text
	}
	each(raw, func(at int) int { return b.element(raw, at) })
}

// list takes in the messages.
func (b *builder) list(raw []byte) {
	each(raw, func(at int) int {
		said := authorOf(raw, at)
		if said != instructions || len(b.digest.Links) > 0 {
			b.end() // the head is complete
		}
		if said == answer && !b.talking {
			b.digest.Previous = len(b.digest.Links) - 1
		}
		b.talking = said == answer
		end := b.element(raw, at)
		b.pending = true
		if said != instructions || len(b.digest.Links) > 0 {
			b.end()
		}
		return end
	})
}

// end makes a link of what was taken in since the last one.
func (b *builder) end() {
	if !b.pending {
		return
	}
	b.digest.Links = append(b.digest.Links, Link{Hash: b.hash.Sum64(), Tokens: b.weight, Mark: b.mark})
	b.pending, b.mark = false, Unmarked
}

// spread turns the bytes of a chain into tokens.
func spread(links []Link, tokens int64) {
	if len(links) == 0 {
		return
	}
	whole := float64(max(links[len(links)-1].Tokens, 1))
	each := float64(tokens) / whole
	if tokens <= 0 {
		each = 0.25 // about four bytes are a token
	}
	for i := range links {
		links[i].Tokens = int64(float64(links[i].Tokens)*each + 0.5)
	}
}

// thin drops links of a long chain. What is dropped depends on a link's place alone, so that the next turn, which begins
// alike, keeps mostly the same; the end of the previous turn is never dropped.
func (d *Fingerprint) thin() {
	n := len(d.Links)
	if n <= MaxLinks {
		return
	}
	const recent = MaxLinks/2 - 2
	stride := 1
	for (n-recent)/stride > MaxLinks/2-2 {
		stride *= 2
	}
	kept, previous := d.Links[:0], d.Previous
	for i, link := range d.Links {
		if i != previous && i < n-recent && i%stride != 0 && link.Mark == Unmarked {
			continue
		}
		if i == previous {
			d.Previous = len(kept)
		}
		kept = append(kept, link)
	}
	if len(kept) > MaxLinks { // only a caller that marks hundreds of messages gets here
		cut := len(kept) - MaxLinks
		kept = slices.Delete(kept, 1, 1+cut)
		d.Previous = max(-1, d.Previous-cut)
	}
	d.Links = kept
}

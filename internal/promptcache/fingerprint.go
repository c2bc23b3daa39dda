// Package promptcache estimates how much of a prompt each target has in its prompt cache, so that the expected costs of models and of the
// baseline account for cached tokens. It stores hashes and times, never text. The usage that providers report corrects the estimates
// afterwards.
package promptcache

import (
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/llm"
)

// Mark is a cache breakpoint in the prompt, set by the caller or by the gateway.
type Mark uint8

// The kinds of marks.
const (
	Unmarked  Mark = iota
	ShortMark      // mark with the provider's default lifetime
	LongMark       // mark with a lifetime of one hour
)

// Link is one prefix of the prompt. It ends at the end of a message.
type Link struct {
	Hash   uint64 // hash of the whole prefix
	Tokens int64  // estimated length of the prefix in tokens
	Mark   Mark
}

// Fingerprint describes a prompt as a chain of prefixes, shortest first. Tools and instructions form the first link, and
// every message adds a link. Each turn appends messages to the conversation, so the links of one turn appear again in the
// next turn.
type Fingerprint struct {
	Session string // session ID set by the caller; may be empty
	Links   []Link
	// Opening is the hash of the prompt up to its first user message, which is the same in every turn. It is 0 if the prompt has no user
	// message.
	Opening uint64
	// Previous is the index of the link at which the previous turn's prompt ended, or -1 in the first turn.
	Previous int
	// Retention is the time for which the caller asks providers to cache the prompt; 0 for the provider's default.
	Retention time.Duration
	// MarksOnly reports whether the provider may cache only marked prefixes.
	MarksOnly bool
	// Outlook predicts the next turn. It determines whether the gateway marks the end of a prompt without marks.
	Outlook Outlook
}

// Tokens returns the estimated length of the whole prompt.
func (fp Fingerprint) Tokens() int64 {
	if len(fp.Links) == 0 {
		return 0
	}
	return fp.Links[len(fp.Links)-1].Tokens
}

// headMembers are the request members that precede the messages in the prompt, in the order in which they are hashed.
var headMembers = []string{"tools", "functions", "response_format", "text", "system", "systemInstruction", "system_instruction", "instructions"}

// messageMembers are the request members that hold the messages.
var messageMembers = []string{"messages", "input", "contents", "prompt"}

// MaxLinks is the maximum number of links. Longer conversations keep the links of their last messages and evenly spaced
// links of the earlier messages.
const MaxLinks = 256

// Build computes the fingerprint of a validated request in one pass over its body. tokens is the estimated length of the whole prompt and
// is distributed over the links by size. Only chat and completion requests have links.
func Build(req *llm.Request, tokens int64) Fingerprint {
	fp := Fingerprint{Session: req.Controls.SessionID, Previous: -1}
	if req.Op != llm.Chat && req.Op != llm.Complete {
		return fp
	}
	fp.Links = make([]Link, 0, min(req.Messages+1, 4*MaxLinks))
	b := builder{fingerprint: &fp}
	b.hash.Reset()
	b.readOptions(req)
	b.addHeads(req)
	for _, name := range messageMembers {
		if value, ok := member(&req.Payload, name); ok {
			b.addMessages(value)
			break
		}
	}
	b.endLink()
	if len(fp.Links) == 0 {
		return fp
	}
	last := &fp.Links[len(fp.Links)-1]
	if value, ok := member(&req.Payload, "cache_control"); ok { // a top-level cache_control marks the last message
		last.Mark = max(last.Mark, markOf(value))
	}
	each := 0.25 // tokens per byte, used if the whole prompt has no estimate
	if tokens > 0 {
		each = float64(tokens) / float64(max(last.Tokens, 1))
	}
	for i := range fp.Links {
		fp.Links[i].Tokens = int64(float64(fp.Links[i].Tokens)*each + 0.5)
	}
	fp.thin()
	return fp
}

// member returns a top-level member of the request body.
func member(p *llm.Payload, name string) ([]byte, bool) {
	for _, f := range p.Fields {
		if f.Name == name && f.Value >= 0 && f.Value <= f.End && f.End <= len(p.Body) {
			return p.Body[f.Value:f.End], true
		}
	}
	return nil, false
}

// builder computes a fingerprint.
type builder struct {
	fingerprint *Fingerprint
	hash        xxhash.Digest
	weight      int64 // size in bytes of the values so far, in which media have a fixed size
	mark        Mark  // mark on content that has no link yet
	pending     bool  // whether content was added that has no link yet
	afterModel  bool  // whether the previous message was written by the model
}

func (b *builder) write(p []byte) {
	_, _ = b.hash.Write(p) // a hash never fails
}

// readOptions reads the cache options that apply to the whole request.
func (b *builder) readOptions(req *llm.Request) {
	if value, ok := member(&req.Payload, "prompt_cache_retention"); ok {
		b.fingerprint.Retention = lifetime(value)
	}
	value, ok := member(&req.Payload, "prompt_cache_options")
	if !ok {
		return
	}
	options := object{value, 0}
	for key, one, ok := options.next(); ok; key, one, ok = options.next() {
		switch string(key) {
		case `"ttl"`:
			b.fingerprint.Retention = lifetime(one.raw)
		case `"mode"`:
			b.fingerprint.MarksOnly = string(one.raw) == `"explicit"`
		}
	}
}

// maxRetention is the longest retention that any provider offers.
const maxRetention = 24 * time.Hour

// lifetime parses a JSON string such as "24h" or "30m". It returns 0 for any other value.
func lifetime(raw []byte) time.Duration {
	if len(raw) < 2 || len(raw) > 16 || raw[0] != '"' {
		return 0
	}
	d, err := time.ParseDuration(string(raw[1 : len(raw)-1]))
	if err != nil || d < 0 {
		return 0
	}
	return min(d, maxRetention)
}

// addHeads adds the members that precede the messages in the prompt.
func (b *builder) addHeads(req *llm.Request) {
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
		eachElement(raw, func(at int) int { return b.addElement(raw, at) })
	}
}

// addMessages adds the messages of a list.
func (b *builder) addMessages(raw []byte) {
	eachElement(raw, func(at int) int {
		by := authorOf(raw, at)
		if by != bySystem || len(b.fingerprint.Links) > 0 {
			b.endLink() // ends the link of the tools and instructions
		}
		if by == byModel && !b.afterModel {
			b.fingerprint.Previous = len(b.fingerprint.Links) - 1
		}
		b.afterModel = by == byModel
		end := b.addElement(raw, at)
		b.pending = true
		if by != bySystem || len(b.fingerprint.Links) > 0 {
			b.endLink()
		}
		if by == byOther && b.fingerprint.Opening == 0 {
			b.fingerprint.Opening = b.hash.Sum64()
		}
		return end
	})
}

// endLink appends a link for the content that was added since the last link.
func (b *builder) endLink() {
	if !b.pending {
		return
	}
	b.fingerprint.Links = append(b.fingerprint.Links, Link{Hash: b.hash.Sum64(), Tokens: b.weight, Mark: b.mark})
	b.pending, b.mark = false, Unmarked
}

// thin removes links from a long chain. The choice depends only on a link's index, so that the next turn keeps mostly
// the same links. The end of the previous turn is removed only if the client marks hundreds of messages.
func (fp *Fingerprint) thin() {
	n := len(fp.Links)
	if n <= MaxLinks {
		return
	}
	const recent = MaxLinks/2 - 2
	stride := 1
	for (n-recent)/stride > MaxLinks/2-2 {
		stride *= 2
	}
	kept, previous := fp.Links[:0], fp.Previous
	for i, link := range fp.Links {
		if i != previous && i < n-recent && i%stride != 0 && link.Mark == Unmarked {
			continue
		}
		if i == previous {
			fp.Previous = len(kept)
		}
		kept = append(kept, link)
	}
	if len(kept) > MaxLinks { // happens only if the caller marks hundreds of messages
		cut := len(kept) - MaxLinks
		kept = slices.Delete(kept, 1, 1+cut)
		switch {
		case fp.Previous > cut:
			fp.Previous -= cut
		case fp.Previous > 0:
			fp.Previous = -1 // the link was removed
		}
	}
	fp.Links = kept
}

// Package promptcache estimates how much of a prompt each target has in its prompt cache, so that the expected costs of models and of the
// baseline account for cached tokens. It stores hashes and times, never text. The usage that providers report corrects the estimates
// afterwards.
package promptcache

import (
	"time"

	"github.com/cespare/xxhash/v2"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Mark is a cache breakpoint in the prompt, set by the caller or by the gateway.
type Mark uint8

// The kinds of marks.
const (
	Unmarked  Mark = iota
	ShortMark      // mark with the provider's default lifetime
	LongMark       // mark with a lifetime of one hour
)

// Lifetime returns the lifetime of a mark as providers write it: 5m, 1h, or empty for none.
func (m Mark) Lifetime() string { return [...]string{"", "5m", "1h"}[m] }

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
	// Retention is the time for which the caller asks providers to cache the prompt; 0 for the provider's default.
	Retention time.Duration
	// MarksOnly reports whether the provider may cache only marked prefixes.
	MarksOnly bool
	// Outlook predicts the next turn. It determines whether the gateway marks the end of a prompt without marks.
	Outlook Outlook
}

// Tokens returns the estimated length of the whole prompt.
func (fp *Fingerprint) Tokens() int64 {
	if len(fp.Links) == 0 {
		return 0
	}
	return fp.Links[len(fp.Links)-1].Tokens
}

const (
	// MaxLinks is the maximum number of links. Longer conversations keep the links of their last messages and evenly spaced
	// links of the earlier messages.
	MaxLinks    = 256
	recentLinks = MaxLinks / 2

	bytesPerToken = 4              // used if the whole prompt has no estimate
	maxRetention  = 24 * time.Hour // longest retention that any provider offers
)

// Build computes the fingerprint of a decoded chat request. tokens is the estimated length of the whole prompt and is distributed over the
// links by size.
func Build(req *llm.Request, tokens int64) Fingerprint {
	fp := Fingerprint{Session: req.Controls.SessionID}
	end := fp.readOptions(req)
	c := req.Conversation
	if c == nil || len(c.Messages) == 0 {
		return fp
	}
	fp.Links = make([]Link, 0, min(len(c.Messages)+1, 4*MaxLinks))
	b := builder{fingerprint: &fp}
	b.hash.Reset()
	b.addTools(c)
	for i := range c.Messages {
		b.addMessage(&c.Messages[i])
	}
	last := &fp.Links[len(fp.Links)-1]
	last.Mark = max(last.Mark, end)
	each := 1.0 / bytesPerToken
	if tokens > 0 {
		each = float64(tokens) / float64(max(b.weight, 1))
	}
	for i := range fp.Links {
		fp.Links[i].Tokens = int64(float64(fp.Links[i].Tokens)*each + 0.5)
	}
	fp.Links = thin(fp.Links)
	return fp
}

// readOptions reads the members of a request that concern only the cache. It returns the mark of the last message.
func (fp *Fingerprint) readOptions(req *llm.Request) (end Mark) {
	for _, f := range req.Fields {
		switch raw := req.Body[f.Value:f.End]; f.Name {
		case "prompt_cache_retention":
			fp.Retention = lifetime(rawjson.Parse(raw))
		case "prompt_cache_options":
			options := rawjson.Parse(raw)
			fp.Retention, fp.MarksOnly = lifetime(options.Get("ttl")), options.Get("mode").String() == "explicit"
		case "cache_control":
			if mark := rawjson.Parse(raw); mark.IsObject() {
				end = markOf(&llm.CacheMark{TTL: mark.Get("ttl").String()})
			}
		}
	}
	return end
}

// lifetime parses a duration such as "24h" or "30m". It returns 0 for any other value.
func lifetime(v rawjson.Value) time.Duration {
	d, err := time.ParseDuration(v.String())
	if err != nil {
		return 0
	}
	return min(max(d, 0), maxRetention)
}

// thin removes links from a long chain. The choice depends mostly on a link's index, so that the next turn keeps the same links.
func thin(links []Link) []Link {
	n, stride := len(links), 1
	if n <= MaxLinks {
		return links
	}
	for n/stride > recentLinks/2 {
		stride *= 2
	}
	kept := links[:0]
	for i, link := range links {
		if i >= n-recentLinks || (i%stride == 0 || link.Mark != Unmarked) && len(kept) < MaxLinks-recentLinks {
			kept = append(kept, link)
		}
	}
	return kept
}

// builder computes a fingerprint.
type builder struct {
	fingerprint *Fingerprint
	hash        xxhash.Digest
	weight      int64 // size in bytes of the values so far, in which encoded data has a limited size
	mark        Mark  // mark on content that has no link yet
}

// maxOpaque is the maximum number of bytes counted for encoded data, such as an image: about a thousand tokens.
const maxOpaque = 4096

// write hashes values and adds their lengths to the size of the prompt.
func (b *builder) write(values ...string) {
	for _, value := range values {
		_, _ = b.hash.WriteString(value) // a hash never fails
		_, _ = b.hash.WriteString("\x00")
		b.weight += int64(len(value))
	}
}

// writeJSON is like write for a JSON value.
func (b *builder) writeJSON(raw []byte) {
	_, _ = b.hash.Write(raw)
	b.write("")
	b.weight += int64(len(raw))
}

// writeOpaque hashes encoded data.
func (b *builder) writeOpaque(data string) {
	b.write(data)
	b.weight -= int64(max(0, len(data)-maxOpaque))
}

// addTools adds a link for the tools and the response format, which precede the messages in the prompt.
func (b *builder) addTools(c *llm.Conversation) {
	for i := range c.Tools {
		t := &c.Tools[i]
		b.write("tool", t.Name, t.Description, t.Hosted)
		b.writeJSON(t.Schema)
		b.writeJSON(t.Format)
		b.writeJSON(t.Raw)
		b.mark = max(b.mark, markOf(t.Cache))
	}
	if out := &c.Output; out.Kind != llm.OutputText {
		b.write(string(out.Kind), out.Name, out.Description)
		b.writeJSON(out.Schema)
	}
	if b.weight > 0 {
		b.endLink()
	}
}

// addMessage adds a link for a message.
func (b *builder) addMessage(m *llm.Message) {
	b.write(string(m.Role), m.Name)
	results := b.addParts(m.Parts)
	b.endLink()
	if b.fingerprint.Opening == 0 && m.Role == llm.User && !results {
		b.fingerprint.Opening = b.hash.Sum64()
	}
}

// addParts adds the parts of a message. It reports whether they contain a tool result.
func (b *builder) addParts(parts []llm.Part) (results bool) {
	for i := range parts {
		p := &parts[i]
		b.write(string(p.Kind), p.Text)
		switch {
		case p.Media != nil:
			b.write(p.Media.Type, p.Media.URL, p.Media.FileID, p.Media.Name)
			b.writeOpaque(p.Media.Data)
		case p.Thinking != nil:
			b.write(p.Thinking.Text)
			b.writeOpaque(p.Thinking.Signature + p.Thinking.Redacted)
		case p.Call != nil:
			b.write(p.Call.ID, p.Call.Name, p.Call.Arguments)
		case p.Result != nil:
			results = true
			b.write(p.Result.ID)
			b.addParts(p.Result.Parts)
		}
		b.mark = max(b.mark, markOf(p.Cache))
	}
	return results
}

// endLink appends a link for the content that was added since the last link.
func (b *builder) endLink() {
	b.fingerprint.Links = append(b.fingerprint.Links, Link{Hash: b.hash.Sum64(), Tokens: b.weight, Mark: b.mark})
	b.mark = Unmarked
}

// markOf returns the mark for a breakpoint, which may be nil.
func markOf(m *llm.CacheMark) Mark {
	switch {
	case m == nil:
		return Unmarked
	case m.TTL == "1h":
		return LongMark
	}
	return ShortMark
}

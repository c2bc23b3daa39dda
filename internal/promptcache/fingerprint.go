// Package promptcache estimates how much of a prompt each target has in its prompt cache, so that the expected costs of models and of the
// baseline account for cached tokens. It stores hashes and times, never text. The usage that providers report corrects the estimates
// afterwards.
package promptcache

import (
	"bytes"
	"slices"
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

// headMembers are the request members that precede the messages in the prompt, and messageMembers those that hold the messages, in the
// order in which they are hashed.
var (
	headMembers    = [...]string{"tools", "functions", "response_format", "text", "system", "systemInstruction", "system_instruction", "instructions"}
	messageMembers = [...]string{"messages", "input", "contents"}
)

const (
	// MaxLinks is the maximum number of links. Longer conversations keep the links of their last messages and evenly spaced
	// links of the earlier messages.
	MaxLinks    = 256
	recentLinks = MaxLinks / 2

	bytesPerToken = 4              // used if the whole prompt has no estimate
	maxRetention  = 24 * time.Hour // longest retention that any provider offers
)

// Build computes the fingerprint of a validated chat request in one pass over its body. tokens is the estimated length of the whole prompt
// and is distributed over the links by size.
func Build(req *llm.Request, tokens int64) Fingerprint {
	fp := Fingerprint{Session: req.Controls.SessionID, Links: make([]Link, 0, min(req.Messages+1, 4*MaxLinks))}
	b := builder{fingerprint: &fp}
	b.hash.Reset()
	var heads [len(headMembers)][]byte
	var messages [len(messageMembers)][]byte
	end := Unmarked
	for _, f := range req.Fields {
		raw := req.Body[f.Value:f.End]
		switch f.Name {
		case "prompt_cache_retention":
			fp.Retention = lifetime(rawjson.Parse(raw))
		case "prompt_cache_options":
			options := rawjson.Parse(raw)
			fp.Retention, fp.MarksOnly = lifetime(options.Get("ttl")), options.Get("mode").String() == "explicit"
		case "cache_control": // a top-level cache_control marks the last message
			end = markOf(raw)
		default:
			if i := slices.Index(headMembers[:], f.Name); i >= 0 {
				heads[i] = raw
			} else if i := slices.Index(messageMembers[:], f.Name); i >= 0 {
				messages[i] = raw
			}
		}
	}
	for i, raw := range heads {
		if raw != nil {
			b.write([]byte(headMembers[i]))
			b.addValue(raw, 0, 0)
		}
	}
	if b.weight > 0 {
		b.endLink()
	}
	for _, raw := range messages {
		b.addMessages(raw)
	}
	if len(fp.Links) == 0 {
		return fp
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

// builder computes a fingerprint. It scans JSON that a wire format has already validated. On other input it stops early and never reads
// past the end.
type builder struct {
	fingerprint *Fingerprint
	hash        xxhash.Digest
	weight      int64  // size in bytes of the values so far, in which media have a fixed size
	mark        Mark   // mark on content that has no link yet
	role        []byte // role of the current message
}

const (
	mediaBytes  = 2048 // length in bytes above which a string may be media
	mediaSample = 512  // number of bytes checked to detect media
	mediaWeight = 4096 // number of bytes counted for an image, about a thousand tokens
)

// write hashes a name or a value.
func (b *builder) write(p []byte) {
	_, _ = b.hash.Write(p) // a hash never fails
	size := len(p)
	if size > mediaBytes && !bytes.ContainsAny(p[:mediaSample], " \\") { // probably encoded media rather than text
		size = mediaWeight
	}
	b.weight += int64(size)
}

// addMessages adds a link for each message of a list. A value that is not a list is one message.
func (b *builder) addMessages(raw []byte) {
	i := skipSpace(raw, 0)
	if i < len(raw) && raw[i] == '[' {
		i = skipSpace(raw, i+1)
	}
	for i < len(raw) && raw[i] != ']' {
		b.role = nil
		i = skipSpace(raw, b.addValue(raw, i, 0))
		b.endLink()
		if b.fingerprint.Opening == 0 && (len(b.role) == 0 || string(b.role) == `"user"`) {
			b.fingerprint.Opening = b.hash.Sum64()
		}
	}
}

// endLink appends a link for the content that was added since the last link.
func (b *builder) endLink() {
	b.fingerprint.Links = append(b.fingerprint.Links, Link{Hash: b.hash.Sum64(), Tokens: b.weight, Mark: b.mark})
	b.mark = Unmarked
}

// addValue hashes the names and values of the JSON value at an offset and returns its end. It skips punctuation, cache marks and the names
// of text parts: a client may send a message as a string in one turn and as a text part with a cache mark in the next turn, and both must
// have the same hash.
func (b *builder) addValue(raw []byte, i, depth int) (end int) {
	switch {
	case i >= len(raw):
		return len(raw)
	case raw[i] == '"':
		end = rawjson.SkipString(raw, i)
		b.write(raw[i:end])
		return end
	case raw[i] == '[':
		for i = skipSpace(raw, i+1); i < len(raw) && raw[i] != ']'; {
			i = skipSpace(raw, b.addValue(raw, i, depth+1))
		}
		return min(i+1, len(raw))
	case raw[i] == '{':
		for i = skipSpace(raw, i+1); i < len(raw) && raw[i] == '"'; {
			i = skipSpace(raw, b.addMember(raw, i, depth))
		}
		return min(i+1, len(raw))
	}
	end = len(raw)
	if n := bytes.IndexAny(raw[i+1:], " \t\r\n,]}"); n >= 0 {
		end = i + 1 + n
	}
	b.write(raw[i:end])
	b.write([]byte{','}) // separates numbers
	return end
}

// addMember adds the object member at an offset and returns its end.
func (b *builder) addMember(raw []byte, i, depth int) (end int) {
	start := rawjson.SkipString(raw, i)
	name := raw[i:start]
	start = skipSpace(raw, start)
	switch string(name) {
	case `"cache_control"`, `"prompt_cache_breakpoint"`:
		before := *b
		end = b.addValue(raw, start, depth+1)
		*b = before
		b.mark = max(b.mark, markOf(raw[start:end]))
		return end
	case `"text"`:
		return b.addValue(raw, start, depth+1)
	case `"type"`:
		for _, kind := range [...]string{`"text"`, `"input_text"`, `"output_text"`} {
			if bytes.HasPrefix(raw[start:], []byte(kind)) {
				return start + len(kind)
			}
		}
	}
	b.write(name)
	end = b.addValue(raw, start, depth+1)
	if depth == 0 && string(name) == `"role"` {
		b.role = raw[start:end]
	}
	return end
}

// markOf parses the value of a mark. It returns Unmarked for null, false and an empty value.
func markOf(raw []byte) Mark {
	switch {
	case len(raw) == 0 || raw[0] == 'n' || raw[0] == 'f':
		return Unmarked
	case bytes.Contains(raw, []byte(`"1h"`)):
		return LongMark
	}
	return ShortMark
}

// skipSpace returns the index of the next byte that is not white space, a comma or a colon.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t' || b[i] == ',' || b[i] == ':') {
		i++
	}
	return i
}

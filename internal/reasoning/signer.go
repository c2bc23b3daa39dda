package reasoning

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// signers remembers which target created a signature that the client received unchanged, because the client and the provider use the same
// format. Signatures that the gateway wrapped name their provider themselves. Of each signature it holds a hash.
type signers struct {
	mu              sync.Mutex
	recent, earlier map[fingerprint]string // recent replaces earlier when it is full
}

// maxSigners is the maximum number of signatures in signers.recent, which uses about 100 bytes for each.
const maxSigners = 1 << 15

type fingerprint [16]byte

func fingerprintOf(workspace, signature string) fingerprint {
	sum := sha256.Sum256([]byte(workspace + "\x00" + signature))
	return fingerprint(sum[:16])
}

func (s *signers) store(f fingerprint, target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent == nil || len(s.recent) >= maxSigners {
		s.recent, s.earlier = map[fingerprint]string{}, s.recent
	}
	s.recent[f] = target
}

func (s *signers) empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.recent) == 0
}

// find returns the target that created a signature, or an empty string.
func (s *signers) find(f fingerprint) string {
	s.mu.Lock()
	target, recent := s.recent[f]
	if !recent {
		target = s.earlier[f]
	}
	s.mu.Unlock()
	if !recent && target != "" {
		s.store(f, target)
	}
	return target
}

// Recording stores the signatures in a response that is forwarded to a client of the same format.
type Recording struct {
	signers           *signers
	workspace, target string
	partial           string        // beginning of a signature that the provider sends in several events
	stored            []fingerprint // signatures for the other replicas
}

// message tells another replica which target created signatures.
type message struct {
	Signer     string        `json:"signer"`
	Signatures []fingerprint `json:"signatures"`
}

// maxShared is the maximum number of signatures in a message. A response has one for each block of reasoning.
const maxShared = 256

// Record begins the recording of a response.
func (s *Store) Record(workspace, target string) *Recording {
	return &Recording{signers: &s.signers, workspace: workspace, target: target}
}

// Read stores the signatures in one event.
func (r *Recording) Read(data []byte) {
	if mayHaveSignature(data) {
		r.read(rawjson.Parse(data), 0)
	}
}

func (r *Recording) read(v rawjson.Value, depth int) {
	if depth > maxDepth || v.Kind != rawjson.Object && v.Kind != rawjson.List {
		return
	}
	if v.IsObject() {
		s := signatureOf(v)
		switch text := s.value.String(); {
		case text == "" || strings.HasPrefix(text, wrapped):
		case s.kind == "signature_delta":
			if r.partial != "" {
				r.stored = r.stored[:len(r.stored)-1]
			}
			r.partial += text
			r.store(r.partial)
		default:
			r.store(text)
		}
		if s.kind == "content_block_start" {
			r.partial = ""
		}
	}
	v.ForEach(func(_, member rawjson.Value) bool {
		r.read(member, depth+1)
		return true
	})
}

func (r *Recording) store(signature string) {
	f := fingerprintOf(r.workspace, signature)
	r.signers.store(f, r.target)
	r.stored = append(r.stored, f)
}

// Message returns a message with the signatures for the other replicas, or an empty string if the response has none.
func (r *Recording) Message() string {
	if len(r.stored) == 0 {
		return ""
	}
	text, _ := json.Marshal(message{r.target, r.stored[:min(len(r.stored), maxShared)]}) // these types can always be encoded
	return string(text)
}

// Receive stores the signatures in a message of another replica. It returns false for any other message.
func (s *Store) Receive(text string) bool {
	var m message
	if err := json.Unmarshal([]byte(text), &m); err != nil || m.Signer == "" {
		return false
	}
	for _, f := range m.Signatures[:min(len(m.Signatures), maxShared)] {
		s.signers.store(f, m.Signer)
	}
	return true
}

// WithoutForeign returns the request without the signatures that other targets than the given one created, or req itself if it has none.
// A signature whose origin is not known belongs to the target assumed. Signed blocks are removed as a whole; the signature of another part
// is removed from the part. All other bytes stay the same.
func (s *Store) WithoutForeign(req *llm.Request, workspace, target, assumed string) *llm.Request {
	if req.Op != llm.Chat || target == assumed && s.signers.empty() || !mayHaveSignature(req.Body) {
		return req
	}
	c := cutter{foreign: func(signature string) bool {
		signer := s.signers.find(fingerprintOf(workspace, signature))
		if signer == "" {
			signer = assumed
		}
		return signer != target
	}}
	own := *req
	own.Fields, own.Body = nil, nil
	end := 0 // end of the part of req.Body that was copied to own.Body
	for _, f := range req.Fields {
		value := req.Body[f.Value:f.End]
		before := end - len(own.Body) // bytes removed before this field
		if (f.Name == "messages" || f.Name == "input" || f.Name == "contents") && mayHaveSignature(value) {
			c.cuts = nil
			c.list(rawjson.Parse(value), 0)
			for _, cut := range c.cuts {
				own.Body = append(own.Body, req.Body[end:f.Value+cut.from]...)
				end = f.Value + cut.to
			}
		}
		own.Fields = append(own.Fields, llm.Field{Name: f.Name, KeyStart: f.KeyStart - before, Value: f.Value - before, End: f.End - end + len(own.Body)})
	}
	if end == 0 {
		return req
	}
	own.Body = append(own.Body, req.Body[end:]...)
	own.LostThinking = true
	if req.Conversation != nil {
		own.Conversation = withoutForeign(req.Conversation, c.foreign)
	}
	return &own
}

// withoutForeign returns the conversation without the same signatures. Signatures that the gateway wrapped have a provider.
func withoutForeign(conv *llm.Conversation, foreign func(signature string) bool) *llm.Conversation {
	own := *conv
	own.Messages = make([]llm.Message, 0, len(conv.Messages))
	for _, m := range conv.Messages {
		parts := make([]llm.Part, 0, len(m.Parts))
		for _, p := range m.Parts {
			if t := p.Thinking; t != nil && t.Provider == "" && t.Signature+t.Redacted != "" && foreign(t.Signature+t.Redacted) {
				continue
			}
			if call := p.Call; call != nil && call.Provider == "" && call.Signature != "" && foreign(call.Signature) {
				unsigned := *call
				unsigned.Signature = ""
				p.Call = &unsigned
			}
			parts = append(parts, p)
		}
		if len(parts) > 0 || len(m.Parts) == 0 {
			m.Parts = parts
			own.Messages = append(own.Messages, m)
		}
	}
	return &own
}

const (
	wrapped  = "fairlead." // prefix of signatures that the gateway wrapped; adapters unwrap or remove them
	maxDepth = 12
)

// marks are strings of which every object with a signature contains at least one: parts of signature, thoughtSignature, encrypted_content,
// redacted_thinking and reasoning.encrypted. They begin with a rare byte, because the search for such strings is many times faster.
var marks = [][]byte{[]byte(`gnature"`), []byte(`_content"`), []byte(`_thinking"`), []byte(`.encrypted"`)}

func mayHaveSignature(data []byte) bool {
	return slices.ContainsFunc(marks, func(mark []byte) bool { return bytes.Contains(data, mark) })
}

// signature is the signature in an object.
type signature struct {
	kind  string        // type of the object
	name  string        // member with the signature; empty for none
	value rawjson.Value // value of the member
}

// block reports whether the object is a block of reasoning, which is invalid without its signature.
func (s signature) block() bool { return s.name != "thoughtSignature" && s.name != "thought_signature" }

// signatureOf returns the signature of an object: of a block of reasoning, of an event with part of it, or of a part in the Gemini format.
func signatureOf(object rawjson.Value) (s signature) {
	object.ForEach(func(key, value rawjson.Value) bool {
		if value.Kind != rawjson.Text {
			return true
		}
		switch name := key.String(); name {
		case "type":
			s.kind = value.String()
		case "signature", "data", "encrypted_content", "thoughtSignature", "thought_signature":
			s.name, s.value = name, value
		}
		return true
	})
	signed := []string{"thinking", "redacted_thinking", "reasoning", "signature_delta"}
	if !s.block() || slices.Contains(signed, s.kind) || strings.HasPrefix(s.kind, "reasoning.") {
		return s
	}
	return signature{kind: s.kind}
}

// cutter finds the foreign signatures in the messages of a request.
type cutter struct {
	foreign func(signature string) bool
	cuts    []span // parts to remove, in order
}

// span is a range of bytes.
type span struct{ from, to int }

// item is an element of a list or a member of an object.
type item struct {
	span
	removed bool
}

// list removes signatures from the elements of a list. It reports whether the list would be empty.
func (c *cutter) list(v rawjson.Value, depth int) (empty bool) {
	var items []item
	var inner [][]span
	v.ForEach(func(_, element rawjson.Value) bool {
		c.cuts = nil
		removed := element.IsObject() && depth < maxDepth && c.object(element, depth+1)
		items, inner = append(items, item{span{element.Index, element.Index + len(element.Raw)}, removed}), append(inner, c.cuts)
		return true
	})
	c.cuts = join(items, inner)
	return len(items) > 0 && !slices.ContainsFunc(items, func(i item) bool { return !i.removed })
}

// object removes signatures from an object. It reports whether the whole object must be removed.
func (c *cutter) object(v rawjson.Value, depth int) (remove bool) {
	s := signatureOf(v)
	text := s.value.String()
	foreign := text != "" && !strings.HasPrefix(text, wrapped) && c.foreign(text)
	if foreign && s.block() {
		return true
	}
	var items []item
	var inner [][]span
	v.ForEach(func(key, value rawjson.Value) bool {
		c.cuts = nil
		i := item{span: span{key.Index, value.Index + len(value.Raw)}}
		switch name := key.String(); name {
		case s.name:
			i.removed = foreign
		case "content", "parts":
			if value.IsList() && depth < maxDepth {
				remove = c.list(value, depth+1) || remove
			}
		case "thinking_blocks", "reasoning_details", "tool_calls":
			i.removed = value.IsList() && depth < maxDepth && c.list(value, depth+1)
		case "extra_content", "google":
			i.removed = value.IsObject() && depth < maxDepth && c.object(value, depth+1)
		}
		items, inner = append(items, i), append(inner, c.cuts)
		return true
	})
	c.cuts = join(items, inner)
	return remove
}

// join returns the cuts that remove items with the commas around them, and the cuts inside the items that stay.
func join(items []item, inner [][]span) (cuts []span) {
	stays := false // whether an item before the current one stays
	for i, it := range items {
		switch {
		case !it.removed:
			stays = true
			cuts = append(cuts, inner[i]...)
		case stays:
			cuts = append(cuts, span{items[i-1].to, it.to})
		case i+1 < len(items):
			cuts = append(cuts, span{it.from, items[i+1].from})
		default:
			cuts = append(cuts, it.span)
		}
	}
	return cuts
}

package openai

import (
	"bytes"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Edit describes the changes to a request for a provider of the same format.
type Edit struct {
	Model        string            // provider's model name; empty to keep the client's name
	IncludeUsage bool              // whether to request usage in a stream, regardless of the client's setting
	Drop         []string          // top-level members to remove
	Rename       map[string]string // top-level members to rename
	Set          []Member          // top-level members to replace or append

	// Prefix marks the last message, an assistant message, as the beginning of the response. Some vendors require this mark.
	Prefix bool

	// CallID converts the ID of a tool call; nil keeps all IDs.
	CallID func(id string) string
}

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value []byte // value as raw JSON
}

var wantUsage = []byte(`{"include_usage":true}`)

// manyFields is the number of dropped fields above which a map is faster than a list.
const manyFields = 24

// Render returns the body for a provider of the same format: the client's body with the edits applied, without the
// gateway's own members (models, provider, session_id) and without the signatures that earlier responses added to
// messages. Everything else is kept byte for byte and in order.
func Render(req *llm.Request, e Edit) []byte { return slices.Concat(Pieces(req, e)...) }

// Pieces returns the same body as Render, but as a list of slices. Long slices share memory with the client's body.
func Pieces(req *llm.Request, e Edit) [][]byte {
	fields, body := req.Fields, req.Body
	if len(fields) == 0 {
		return [][]byte{body}
	}
	r := renderer{req: req, edit: e}
	if len(e.Drop) > manyFields {
		r.drop = make(map[string]bool, len(e.Drop))
		for _, name := range e.Drop {
			r.drop[name] = true
		}
	}
	r.out = append(make([]byte, 0, min(len(body)+512, minShared)), body[:fields[0].KeyStart]...)
	for i, f := range fields {
		if r.dropped(f.Name) {
			continue
		}
		if r.written > 0 {
			r.out = append(r.out, body[fields[i-1].End:f.KeyStart]...)
		}
		r.field(f)
	}
	r.appended()
	r.out = append(r.out, body[fields[len(fields)-1].End:]...)
	return append(r.pieces, r.out[r.shared:])
}

type renderer struct {
	req     *llm.Request
	edit    Edit
	pieces  [][]byte        // finished pieces of the body, including out[:shared]
	out     []byte          // bytes that do not share memory with the client's body
	shared  int             // number of bytes of out that are already in pieces
	written int             // number of members written
	drop    map[string]bool // Edit.Drop as a map if it is long, otherwise nil
}

// minShared is the minimum length of a value that is shared instead of copied.
const minShared = 4 << 10

// share writes a value. A value of at least minShared bytes is not copied.
func (r *renderer) share(value []byte) {
	if len(value) < minShared {
		r.out = append(r.out, value...)
		return
	}
	r.pieces = append(r.pieces, r.out[r.shared:len(r.out):len(r.out)], value)
	r.shared = len(r.out)
}

// dropped reports whether a member is removed: it is an option of the gateway, it is in Drop, or a renamed member
// replaces it.
func (r *renderer) dropped(name string) bool {
	switch name {
	case "models", "provider", "session_id":
		return true
	}
	if to, ok := r.edit.Rename[name]; ok && to != name && r.has(to) {
		return true
	}
	if _, ok := r.set(name); ok {
		return false
	}
	return r.drops(name)
}

func (r *renderer) drops(name string) bool {
	if r.drop != nil {
		return r.drop[name]
	}
	return slices.Contains(r.edit.Drop, name)
}

func (r *renderer) has(name string) bool {
	for _, f := range r.req.Fields {
		if f.Name == name {
			return true
		}
	}
	return false
}

func (r *renderer) set(name string) ([]byte, bool) {
	for _, m := range r.edit.Set {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// field writes one member with its final name and value.
func (r *renderer) field(f llm.Field) {
	body, name := r.req.Body, f.Name
	r.written++
	if to, ok := r.edit.Rename[name]; ok && to != name {
		name = to
		r.out = append(rawjson.AppendString(r.out, name), ':')
	} else {
		r.out = append(r.out, body[f.KeyStart:f.Value]...)
	}
	value := body[f.Value:f.End]
	if set, ok := r.set(name); ok {
		r.share(set)
		return
	}
	switch {
	case name == "model" && r.edit.Model != "":
		r.out = rawjson.AppendString(r.out, r.edit.Model)
	case name == "messages" && (r.edit.CallID != nil || r.req.HasSignatures || r.edit.Prefix):
		r.messages(value)
	case name == "stream_options" && r.edit.IncludeUsage && r.req.Stream:
		r.out = appendWithUsage(r.out, value)
	default:
		r.share(value)
	}
}

// messages writes the conversation without the gateway's signatures. It marks the last message as a prefix and converts
// call IDs if the edit requires it.
func (r *renderer) messages(value []byte) {
	if r.req.HasSignatures {
		value = withoutSignatures(value)
	}
	if end := bytes.LastIndexByte(value, '}'); r.edit.Prefix && end >= 0 {
		value = slices.Concat(bytes.TrimRight(value[:end], " \t\r\n"), []byte(`,"prefix":true`), value[end:])
	}
	if r.edit.CallID == nil {
		r.share(value)
		return
	}
	r.out = appendWithCallIDs(r.out, value, r.edit.CallID)
}

// appended writes the members in the edit that the client's body does not have.
func (r *renderer) appended() {
	if r.edit.Model != "" && !r.has("model") { // moderation requests may omit the model
		r.member("model", rawjson.AppendString(nil, r.edit.Model))
	}
	for _, m := range r.edit.Set {
		if !r.present(m.Name) {
			r.member(m.Name, m.Value)
		}
	}
	const options = "stream_options"
	_, set := r.set(options)
	if r.edit.IncludeUsage && r.req.Stream && !set && !r.has(options) && !r.drops(options) {
		r.member(options, wantUsage)
	}
}

// present reports whether a field with the given final name was written.
func (r *renderer) present(name string) bool {
	for _, f := range r.req.Fields {
		if r.dropped(f.Name) {
			continue
		}
		final := f.Name
		if to, ok := r.edit.Rename[final]; ok {
			final = to
		}
		if final == name {
			return true
		}
	}
	return false
}

func (r *renderer) member(name string, value []byte) {
	if r.written > 0 {
		r.out = append(r.out, ',')
	}
	r.written++
	r.out = append(rawjson.AppendString(r.out, name), ':')
	r.share(value)
}

// appendWithUsage appends a stream_options value with include_usage set to true and all other members unchanged.
func appendWithUsage(dst, value []byte) []byte {
	s := rawjson.Scanner{Data: value}
	if s.Kind() != '{' {
		return append(dst, wantUsage...)
	}
	from, to, empty := 0, 0, true
	for key := range s.Members {
		empty = false
		if string(key) == "include_usage" {
			from = s.Pos
			s.Skip()
			to = s.Pos
		}
	}
	if to > 0 {
		dst = append(dst, value[:from]...)
		dst = append(dst, "true"...)
		return append(dst, value[to:]...)
	}
	if empty {
		return append(dst, wantUsage...)
	}
	dst = append(dst, `{"include_usage":true,`...)
	return append(dst, value[1:]...)
}

package responsecache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
	"slices"

	"fairlead/internal/llm"
)

// Key identifies a response. Two requests have the same key only if everything that influences their responses is equal.
type Key [sha256.Size]byte

// Identity is what a response depends on in addition to the body of its request.
type Identity struct {
	Workspace string
	Key       string // id of the API key; empty if the keys of the workspace share their responses
	Endpoint  string // path below the model API, which selects the operation and the format
	Features  string // header that enables features of the format
	Requested string // model that was routed, such as auto:cost
	Objective string
	Tradeoff  float64
	Model     string // that the router chose
	Effort    string // reasoning effort that the router chose
	MaxOutput int64  // output limit of a policy; 0 for none
	Versions  []string
	Targets   []string // targets that may serve the request, in any order
}

// KeyOf returns the key of a request. The order of the members of the body and white space between tokens have no effect. Everything else
// has an effect, including the order of nested members, because models generate the members of a JSON schema in its order.
func KeyOf(id *Identity, req *llm.Request) (key Key) {
	h := sha256.New()
	id.write(h)
	writeFields(h, req, "")
	h.Sum(key[:0])
	return key
}

// InputKeys returns the keys of the inputs of an embeddings request, which are JSON. A key depends on the other fields of the request,
// but not on its other inputs.
func InputKeys(id *Identity, req *llm.Request, inputs [][]byte) []Key {
	h := sha256.New()
	id.write(h)
	writeFields(h, req, "input")
	base := h.Sum(nil)
	keys := make([]Key, len(inputs))
	for i, input := range inputs {
		h.Reset()
		h.Write(base)
		writeValue(h, input)
		h.Sum(keys[i][:0])
	}
	return keys
}

func (id *Identity) write(h hash.Hash) {
	for _, text := range []string{"1", id.Workspace, id.Key, id.Endpoint, id.Features, id.Requested, id.Objective, id.Model, id.Effort} {
		writeText(h, text)
	}
	writeNumber(h, math.Float64bits(id.Tradeoff))
	writeNumber(h, uint64(id.MaxOutput))
	targets := slices.Sorted(slices.Values(id.Targets))
	for _, list := range [][]string{id.Versions, targets} {
		writeNumber(h, uint64(len(list)))
		for _, text := range list {
			writeText(h, text)
		}
	}
}

func writeNumber(h hash.Hash, n uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], n)
	h.Write(b[:])
}

func writeText(h hash.Hash, text string) {
	writeNumber(h, uint64(len(text)))
	h.Write([]byte(text))
}

// writeFields writes the members of a body sorted by name, except for one.
func writeFields(h hash.Hash, req *llm.Request, except string) {
	fields := slices.Clone(req.Fields)
	slices.SortFunc(fields, func(a, b llm.Field) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range fields {
		if f.Name == except {
			continue
		}
		writeText(h, f.Name)
		writeValue(h, req.Body[f.Value:f.End])
	}
}

// writeValue writes a JSON value without the white space between its tokens, and a byte that does not occur in JSON.
func writeValue(h hash.Hash, raw []byte) {
	start := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
		case ' ', '\t', '\r', '\n':
			h.Write(raw[start:i])
			i++
			start = i
		default:
			i++
		}
	}
	h.Write(raw[start:])
	h.Write([]byte{0})
}

// stringEnd returns the position after the JSON string that begins at start.
func stringEnd(raw []byte, start int) int {
	for i := start + 1; ; i++ {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return len(raw)
		}
		i += n
		escapes := 0
		for raw[i-1-escapes] == '\\' { // ends at the opening quote at the latest
			escapes++
		}
		if escapes%2 == 0 {
			return i + 1
		}
	}
}

package responsecache

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"fairlead.dev/internal/llm"
)

// Key identifies a response. Two requests have the same key only if everything that influences their responses is equal.
type Key [sha256.Size]byte

// Identity holds the data that a response depends on in addition to the body of its request.
type Identity struct {
	Workspace string
	Key       string // id of the API key; empty if the keys of the workspace share their responses
	Endpoint  string // path below the model API, which selects the operation and the format
	Features  string // header that enables features of the format
	Requested string // model that was routed, such as auto:cost
	Objective string
	Tradeoff  float64
	Model     string // model that the router chose
	Effort    string // reasoning effort that the router chose
	MaxOutput int64  // output limit of a policy; 0 for none
	Versions  []string
	Targets   []string // targets that may serve the request, in any order
}

// KeyOf returns the key of a request. The order of the members of the body and white space between tokens have no effect. Everything else
// has an effect, including the order of nested members, because models generate the members of a JSON schema in its order.
func KeyOf(id *Identity, req *llm.Request) Key {
	// Call the hash function once for all parts, because one call per part would take longer than hashing a short request.
	space := make([]byte, 0, 4<<10)
	return sha256.Sum256(appendFields(id.append(space), &req.Payload, ""))
}

// InputKeys returns the keys of the inputs of an embeddings request, which are JSON. A key depends on the other fields of the request,
// but not on its other inputs.
func InputKeys(id *Identity, req *llm.Request, inputs [][]byte) []Key {
	base := sha256.Sum256(appendFields(id.append(nil), &req.Payload, "input"))
	keys := make([]Key, len(inputs))
	var space []byte
	for i, input := range inputs {
		space = appendValue(append(space[:0], base[:]...), input)
		keys[i] = sha256.Sum256(space)
	}
	return keys
}

// append appends an unambiguous encoding of the identity: two different identities never have the same encoding.
func (id *Identity) append(to []byte) []byte {
	for _, text := range [...]string{"1", id.Workspace, id.Key, id.Endpoint, id.Features, id.Requested, id.Objective, id.Model, id.Effort} {
		to = appendText(to, text)
	}
	to = binary.LittleEndian.AppendUint64(to, math.Float64bits(id.Tradeoff))
	to = binary.LittleEndian.AppendUint64(to, uint64(id.MaxOutput))
	targets := id.Targets
	if !slices.IsSorted(targets) {
		targets = slices.Sorted(slices.Values(targets))
	}
	for _, list := range [...][]string{id.Versions, targets} {
		to = binary.LittleEndian.AppendUint64(to, uint64(len(list)))
		for _, text := range list {
			to = appendText(to, text)
		}
	}
	return to
}

func appendText(to []byte, text string) []byte {
	return append(binary.LittleEndian.AppendUint64(to, uint64(len(text))), text...)
}

// appendFields appends the members of a body sorted by name, without the member except.
func appendFields(to []byte, p *llm.Payload, except string) []byte {
	to = slices.Grow(to, len(p.Body))
	fields := append(make([]llm.Field, 0, 16), p.Fields...)
	slices.SortFunc(fields, func(a, b llm.Field) int { return cmp.Compare(a.Name, b.Name) })
	for _, f := range fields {
		if f.Name != except {
			to = appendValue(appendText(to, f.Name), p.Body[f.Value:f.End])
		}
	}
	return to
}

// appendValue appends a JSON value without the white space between its tokens, and a byte that does not occur in JSON.
func appendValue(to, raw []byte) []byte {
	start := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i)
		case ' ', '\t', '\r', '\n':
			to = append(to, raw[start:i]...)
			i++
			start = i
		default:
			i++
		}
	}
	return append(append(to, raw[start:]...), 0)
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

package responsecache

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/rawjson"
)

// Key identifies a response. Two requests have the same key only if all data that influences their responses is equal.
type Key [sha256.Size]byte

// Identity holds the data on which a response depends in addition to the body of its request.
type Identity struct {
	Workspace string
	Key       string // ID of the API key; empty if the keys of the workspace share their responses
	Endpoint  string // path relative to the model API, which selects the operation and the format
	Features  string // value of the header that enables features of the format
	Requested string // model name that the router received, such as auto:cost
	Objective string
	Tradeoff  float64
	Model     string // model that the router chose
	Effort    string // reasoning effort that the router chose
	MaxOutput int64  // output limit set by a policy; 0 for none
	Versions  []string
	Targets   []string // IDs of the targets that may serve the request, in any order
}

// KeyOf returns the key of a request. The order of the top-level members and white space between tokens have no effect. All other
// differences change the key, including the order of nested members, because models generate members in the order of the JSON schema.
func KeyOf(id *Identity, req *llm.Request) Key {
	// Call the hash function once for all parts, because separate calls would take longer than hashing a short request.
	space := make([]byte, 0, 4<<10)
	return sha256.Sum256(appendFields(id.append(space), &req.Payload, ""))
}

// InputKeys returns the keys for the inputs of an embeddings request, which are JSON values. A key depends on the other fields of the
// request, but not on its other inputs.
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

// append appends an unambiguous encoding of the identity: different identities never have the same encoding.
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

// appendFields appends the members of a body sorted by name. It omits the member named by except.
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

// appendValue appends a JSON value without the white space between its tokens, followed by a separator that does not occur in JSON.
func appendValue(to, raw []byte) []byte {
	start := 0
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '"':
			i = rawjson.SkipString(raw, i)
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

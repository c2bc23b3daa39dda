package simulator

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// Object is a JSON object.
type Object = map[string]any

// Encode encodes a value as JSON. Like providers, it does not escape <, > and &.
func Encode(value any) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic("simulator: encode a response: " + err.Error()) // unreachable: responses consist of maps, lists, strings and numbers
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// node is a value in a decoded document. Its methods return zero values where the document has no such value, because the simulator
// accepts invalid requests unless a test checks them.
type node struct{ value any }

func parseNode(body []byte) node {
	var n node
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	_ = dec.Decode(&n.value)
	return n
}

// get follows the members and list indexes of a path.
func (n node) get(path ...string) node {
	for _, name := range path {
		switch v := n.value.(type) {
		case map[string]any:
			n = node{v[name]}
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return node{}
			}
			n = node{v[i]}
		default:
			return node{}
		}
	}
	return n
}

func (n node) exists() bool { return n.value != nil }

func (n node) text() string {
	s, _ := n.value.(string)
	return s
}

func (n node) isTrue() bool {
	b, _ := n.value.(bool)
	return b
}

func (n node) isFalse() bool { return n.value == false }

func (n node) number() int {
	v, _ := n.value.(json.Number)
	f, _ := v.Float64()
	return int(f)
}

// list returns the items of a list. For a single value that is not a list, it returns this value.
func (n node) list() []node {
	items, ok := n.value.([]any)
	if !ok && n.value != nil {
		items = []any{n.value}
	}
	nodes := make([]node, len(items))
	for i, item := range items {
		nodes[i] = node{item}
	}
	return nodes
}

func (n node) isList() bool {
	_, ok := n.value.([]any)
	return ok
}

// texts returns the strings of a list, or a single string.
func (n node) texts() []string {
	var texts []string
	for _, item := range n.list() {
		texts = append(texts, item.text())
	}
	return texts
}

// raw encodes the value, or returns nil if there is none.
func (n node) raw() json.RawMessage {
	if n.value == nil {
		return nil
	}
	return Encode(n.value)
}

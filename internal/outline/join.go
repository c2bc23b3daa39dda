package outline

import (
	"fmt"
	"slices"
)

const (
	maxDepth  = 16        // maximum nesting depth of lists, enough for 4^16 parts
	maxJoined = 256 << 20 // maximum size of a joined body in bytes
)

// Gone is a JSON string that replaces a part in a joined body if the part is no longer stored.
const Gone = `"[deleted: this part of the request is not stored]"`

// Join restores a body. find returns the content of a part. Each part that find does not return is replaced with Gone; gone is the number
// of replaced parts.
func Join(outline []byte, find func(Address) ([]byte, bool)) (body []byte, gone int, err error) {
	j := joiner{find: find}
	err = j.join(outline, 0)
	return j.body, j.gone, err
}

type joiner struct {
	find func(Address) ([]byte, bool)
	body []byte
	gone int
}

func (j *joiner) join(steps []byte, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%w: too many nested lists", ErrCorrupt)
	}
	return Each(steps, func(text []byte, kind Kind, a Address) error {
		j.body = append(j.body, text...)
		if kind == Text {
			return nil
		}
		content, ok := j.find(a)
		switch {
		case !ok:
			j.gone++
			if n := len(j.body); n > 0 && (j.body[n-1] == '}' || j.body[n-1] == ']' || j.body[n-1] == '"') {
				j.body = append(j.body, ',') // the missing part began with the comma after the previous element
			}
			j.body = append(j.body, Gone...)
			return nil
		case len(j.body)+len(content) > maxJoined:
			return fmt.Errorf("%w: more than %d bytes", ErrCorrupt, maxJoined)
		case kind == List:
			return j.join(content, depth+1)
		}
		if cap(j.body)-len(j.body) < len(content) { // append alone would copy a long body several times
			j.body = slices.Grow(j.body, len(j.body)+len(content))
		}
		j.body = append(j.body, content...)
		return nil
	})
}

// JoinCarried joins an outline with the parts of a block. The block must contain all parts of the body.
func JoinCarried(outline, block []byte) (body []byte, gone int, err error) {
	parts := map[Address][]byte{}
	if err := EachPart(block, func(p Part) error {
		parts[p.Address] = p.Content
		return nil
	}); err != nil {
		return nil, 0, err
	}
	return Join(outline, func(a Address) ([]byte, bool) {
		content, ok := parts[a]
		return content, ok
	})
}

// Missing returns the addresses in an outline, and in the lists of its block, whose parts are not in the block.
func Missing(outline, block []byte) ([]Address, error) {
	present := map[Address]bool{}
	var lists [][]byte
	if err := EachPart(block, func(p Part) error {
		present[p.Address] = true
		if p.Kind == List {
			lists = append(lists, p.Content)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	var missing []Address
	for _, steps := range append(lists, outline) {
		if err := Each(steps, func(_ []byte, kind Kind, a Address) error {
			if kind != Text && !present[a] {
				present[a] = true
				missing = append(missing, a)
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return missing, nil
}

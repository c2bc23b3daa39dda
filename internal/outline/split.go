package outline

import (
	"bytes"
	"sync"
)

const (
	// minBody is the length below which a body is not split.
	minBody = 2 << 10
	// minString is the length from which a string is a part of its own. Clients move marks such as cache_control from message to
	// message; the long texts of a message stay the same parts.
	minString = 512
	// minRun is the length from which other text is a part. Shorter messages are stored together with the next ones.
	minRun = 256
	// minGroup, maxGroup and groupMask bound the steps of a list. A list ends at an address whose last bits are zero, so that equal
	// sequences of parts give equal lists wherever they begin.
	minGroup  = 4
	maxGroup  = 32
	groupMask = 7
)

// growing names the lists to which the next turn appends. Their last parts are not grouped, because the next turn would replace the
// list.
var growing = map[string]bool{"messages": true, "input": true, "contents": true}

// step is a step of an outline before it is encoded.
type step struct {
	text    []byte // before the part
	kind    Kind
	address Address
	content []byte
	steps   []step // of a list
}

// splitter splits one body.
type splitter struct {
	scope   Scope
	body    []byte
	from    int    // beginning of the text that belongs to no part yet
	top     []step // of the outline
	section []step // of the open list of the body
}

var splitters = sync.Pool{New: func() any { return &splitter{} }}

// Split splits a JSON object. It returns the outline and the block of the parts for which known returns false, or false for a body
// that is short, is not a JSON object, or has no parts. Both results are new memory. The body must be valid JSON: parts are redacted
// one by one, as JSON.
func (s Scope) Split(body []byte, known func(Address) bool) (outline, block []byte, ok bool) {
	if len(body) < minBody {
		return nil, nil, false
	}
	c := splitters.Get().(*splitter)
	defer c.release()
	c.scope, c.body, c.from = s, body, 0
	if c.next(0) != '{' || !c.scan() {
		return nil, nil, false
	}
	c.run(&c.top, len(body))
	if len(c.top) == 0 {
		return nil, nil, false
	}
	if c.from < len(body) {
		c.top = append(c.top, step{text: body[c.from:]})
	}
	return encode(nil, c.top), carry(nil, c.top, known, map[Address]struct{}{}), true
}

// release keeps the memory of the splitter for the next body.
func (c *splitter) release() {
	clear(c.top[:cap(c.top)])
	clear(c.section[:cap(c.section)])
	*c = splitter{top: c.top[:0], section: c.section[:0]}
	splitters.Put(c)
}

// scan finds the parts of the body: the elements of lists that are members of the body, and long strings. It only tracks depth and
// strings, because the body was validated before.
func (c *splitter) scan() bool {
	depth, to, grows, key := 0, &c.top, false, []byte(nil)
	for i := 0; i < len(c.body); i++ {
		switch c.body[i] {
		case '"':
			end := stringEnd(c.body, i+1)
			if end < 0 {
				return false
			}
			if depth == 1 || end-i >= minString {
				switch isKey := c.next(end+1) == ':'; {
				case isKey && depth == 1:
					key = c.body[i+1 : end]
				case !isKey && end-i >= minString:
					c.run(to, i)
					c.part(to, String, i, end+1)
				}
			}
			i = end
		case '{', '[':
			if depth++; depth == 2 && c.body[i] == '[' {
				c.open(i + 1)
				to, grows = &c.section, growing[string(key)]
			}
		case ',':
			if depth == 2 && to == &c.section {
				c.element(i)
			}
		case '}', ']':
			if depth == 2 && to == &c.section {
				c.element(i)
				c.top = append(c.top, c.group(c.section, grows)...)
				to = &c.top
			}
			depth--
		}
	}
	return depth == 0
}

// stringEnd returns the position of the quote that ends a string, or -1.
func stringEnd(body []byte, i int) int {
	for {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return -1
		}
		end, slashes := i+n, 0
		for body[end-1-slashes] == '\\' {
			slashes++ // ends at the opening quote
		}
		if slashes%2 == 0 {
			return end
		}
		i = end + 1
	}
}

// next returns the next byte that is not white space; 0 at the end.
func (c *splitter) next(i int) byte {
	for ; i < len(c.body); i++ {
		switch c.body[i] {
		case ' ', '\n', '\t', '\r':
		default:
			return c.body[i]
		}
	}
	return 0
}

// open begins a list that is a member of the body. The text before the list changes more often than the elements, so it is not
// grouped with them.
func (c *splitter) open(start int) {
	c.run(&c.top, start)
	if c.from < start {
		c.top = append(c.top, step{text: c.body[c.from:start]})
		c.from = start
	}
	c.section = c.section[:0]
}

// element ends an element of a list before its comma, so that the last element is the same part in the next turn. A list of numbers
// has no parts.
func (c *splitter) element(end int) {
	last := end - 1
	for last > 0 && (c.body[last] == ' ' || c.body[last] == '\n' || c.body[last] == '\t' || c.body[last] == '\r') {
		last--
	}
	if c.body[last] == '}' || c.body[last] == '"' {
		c.run(&c.section, end)
	}
}

// run makes a part of the text before a position when there is enough.
func (c *splitter) run(to *[]step, end int) {
	if end-c.from >= minRun {
		c.part(to, Run, c.from, end)
	}
}

func (c *splitter) part(to *[]step, kind Kind, start, end int) {
	content := c.body[start:end]
	*to = append(*to, step{text: c.body[c.from:start], kind: kind, address: c.scope.address(kind, content), content: content})
	c.from = end
}

// group replaces steps with lists of steps, and these with lists again, so that the outline stays short however many steps there are.
func (c *splitter) group(steps []step, grows bool) []step {
	steps = append([]step(nil), steps...) // the lists refer to them
	var rest []step
	for {
		var lists []step
		begin := 0
		for i := range steps {
			n := i - begin + 1
			if n >= maxGroup || n >= minGroup && steps[i].address[AddressSize-1]&groupMask == 0 {
				lists, begin = append(lists, c.listOf(steps[begin:i+1])), i+1
			}
		}
		if !grows && len(steps)-begin >= minGroup {
			lists, begin = append(lists, c.listOf(steps[begin:])), len(steps)
		}
		rest = append(append([]step(nil), steps[begin:]...), rest...)
		if len(lists) == 0 {
			return rest
		}
		steps = lists
	}
}

func (c *splitter) listOf(steps []step) step {
	content := encode(nil, steps)
	return step{kind: List, address: c.scope.address(List, content), content: content, steps: steps}
}

func encode(to []byte, steps []step) []byte {
	for i := range steps {
		to = appendStep(to, steps[i].text, steps[i].kind, steps[i].address)
	}
	return to
}

// carry appends the parts that are not known. The parts of a known list are known.
func carry(to []byte, steps []step, known func(Address) bool, carried map[Address]struct{}) []byte {
	for i := range steps {
		s := &steps[i]
		if s.kind == Text || known(s.address) {
			continue
		}
		if _, twice := carried[s.address]; twice {
			continue
		}
		carried[s.address] = struct{}{}
		to = AppendPart(to, Part{s.address, s.kind, s.content})
		to = carry(to, s.steps, known, carried)
	}
	return to
}

package outline

import (
	"bytes"
	"slices"
)

const (
	// minBody is the length below which a body is not split.
	minBody = 2 << 10
	// minString is the minimum length of a string that becomes a separate part. Clients move cache_control from message to message. With
	// separate parts, the long strings of a message do not change when cache_control moves.
	minString = 512
	// minRun is the minimum length of other text that becomes a part. Shorter messages are stored together with the next messages.
	minRun = 256
	// A list has between minGroup and maxGroup steps. Between these limits, it ends at the first step whose address has zeros in the
	// bits of groupMask, so that equal sequences of parts give equal lists at any position.
	minGroup  = 4
	maxGroup  = 32
	groupMask = 7
)

// growing names the arrays to which each turn appends. Their last parts are not grouped into a list, because that list would change with
// the next turn.
var growing = map[string]bool{"messages": true, "input": true, "contents": true}

// step is a step of an outline that is not encoded yet: the text of the body from begin to start, followed by a part.
type step struct {
	begin, start int
	end          int // end of the part; equal to start for a step without a part or with a list
	kind         Kind
	address      Address
	list         *list // content of a part of kind List
}

// list holds the steps of a part of kind List, and their encoding.
type list struct {
	content []byte
	steps   []step
}

// splitter splits one body.
type splitter struct {
	scope  Scope
	body   []byte
	from   int      // start of the text that does not belong to a part yet
	top    []step   // steps of the outline
	open   bool     // whether the splitter is inside an array that is a member of the body
	levels [][]step // steps of the open array that are not in a list yet, by level: strings and runs, then lists of them, lists of lists, ...
}

// Split splits a JSON object. It returns the outline, and the block of the parts for which known returns false, appended to the given
// slice. ok is false for a body that is short, is not a JSON object, or has no parts. The body must be valid JSON, because parts are
// redacted one by one, as JSON.
func (s Scope) Split(body, to []byte, known func(Address) bool) (outline, block []byte, ok bool) {
	if len(body) < minBody {
		return nil, nil, false
	}
	c := &splitter{scope: s, body: body}
	if c.next(0) != '{' || !c.scan() {
		return nil, nil, false
	}
	c.run(len(body))
	if len(c.top) == 0 {
		return nil, nil, false
	}
	if c.from < len(body) {
		c.top = append(c.top, step{begin: c.from, start: len(body), end: len(body)})
	}
	return c.encode(nil, c.top), c.carry(to, c.top, known, map[Address]struct{}{}), true
}

// scan finds the parts of the body: the elements of arrays that are members of the body, and long strings. It only tracks depth and
// strings, because the body was validated before.
func (c *splitter) scan() bool {
	depth, grows, key := 0, false, []byte(nil)
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
					c.run(i)
					c.part(String, i, end+1)
				}
			}
			i = end
		case '{', '[':
			if depth++; depth == 2 && c.body[i] == '[' {
				c.openList(i + 1)
				grows = growing[string(key)]
			}
		case ',':
			if depth == 2 && c.open {
				c.element(i)
			}
		case '}', ']':
			if depth == 2 && c.open {
				c.element(i)
				c.closeList(grows)
			}
			depth--
		}
	}
	return depth == 0
}

// stringEnd returns the position of the quote that ends a string, or -1 if the string is not closed.
func stringEnd(body []byte, i int) int {
	for {
		n := bytes.IndexByte(body[i:], '"')
		if n < 0 {
			return -1
		}
		end, slashes := i+n, 0
		for body[end-1-slashes] == '\\' {
			slashes++ // the loop stops at the opening quote at the latest
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

// openList begins an array that is a member of the body. The text before the array changes more often than the elements, so it is not
// grouped with them.
func (c *splitter) openList(start int) {
	c.run(start)
	if c.from < start {
		c.top = append(c.top, step{begin: c.from, start: start, end: start})
		c.from = start
	}
	c.open, c.levels = true, nil
}

// element ends a run after an array element that is an object or a string. The run ends before the comma, so that the last element is the
// same part in the next turn. Other elements do not end a run, so an array of numbers is not split.
func (c *splitter) element(end int) {
	last := end - 1
	for last > 0 && (c.body[last] == ' ' || c.body[last] == '\n' || c.body[last] == '\t' || c.body[last] == '\r') {
		last--
	}
	if c.body[last] == '}' || c.body[last] == '"' {
		c.run(end)
	}
}

// closeList ends an array that is a member of the body. The last parts of a growing array are not grouped into a list.
func (c *splitter) closeList(grows bool) {
	for level := 0; level < len(c.levels); level++ {
		if !grows && len(c.levels[level]) >= minGroup {
			c.group(level)
		}
	}
	for _, steps := range slices.Backward(c.levels) {
		c.top = append(c.top, steps...)
	}
	c.open = false
}

// run turns the text before end into a part if the text has at least minRun bytes.
func (c *splitter) run(end int) {
	if end-c.from >= minRun {
		c.part(Run, c.from, end)
	}
}

func (c *splitter) part(kind Kind, start, end int) {
	s := step{begin: c.from, start: start, end: end, kind: kind, address: c.scope.address(kind, c.body[start:end])}
	c.from = end
	if !c.open {
		c.top = append(c.top, s)
		return
	}
	c.add(0, s)
}

// add adds a step to a level of the open array. When the level is complete, its steps are grouped into a list, which becomes a step of
// the next level. The outline therefore stays short for any number of steps.
func (c *splitter) add(level int, s step) {
	if level == len(c.levels) {
		c.levels = append(c.levels, nil)
	}
	c.levels[level] = append(c.levels[level], s)
	if n := len(c.levels[level]); n >= maxGroup || n >= minGroup && s.address[AddressSize-1]&groupMask == 0 {
		c.group(level)
	}
}

// group combines the steps of a level into a list and adds the list to the next level.
func (c *splitter) group(level int) {
	steps := c.levels[level]
	content := c.encode(nil, steps)
	c.levels[level] = nil
	c.add(level+1, step{kind: List, address: c.scope.address(List, content), list: &list{content, steps}})
}

func (c *splitter) encode(to []byte, steps []step) []byte {
	for i := range steps {
		s := &steps[i]
		to = appendStep(to, c.body[s.begin:s.start], s.kind, s.address)
	}
	return to
}

// carry appends the parts for which known returns false. If a list is known, its parts are known, too.
func (c *splitter) carry(to []byte, steps []step, known func(Address) bool, carried map[Address]struct{}) []byte {
	for i := range steps {
		s := &steps[i]
		if s.kind == Text || known(s.address) {
			continue
		}
		if _, twice := carried[s.address]; twice {
			continue
		}
		carried[s.address] = struct{}{}
		if s.kind != List {
			to = AppendPart(to, Part{s.address, s.kind, c.body[s.start:s.end]})
			continue
		}
		to = AppendPart(to, Part{s.address, s.kind, s.list.content})
		to = c.carry(to, s.list.steps, known, carried)
	}
	return to
}

package document

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// Position is a line number and a column number, both starting at 1. Columns count characters.
type Position struct{ Line, Column int }

// Positions returns the source position of each character in a scalar's value and of the end of the value. Callers use the positions to
// mark errors in source, even if the value is quoted, folded or a block.
func Positions(source []byte, n *yaml.Node) []Position {
	var lines [][]rune
	for line := range strings.SplitSeq(string(source), "\n") {
		lines = append(lines, []rune(strings.TrimSuffix(line, "\r")))
	}
	c := newCursor(lines, n)
	value := []rune(n.Value)
	positions := make([]Position, 0, len(value)+1)
	for _, r := range value {
		positions = append(positions, c.take(r))
	}
	end := Position{c.line + 1, c.column + 1}
	for _, p := range slices.Backward(positions) { // the value ends after its last non-blank character
		if p.Line <= len(c.lines) && p.Column <= len(c.lines[p.Line-1]) && c.lines[p.Line-1][p.Column-1] != ' ' {
			end = Position{p.Line, p.Column + 1}
			break
		}
	}
	return append(positions, end)
}

// cursor is a position in the document. It advances with each character of the value.
type cursor struct {
	lines        [][]rune
	line, column int  // position in the document, starting at 0
	escaped      bool // whether the scalar has escape sequences: \n and \u0041 are one character
	doubled      bool // whether the scalar doubles quotes: '' is one quote
	lost         bool // whether a character of the value was not found in the document
}

// newCursor returns a cursor at the first character of a scalar's value.
func newCursor(lines [][]rune, n *yaml.Node) *cursor {
	c := &cursor{lines: lines, line: n.Line - 1, column: n.Column - 1}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		c.line, c.column = n.Line, 0 // a block starts on the line after its indicator
	case n.Style&yaml.DoubleQuotedStyle != 0:
		c.skipProperties()
		c.column++
		c.escaped = true
	case n.Style&yaml.SingleQuotedStyle != 0:
		c.skipProperties()
		c.column++
		c.doubled = true
	default:
		c.skipProperties()
	}
	return c
}

// skipProperties skips anchors and tags before the text.
func (c *cursor) skipProperties() {
	if c.line >= len(c.lines) {
		return
	}
	line := c.lines[c.line]
	for c.column < len(line) && (line[c.column] == '&' || line[c.column] == '!') {
		for c.column < len(line) && line[c.column] != ' ' {
			c.column++
		}
		if c.skipBlanks(); c.line >= len(c.lines) {
			return
		}
		line = c.lines[c.line]
	}
}

// take returns the position of the next character r of the value and advances. Because of folding and indentation, the source can have
// other white space than the value: take skips all blanks before a non-blank r, but consumes at most one character for a blank r.
func (c *cursor) take(r rune) Position {
	if r != ' ' && r != '\n' && r != '\t' {
		c.skipBlanks()
	}
	here := Position{c.line + 1, c.column + 1}
	if c.line >= len(c.lines) {
		c.lost = true
		return here
	}
	line := c.lines[c.line]
	switch {
	case c.column >= len(line):
		if r == ' ' || r == '\n' {
			c.line, c.column = c.line+1, 0
		}
	case c.escaped && line[c.column] == '\\':
		if c.column++; c.column < len(line) {
			digits := map[rune]int{'x': 2, 'u': 4, 'U': 8}[line[c.column]]
			c.column = min(len(line), c.column+1+digits)
		}
	case c.doubled && line[c.column] == '\'':
		c.column += 2
	case line[c.column] == r:
		c.column++
	default:
		c.lost = c.lost || r != ' ' && r != '\n'
	}
	return here
}

func (c *cursor) skipBlanks() {
	for c.line < len(c.lines) {
		line := c.lines[c.line]
		switch {
		case c.column >= len(line), c.escaped && line[c.column] == '\\' && c.column == len(line)-1:
			c.line, c.column = c.line+1, 0
		case line[c.column] == ' ' || line[c.column] == '\t':
			c.column++
		default:
			return
		}
	}
}

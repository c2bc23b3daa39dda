package document

import (
	"gopkg.in/yaml.v3"
)

// Mask replaces the values of scalars in the lines of their document with asterisks. Quotes, anchors, tags, the indentation of
// further lines and the columns of other characters do not change.
func Mask(lines []string, scalars []*yaml.Node) {
	if len(scalars) == 0 {
		return
	}
	source, masked := make([][]rune, len(lines)), make([][]rune, len(lines))
	for i, line := range lines {
		source[i], masked[i] = []rune(line), []rune(line)
	}
	for _, n := range scalars {
		c := newCursor(source, n)
		line, column := c.line, c.column
		for _, r := range n.Value {
			c.take(r)
		}
		if c.lost { // the end of the value is unknown
			c.line, c.column = len(lines), 0
		}
		for ; line < len(lines) && line <= c.line; line, column = line+1, 0 {
			end := len(masked[line])
			if line == c.line {
				end = min(end, c.column)
			}
			for ; column < end; column++ {
				if masked[line][column] != ' ' || line == n.Line-1 {
					masked[line][column] = '*'
				}
			}
		}
	}
	for i := range lines {
		lines[i] = string(masked[i])
	}
}

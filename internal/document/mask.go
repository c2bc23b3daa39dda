package document

import (
	"gopkg.in/yaml.v3"
)

// Span is the position of a scalar in a document.
type Span struct {
	line   int // line number, starting at 1
	column int // column of the first character, starting at 1
	width  int
}

// SpanOf returns the span of a scalar. For quoted and block scalars, the width is an upper bound.
func SpanOf(n *yaml.Node) Span {
	s := Span{line: n.Line, column: n.Column, width: len([]rune(n.Value))}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		s.line, s.column = n.Line+1, 1
	case n.Style&yaml.DoubleQuotedStyle != 0:
		s.width = 6*s.width + 2 // an escape such as \u0041 takes six characters
	case n.Style&yaml.SingleQuotedStyle != 0:
		s.width = 2*s.width + 2
	}
	return s
}

// Mask replaces the span's characters in lines with asterisks. The columns of other characters do not change.
func (s Span) Mask(lines []string) {
	for i := s.line - 1; i >= 0 && i < len(lines) && s.width > 0; i++ {
		line := []rune(lines[i])
		quote, escaped := rune(0), false
		for j := max(0, s.column-1); j < len(line) && s.width > 0; j++ {
			if line[j] == ' ' && s.column == 1 {
				continue // indentation is not masked
			}
			if quote == 0 && j == s.column-1 && (line[j] == '"' || line[j] == '\'') {
				quote = line[j]
				continue
			}
			if line[j] == quote && !escaped {
				s.width = 0
				break
			}
			escaped = line[j] == '\\' && !escaped
			line[j] = '*'
			s.width--
		}
		lines[i], s.column = string(line), 1
	}
}

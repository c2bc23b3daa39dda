package config

import (
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// longestExcerpt is the maximum length of an excerpt.
const longestExcerpt = 120

// soundsSecret matches a value with a secret name in text that could not be parsed.
var soundsSecret = regexp.MustCompile(`(?i)(key|secret|token|password|authorization|credential)[a-z_"'-]*\s*:\s*\S`)

var secretName = regexp.MustCompile(`(?i)key|secret|token|password|credential|authorization`)

// Secrets in URLs: passwords and query parameters.
var (
	urlPassword = regexp.MustCompile(`(://[^/\s:@]*:)([^/\s@]+)@`)
	urlQuery    = regexp.MustCompile(`(://[^\s"'?]*\?)[^\s"'}\]]+`)
)

// span is the position of a secret in the file.
type span struct {
	line   int // from 1
	column int // from 1, in characters
	width  int
}

// hide removes the values of n and its children from excerpts.
func (d *decoder) hide(n *yaml.Node) {
	if d.source.Kind != FromFile {
		return
	}
	if n.Kind == yaml.ScalarNode && !strings.HasPrefix(n.Value, "${") && !strings.HasPrefix(n.Value, "file:") {
		d.hidden = append(d.hidden, spanOf(n))
	}
	for _, one := range n.Content {
		d.hide(one)
	}
}

func spanOf(n *yaml.Node) span {
	s := span{line: n.Line, column: n.Column, width: len([]rune(n.Value))}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		s.line, s.column = n.Line+1, 1
	case n.Style&yaml.DoubleQuotedStyle != 0:
		s.width = 6*s.width + 2 // an escape such as \u0041 is six characters for one
	case n.Style&yaml.SingleQuotedStyle != 0:
		s.width = 2*s.width + 2
	}
	return s
}

// cover masks a span without moving other columns.
func cover(lines []string, s span) {
	for i := s.line - 1; i >= 0 && i < len(lines) && s.width > 0; i++ {
		line := []rune(lines[i])
		quote, escaped := rune(0), false
		for j := max(0, s.column-1); j < len(line) && s.width > 0; j++ {
			if line[j] == ' ' && s.column == 1 {
				continue // indentation
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

// addExcerpts adds the line of each problem, with secrets masked.
func (l *loader) addExcerpts() {
	for _, s := range l.hidden {
		cover(l.lines, s)
	}
	for i := range l.problems.List {
		p := &l.problems.List[i]
		if p.Line == 0 || p.Line > len(l.lines) {
			continue
		}
		line := urlPassword.ReplaceAllString(l.lines[p.Line-1], "$1***@")
		line = urlQuery.ReplaceAllString(line, "$1***")
		if p.Code == Malformed && soundsSecret.MatchString(line) {
			continue // the end of the secret is unknown
		}
		p.excerpt, p.Column = window(clean(line), p.Column)
	}
}

// window returns the part of a long line around the column.
func window(line string, column int) (string, int) {
	runes := []rune(line)
	if len(runes) <= longestExcerpt {
		return strings.TrimRight(line, " "), column
	}
	start := max(0, min(column-longestExcerpt/2, len(runes)-longestExcerpt))
	return string(runes[start : start+longestExcerpt]), max(0, column-start)
}

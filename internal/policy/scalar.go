package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"fairlead.dev/internal/document"
)

// text parses a scalar of at most limit characters.
func (p *reader) text(n *yaml.Node, path string, limit int) (string, bool) {
	name := path[strings.LastIndexByte(path, '.')+1:]
	if n.Kind != yaml.ScalarNode || document.IsNull(n) {
		kind := "a single value"
		switch {
		case n.Kind == yaml.SequenceNode:
			kind = "a list"
		case n.Kind == yaml.MappingNode:
			kind = "a group of fields"
		case document.IsNull(n):
			kind = "nothing"
		}
		p.report(n, WrongType, path, fmt.Sprintf("%s must be a single value, not %s", name, kind), "")
		return "", false
	}
	length := utf8.RuneCountInString(n.Value)
	switch {
	case strings.TrimSpace(n.Value) == "":
		p.report(n, BadValue, path, name+" is empty", "")
	case length > limit:
		p.report(n, BadValue, path, fmt.Sprintf("%s has %d characters; at most %d are allowed", name, length, limit), "")
	case strings.ContainsFunc(n.Value, isControl):
		p.report(n, BadValue, path, name+" has control characters", "")
	default:
		return n.Value, true
	}
	return "", false
}

// isControl reports whether a character could corrupt a message or a log line.
func isControl(r rune) bool {
	return (r < ' ' && r != '\n' && r != '\t') || (r >= 0x7f && r < 0xa0) || r == utf8.RuneError || r == '\ufeff' || r == '\u2028' || r == '\u2029'
}

func (p *reader) boolean(n *yaml.Node, path string) *bool {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		value := strings.EqualFold(n.Value, "true")
		return &value
	}
	p.report(n, WrongType, path, path[strings.LastIndexByte(path, '.')+1:]+" must be true or false", "")
	return nil
}

// list parses a list of names. A single name counts as a list with one element.
func (p *reader) list(n *yaml.Node, path string, each func(n *yaml.Node, path, name string) string) []string {
	elements := n.Content
	switch {
	case n.Kind == yaml.ScalarNode && !document.IsNull(n):
		elements = []*yaml.Node{n}
	case n.Kind != yaml.SequenceNode || len(elements) == 0:
		p.report(n, WrongType, path, path[strings.LastIndexByte(path, '.')+1:]+" must be a list of names", "write [one, two]")
		return nil
	case len(elements) > maxEntries:
		p.report(n, TooLarge, path, fmt.Sprintf("the list has %d entries; at most %d are allowed", len(elements), maxEntries), "use patterns such as gpt-*")
		return nil
	}
	var names []string
	for i, one := range elements {
		one = document.Resolve(one)
		where := path
		if n.Kind == yaml.SequenceNode {
			where = fmt.Sprintf("%s[%d]", path, i)
		}
		name, ok := p.text(one, where, maxEntry)
		if !ok {
			continue
		}
		if star := strings.IndexByte(name, '*'); star >= 0 && star != len(name)-1 {
			p.report(one, BadValue, where, "a star is only allowed at the end", "use a prefix and a star: gpt-*")
			continue
		}
		names = append(names, each(one, where, name))
	}
	return names
}

package policy

import (
	"bytes"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Format writes policies as a YAML document that Parse converts back to the same policies.
func Format(list []Policy) []byte {
	sequence := &yaml.Node{Kind: yaml.SequenceNode}
	if len(list) == 0 {
		sequence.Style = yaml.FlowStyle
	}
	for i := range list {
		sequence.Content = append(sequence.Content, list[i].node())
	}
	root := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{plain("policies"), sequence}}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		panic(err) // cannot fail: the nodes are valid and the output is a buffer
	}
	return b.Bytes()
}

// node returns the policy as a YAML node without empty fields.
func (p *Policy) node() *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	add := func(name string, present bool, value func() *yaml.Node) {
		if present {
			m.Content = append(m.Content, plain(name), value())
		}
	}
	word := func(s string) func() *yaml.Node { return func() *yaml.Node { return scalar(s) } }
	add("name", true, word(p.Name))
	add("description", p.Description != "", word(p.Description))
	add("enabled", p.Enabled != nil, func() *yaml.Node { return plain(strconv.FormatBool(*p.Enabled)) })
	add("when", p.When != "", word(p.When))
	add("deny", p.Deny != "", func() *yaml.Node { return quoted(p.Deny) })
	add("pin", p.Pin != "", word(p.Pin))
	add("allow", p.Allow != nil, func() *yaml.Node { return p.Allow.node() })
	add("exclude", p.Exclude != nil, func() *yaml.Node { return p.Exclude.node() })
	add("prefer", len(p.Prefer) > 0, func() *yaml.Node { return nameList(p.Prefer) })
	add("objective", p.Objective != "", word(p.Objective))
	add("max_cost_usd", p.MaxCost != 0, func() *yaml.Node { return plain(p.MaxCost.String()) })
	add("max_output_tokens", p.MaxOutput != 0, func() *yaml.Node { return plain(strconv.FormatInt(p.MaxOutput, 10)) })
	add("max_escalation", p.MaxEscalation != nil, func() *yaml.Node { return plain(strconv.FormatInt(*p.MaxEscalation, 10)) })
	add("session_budget", p.SessionBudget != nil, func() *yaml.Node { return p.SessionBudget.node() })
	add("baseline", p.Baseline != "", word(p.Baseline))
	add("response_cache", p.ResponseCache != nil, func() *yaml.Node { return plain(p.ResponseCache.String()) })
	add("cache_marks", p.CacheMarks != nil, func() *yaml.Node { return plain(strconv.FormatBool(*p.CacheMarks)) })
	add("log_bodies", p.LogBodies != nil, func() *yaml.Node { return plain(strconv.FormatBool(*p.LogBodies)) })
	return m
}

func (b *SessionLimit) node() *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{plain("amount_usd"), plain(b.Amount.String())}}
	if b.WarnPercent != 0 {
		m.Content = append(m.Content, plain("warn_percent"), plain(strconv.FormatInt(b.WarnPercent, 10)))
	}
	if b.Downgrade {
		m.Content = append(m.Content, plain("downgrade"), plain("true"))
	}
	return m
}

func (s *Selector) node() *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, list := range []struct {
		of    string
		names []string
	}{{"models", s.Models}, {"providers", s.Providers}, {"tags", s.Tags}} {
		if len(list.names) > 0 {
			m.Content = append(m.Content, plain(list.of), nameList(list.names))
		}
	}
	return m
}

func nameList(list []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, name := range list {
		n.Content = append(n.Content, scalar(name))
	}
	return n
}

func plain(text string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: text} }

func quoted(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
}

// scalar returns text as a YAML scalar: unquoted if it parses to the same text, as a block if it has several plain lines, and
// otherwise quoted.
func scalar(text string) *yaml.Node {
	if isBare(text) {
		return plain(text)
	}
	if isBlock(text) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.LiteralStyle}
	}
	if !strings.ContainsAny(text, "\n\t'") && isPrintable(text) {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.SingleQuotedStyle}
	}
	return quoted(text)
}

// isBare reports whether every YAML parser reads the unquoted text as the same string. This holds for words, numbers and
// conditions without special characters.
func isBare(text string) bool {
	if text == "" || text[0] == ' ' || text[len(text)-1] == ' ' || !isPrintable(text) {
		return false
	}
	first := rune(text[0])
	isLetter := first >= 'a' && first <= 'z' || first >= 'A' && first <= 'Z' || first >= '0' && first <= '9'
	switch strings.ToLower(text) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return false
	}
	// In text without these characters, the operators of conditions have no special meaning in YAML.
	isExpression := !strings.Contains(text, ": ") && !strings.Contains(text, " #") && !strings.HasSuffix(text, ":") && !strings.ContainsAny(text, "\n\t{}")
	return isLetter && (isExpression || !strings.ContainsAny(text, "\n\t:#{}[],&*!|>%@`\\\"'"))
}

func isBlock(text string) bool {
	lines := strings.Split(text, "\n")
	if len(lines) < 2 || strings.HasPrefix(text, "\n") || strings.HasSuffix(text, "\n\n") {
		return false
	}
	for i, line := range lines {
		if strings.TrimSpace(line) != line && strings.TrimLeft(line, " ") == "" || strings.HasSuffix(line, " ") || strings.Contains(line, "\t") || !isPrintable(line) || i == 0 && strings.HasPrefix(line, " ") {
			return false
		}
	}
	return true
}

func isPrintable(text string) bool {
	for _, r := range text {
		if r < ' ' || r > 0x7e && r < 0xa1 || r == '\ufeff' || r == '\ufffd' || r == '\u2028' || r == '\u2029' || r > 0xffff {
			return false
		}
	}
	return true
}

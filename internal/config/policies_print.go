package config

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// policies prints the list with one field per line.
func (p *printer) policies(document, name, path string, depth int) {
	root, wrong, _ := parse([]byte(document))
	if wrong != nil || root == nil || root.Kind != yaml.MappingNode || keyOf(root, policiesField) < 0 {
		return // cannot happen after Load
	}
	p.add(depth, name+":", "")
	for i, policy := range resolve(root.Content[keyOf(root, policiesField)+1]).Content {
		p.policy(resolve(policy), at(path, i), depth+1)
	}
}

func (p *printer) policy(n *yaml.Node, path string, depth int) {
	if n.Kind != yaml.MappingNode || len(n.Content) == 0 {
		p.add(depth, "- "+inline(n), originOf(p.origins, path).String())
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		lead := "  "
		if i == 0 {
			lead = "- "
		}
		key := n.Content[i]
		p.add(depth, lead+keyText(key)+": "+inline(n.Content[i+1]), originOf(p.origins, join(path, key.Value)).String())
	}
}

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// inline formats a value on one line.
func inline(n *yaml.Node) string {
	n = resolve(n)
	var parts []string
	if n.Kind == yaml.SequenceNode {
		for _, one := range n.Content {
			parts = append(parts, inline(one))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, keyText(n.Content[i])+": "+inline(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return scalarText(n)
}

// keyText formats a key. A key that is not a scalar is quoted.
func keyText(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return strconv.Quote(inline(n))
	}
	return scalarText(n)
}

// scalarText formats a scalar without quotes if it parses to the same value.
func scalarText(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!null":
		if bareScalar(n.Value) && n.Style == 0 {
			return n.Value
		}
	case "!!str":
		again := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
		if bareScalar(n.Value) && again.ShortTag() == "!!str" {
			return n.Value
		}
	}
	return strconv.Quote(n.Value)
}

func bareScalar(text string) bool {
	const plainSigns = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+-"
	return text != "" && strings.Trim(text, plainSigns) == "" && !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, ".")
}

package document

import (
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Inline formats a value on one line.
func Inline(n *yaml.Node) string {
	n = Resolve(n)
	var parts []string
	if n.Kind == yaml.SequenceNode {
		for _, one := range n.Content {
			parts = append(parts, Inline(one))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, InlineKey(n.Content[i])+": "+Inline(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return scalarText(n)
}

// InlineKey formats a key. A key that is not a scalar is quoted.
func InlineKey(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return strconv.Quote(Inline(n))
	}
	return scalarText(n)
}

// scalarText formats a scalar, without quotes if the text still parses to the same value.
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
